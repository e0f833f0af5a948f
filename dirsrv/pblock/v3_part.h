/* SPDX-License-Identifier: MIT */
/* The parts of the split pblock: made, given to a pblock, and taken from it. */
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
/* NULL: it could not be made. */
extern struct slab_cache *pblock_caches[PBLOCK_PARTS];

/* NULL, with errno ENOMEM: there is no cache. */
void *pblock_no_cache(void);

/* Take a part from pb, which has it. */
void pblock_part_remove(Slapi_PBlock *pb, enum pblock_part part);

#pragma GCC visibility pop

/* An object as it was constructed; NULL: no memory. */
static inline void *pblock_part_alloc(enum pblock_part part)
{
	struct slab_cache *cache = pblock_caches[part];

	return PBLOCK_LIKELY(cache) ? slab_alloc(cache) : pblock_no_cache();
}

/* Clear the part that most pblocks with parts have, often as the only one. One cache line at
 * a time: the compiler emits stores for a line, but a slower string instruction for the
 * whole. */
static inline void pblock_part_remove_operation(Slapi_PBlock *pb)
{
	char *old = pb->part[PBLOCK_PART_operation];

	pb->part[PBLOCK_PART_operation] = ABSENT;
	for (size_t at = 0; at < sizeof(struct pblock_operation); at += CACHE_LINE)
		memset(old + at, 0, CACHE_LINE);
	slab_free(pblock_caches[PBLOCK_PART_operation], old);
}

#endif /* PBLOCK_V3_PART_H */
