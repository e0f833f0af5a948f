/* SPDX-License-Identifier: MIT */
/*
 * Access to the split pblock: the fast paths, and what they leave to others.
 *
 * A get of a pointer or an int in the top or in a part that the top leads to is a check
 * of the number, a load of its entry, of the part's address and of the value; that of a
 * pointer in a rare part is one load more, as servers look for functions of plug-ins that
 * are not there. Everything else goes out of line as a tail call: other kinds, setting
 * what is rare, recording; parts that are to be made.
 *
 * Wide and narrow values are told apart by a branch. Doing without it, by storing both
 * ways and one of them to nowhere, was measured and is slower by a fifth.
 */
#include <stddef.h>
#include <string.h>

#include "v3.h"

/* Where a parameter is, and what. */
struct entry {
	uint16_t offset; /* in the part; of the top's values in the pblock */
	uint8_t part;
	uint8_t kind; /* enum pblock_kind, and RARE */
};

/* Or-ed to the kind of what is found by way of `rare`: fast paths do not know it. */
#define RARE 0x80

#define IS_TOP(part) ((part) == PBLOCK_PART_top)
#define IS_RARE(part) ((part) >= PBLOCK_DIRECT)

static const struct entry entries[PBLOCK_NUMBERS] = {
#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, type, group, home, preset)                                  \
	[number] = {                                                                               \
		.offset = offsetof(struct pblock_##home, name) +                                   \
			  IS_TOP(PBLOCK_PART_##home) * offsetof(Slapi_PBlock, top),                \
		.part = PBLOCK_PART_##home,                                                        \
		.kind = PBLOCK_##type | IS_RARE(PBLOCK_PART_##home) * RARE,                        \
	},
#include "parameters.def"
};

#undef PBLOCK_PARAMETER

/* As the parts are packed, this is what keeps their members aligned. */
#define SIZE_OF(home, name) sizeof(((struct pblock_##home *)0)->name)
#define ALIGN_OF(size) ((size) < sizeof(uint64_t) ? (size) : sizeof(uint64_t))
#define PBLOCK_PARAMETER(number, name, kind, group, home, preset)                                  \
	_Static_assert(offsetof(struct pblock_##home, name) % ALIGN_OF(SIZE_OF(home, name)) == 0,  \
		       #name);
#include "parameters.def"

/* The part of any parameter: its own, or the absent one. */
static char *part_of(Slapi_PBlock *pb, struct entry entry)
{
	const struct pblock_rare *rare = pb->part[PBLOCK_PART_rare];

	return entry.kind & RARE ? rare->part[entry.part - PBLOCK_DIRECT] : pb->part[entry.part];
}

void *pblock_stored(Slapi_PBlock *pb, unsigned number)
{
	struct entry entry = entries[number];
	char *part = part_of(pb, entry);

	return part == (char *)&pblock_absent ? NULL : part + entry.offset;
}

void *pblock_stored_or_new(Slapi_PBlock *pb, unsigned number)
{
	struct entry entry = entries[number];
	char *part = part_of(pb, entry);

	if (part == (char *)&pblock_absent)
		part = pblock_part_add(pb, entry.part);
	return part ? part + entry.offset : NULL;
}

/* Each begins with a cache line: what they cost does not depend on what is before them. */
#define FAST_PATH __attribute__((aligned(64)))

static __attribute__((noinline)) int get_slow(Slapi_PBlock *pb, int number, void *value)
{
	struct entry entry = entries[number];

	if (!value || entry.kind == PBLOCK_NONE)
		return -1;
	if (pblock_is_recording())
		pblock_record_access(pb, number, false);
	return pblock_value_get(entry.kind & ~RARE, number, part_of(pb, entry) + entry.offset,
				value);
}

FAST_PATH int slapi_pblock_get(Slapi_PBlock *pb, int parameter, void *value)
{
	if (PBLOCK_UNLIKELY((unsigned)parameter >= PBLOCK_NUMBERS) || PBLOCK_UNLIKELY(!pb))
		return -1;
	if (PBLOCK_UNLIKELY(!value) || pblock_is_recording())
		return get_slow(pb, parameter, value);

	struct entry entry = entries[parameter];

	if (PBLOCK_LIKELY(entry.kind == PBLOCK_POINTER || entry.kind == PBLOCK_WORD))
		memcpy(value, (char *)pb->part[entry.part] + entry.offset, sizeof(void *));
	else if (PBLOCK_LIKELY(entry.kind == PBLOCK_INT))
		memcpy(value, (char *)pb->part[entry.part] + entry.offset, sizeof(int));
	else if (PBLOCK_LIKELY(entry.kind == (PBLOCK_POINTER | RARE)))
		memcpy(value, part_of(pb, entry) + entry.offset, sizeof(void *));
	else
		return get_slow(pb, parameter, value);
	return 0;
}

/* A part is not made to store a default: it is what is read without it. */
static __attribute__((noinline)) int set_slow(Slapi_PBlock *pb, int number, void *value)
{
	if (entries[number].kind == PBLOCK_NONE)
		return -1;

	enum pblock_kind kind = entries[number].kind & ~RARE;
	void *stored = pblock_stored(pb, number);

	if (pblock_is_recording())
		pblock_record_access(pb, number, true);
	if (!stored && pblock_value_is_default(kind, number, value))
		return 0;
	if (!stored)
		stored = pblock_stored_or_new(pb, number);
	return stored ? pblock_value_set(kind, number, stored, value) : -1;
}

FAST_PATH int slapi_pblock_set(Slapi_PBlock *pb, int parameter, void *value)
{
	if (PBLOCK_UNLIKELY((unsigned)parameter >= PBLOCK_NUMBERS) || PBLOCK_UNLIKELY(!pb))
		return -1;

	struct entry entry = entries[parameter];

	if (PBLOCK_UNLIKELY(entry.kind > PBLOCK_INT) || pblock_is_recording())
		return set_slow(pb, parameter, value);

	char *part = pb->part[entry.part];

	if (PBLOCK_UNLIKELY(part == (char *)&pblock_absent))
		return set_slow(pb, parameter, value);
	if (PBLOCK_LIKELY(entry.kind == PBLOCK_POINTER))
		memcpy(part + entry.offset, &value, sizeof(value));
	else if (PBLOCK_LIKELY(entry.kind == PBLOCK_INT && value))
		memcpy(part + entry.offset, value, sizeof(int));
	else
		return set_slow(pb, parameter, value);
	return 0;
}
