/* SPDX-License-Identifier: MIT */
/* The parts of the split pblock: their caches, and adding and removing parts. */
#ifndef PBLOCK_V3_PART_H
#define PBLOCK_V3_PART_H

#include <string.h>

#include "v3.h"

#define CACHE_LINE 64
#define ABSENT ((void *)&pblock_absent)

struct pblock_part_type {
	const char *cache;
	size_t size;
};

#pragma GCC visibility push(hidden)

extern const struct pblock_part_type pblock_part_types[PBLOCK_PARTS];
/* NULL: the cache could not be created. */
extern struct slab_cache *pblock_caches[PBLOCK_PARTS];

/* There is no cache: set ENOMEM and return NULL. */
void *pblock_no_cache(void);

/* Remove a part that pb has, and free it. */
void pblock_part_remove(Slapi_PBlock *pb, enum pblock_part part);

#pragma GCC visibility pop

/* Allocate a part in its constructed state; NULL: no memory. */
static inline void *pblock_part_alloc(enum pblock_part part)
{
	struct slab_cache *cache = pblock_caches[part];

	return PBLOCK_LIKELY(cache) ? slab_alloc(cache) : pblock_no_cache();
}

/* Remove the part `operation`, often the only part of a pblock. It is cleared one cache line at a
 * time: for a line the compiler emits stores, for the whole part a slower string instruction. */
static inline void pblock_part_remove_operation(Slapi_PBlock *pb)
{
	char *old = pb->part[PBLOCK_PART_operation];

	pb->part[PBLOCK_PART_operation] = ABSENT;
	for (size_t at = 0; at < sizeof(struct pblock_operation); at += CACHE_LINE)
		memset(old + at, 0, CACHE_LINE);
	slab_free(pblock_caches[PBLOCK_PART_operation], old);
}

#endif /* PBLOCK_V3_PART_H */
