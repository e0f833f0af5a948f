/* SPDX-License-Identifier: MIT */
/* Sets of entry ids. */
#include "store/store.h"

#include "base/memory.h"

#include <slab/malloc.h>
#include <stdlib.h>
#include <string.h>

uint64_t *ids_reserve(struct ids *ids, size_t more)
{
	uint64_t *grown = ids->failed ? NULL
				      : array_grow(ids->id, &ids->capacity, ids->count + more,
						   sizeof(*grown));

	if (!grown) {
		ids->failed = true;
		return NULL;
	}
	ids->id = grown;
	return grown + ids->count;
}

void ids_append(struct ids *ids, uint64_t id)
{
	uint64_t *to = ids_reserve(ids, 1);

	if (!to)
		return;
	*to = id;
	ids->count++;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool in_order(const struct ids *ids)
{
	for (size_t i = 1; i < ids->count; i++)
		if (ids->id[i - 1] >= ids->id[i])
			return false;
	return true;
}

void ids_sort(struct ids *ids)
{
	size_t used = 0;

	if (in_order(ids))
		return;
	qsort(ids->id, ids->count, sizeof(*ids->id), compare);
	for (size_t i = 0; i < ids->count; i++)
		if (!used || ids->id[used - 1] != ids->id[i])
			ids->id[used++] = ids->id[i];
	ids->count = used;
}

size_t ids_after(const struct ids *ids, uint64_t id)
{
	size_t low = 0, high = ids->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids->id[middle] <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void ids_intersect(struct ids *ids, const struct ids *other)
{
	size_t used = 0, at = 0;

	/* The shorter set may be much shorter: search instead of stepping. */
	for (size_t i = 0; i < ids->count && at < other->count; i++) {
		if (other->count / 8 > ids->count) {
			at = ids_after(other, ids->id[i]);
			at -= at && other->id[at - 1] == ids->id[i];
		}
		while (at < other->count && other->id[at] < ids->id[i])
			at++;
		if (at < other->count && other->id[at] == ids->id[i])
			ids->id[used++] = ids->id[i];
	}
	ids->count = used;
	ids->failed |= other->failed;
}

void ids_unite(struct ids *ids, const struct ids *other)
{
	uint64_t *to = other->count ? ids_reserve(ids, other->count) : NULL;

	ids->failed |= other->failed;
	if (!to)
		return;
	memcpy(to, other->id, other->count * sizeof(*to));
	ids->count += other->count;
	ids_sort(ids);
}

void ids_free(struct ids *ids)
{
	slab_mfree(ids->id);
	memset(ids, 0, sizeof(*ids));
}
