/* SPDX-License-Identifier: MIT */
/*
 * The index of loaded caches: a hash table with open addressing. Its entries are the numbers of
 * caches + 1; 0 is a free entry. It has INDEX_FACTOR entries for each cache that fits, so every
 * search ends. The scan finds the cache of a slab by address. Names are searched only once, to
 * find caches that were read twice.
 */

#include "process.h"

static size_t places(const struct inspection *in)
{
	return INDEX_FACTOR * in->capacity;
}

static size_t hash_address(uint64_t address)
{
	return address * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static size_t hash_name(const char *name)
{
	uint64_t hash = 0;

	for (; *name; name++)
		hash = hash * 31 + (unsigned char)*name;
	return hash_address(hash);
}

/* The entry of the cache with this name, or the free entry where it belongs. */
static uint32_t *place_of_name(const struct inspection *in, const char *name)
{
	size_t i = hash_name(name) & (places(in) - 1);

	while (in->index[i] && strcmp(in->caches[in->index[i] - 1].copy->name, name) != 0)
		i = (i + 1) & (places(in) - 1);
	return &in->index[i];
}

static uint32_t *place_of_address(const struct inspection *in, uint64_t address)
{
	size_t i = hash_address(address) & (places(in) - 1);

	while (in->index[i] && in->caches[in->index[i] - 1].address != address)
		i = (i + 1) & (places(in) - 1);
	return &in->index[i];
}

static void clear(struct inspection *in)
{
	memset(in->index, 0, places(in) * sizeof(in->index[0]));
}

/* Keep only the newest cache of each name. Entries are swapped, since each has memory for its
 * copy. */
static void drop_renewed(struct inspection *in)
{
	size_t kept = 0;

	clear(in);
	for (size_t i = in->count; i-- > 0;) {
		uint32_t *place = place_of_name(in, in->caches[i].copy->name);

		if (*place)
			in->caches[i].address = 0;
		else
			*place = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < in->count; i++) {
		struct inspect_cache held = in->caches[i];

		if (!held.address)
			continue;
		in->caches[i] = in->caches[kept];
		in->caches[kept++] = held;
	}
	in->count = kept;
}

void inspect_index(struct inspection *in, bool renewed)
{
	if (renewed)
		drop_renewed(in);
	clear(in);
	for (size_t i = 0; i < in->count; i++)
		*place_of_address(in, in->caches[i].address) = (uint32_t)i + 1;
}

size_t inspect_number_at(const struct inspection *in, uint64_t address)
{
	uint32_t number = *place_of_address(in, address);

	return number ? number - 1 : in->count;
}
