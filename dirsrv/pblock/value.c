/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing values of all kinds at the address where they are stored.
 */
#include <errno.h>
#include <string.h>

#include <slab/malloc.h>

#include "parameter.h"

/* The default of a parameter. The compiler keeps only the cases of the list that have a
 * preset. */
static int preset_of(int parameter)
{
#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	if ((preset) && parameter == (number))                                                     \
		return (preset);
#include "parameters.def"
#undef PBLOCK_PARAMETER
	return 0;
}

/* A copy that slapi_ch_free() can free; NULL and ENOMEM if there is no memory. */
static char *copy_of(const char *string)
{
	size_t size = strlen(string) + 1;
	char *copy = slab_malloc(size);

	if (copy)
		memcpy(copy, string, size);
	return copy;
}

static int get_copy(const void *stored, void *value)
{
	char *string, *copy = NULL;

	memcpy(&string, stored, sizeof(string));
	if (string)
		copy = copy_of(string);
	memcpy(value, &copy, sizeof(copy));
	return string && !copy ? -1 : 0;
}

static int get_int(int number, const void *stored, void *value)
{
	int bits;

	memcpy(&bits, stored, sizeof(bits));
	bits ^= preset_of(number);
	memcpy(value, &bits, sizeof(bits));
	return 0;
}

int pblock_value_get(enum pblock_kind kind, int number, const void *stored, void *value)
{
	switch (kind) {
	case PBLOCK_INT:
	case PBLOCK_PRESET:
		return get_int(number, stored, value);
	case PBLOCK_ADDRESS:
		memcpy(value, stored, sizeof(struct slapi_pblock_address));
		return 0;
	case PBLOCK_OWNED_COPY:
	case PBLOCK_TEXT_COPY:
		return get_copy(stored, value);
	default:
		memcpy(value, stored, sizeof(void *));
		return 0;
	}
}

/* Replace a string and free the old one; setting the same string again is harmless. */
static void replace_string(void *stored, char *string)
{
	char *old;

	memcpy(&old, stored, sizeof(old));
	memcpy(stored, &string, sizeof(string));
	if (old != string)
		slab_mfree(old);
}

static int set_copy(void *stored, const char *string)
{
	char *copy = NULL;

	if (string) {
		copy = copy_of(string);
		if (!copy)
			return -1;
	}
	replace_string(stored, copy);
	return 0;
}

static int set_int(int number, void *stored, const void *value)
{
	int bits;

	memcpy(&bits, value, sizeof(bits));
	bits ^= preset_of(number);
	memcpy(stored, &bits, sizeof(bits));
	return 0;
}

static bool is_by_reference(enum pblock_kind kind)
{
	return kind == PBLOCK_INT || kind == PBLOCK_WORD || kind == PBLOCK_PRESET ||
	       kind == PBLOCK_ADDRESS;
}

int pblock_value_set(enum pblock_kind kind, int number, void *stored, void *value)
{
	if (is_by_reference(kind) && !value)
		return -1;
	switch (kind) {
	case PBLOCK_INT:
	case PBLOCK_PRESET:
		return set_int(number, stored, value);
	case PBLOCK_WORD:
		memcpy(stored, value, sizeof(uint64_t));
		return 0;
	case PBLOCK_ADDRESS:
		memcpy(stored, value, sizeof(struct slapi_pblock_address));
		return 0;
	case PBLOCK_OWNED:
	case PBLOCK_OWNED_COPY:
		replace_string(stored, value);
		return 0;
	case PBLOCK_TEXT:
	case PBLOCK_TEXT_COPY:
		return set_copy(stored, value);
	default:
		memcpy(stored, &value, sizeof(value));
		return 0;
	}
}

bool pblock_value_is_default(enum pblock_kind kind, int number, const void *value)
{
	static const struct slapi_pblock_address zeros;
	int bits;

	if (!is_by_reference(kind))
		return !value;
	if (!value)
		return false;
	if (kind == PBLOCK_ADDRESS)
		return !memcmp(value, &zeros, sizeof(zeros));
	if (kind == PBLOCK_WORD)
		return !memcmp(value, &zeros, sizeof(uint64_t));
	memcpy(&bits, value, sizeof(bits));
	return bits == preset_of(number);
}

void pblock_value_free(void *stored)
{
	if (stored)
		replace_string(stored, NULL);
}
