/* SPDX-License-Identifier: MIT */
/*
 * Numbers of caches. A segment has the number of each of its slabs (segment_number()). So a free that
 * does not know the cache finds the cache's LIFOs without the slab's descriptor.
 *
 * Numbers 1 to SIZE_NUMBERS are those of the size classes of <slab/malloc.h>. A cache of
 * slab_cache_create() gets one of the others, unless all are taken: then it has CACHE_UNNUMBERED,
 * and such frees read the descriptor. registry_lock protects the table;
 * readers of an entry have an object of its cache.
 */
#ifndef SLAB_CORE_NUMBERS_H
#define SLAB_CORE_NUMBERS_H

#include "core/slab.h"

#define SIZE_NUMBERS 72u

struct numbered_cache {
	struct slab_cache *cache;
	char *lifos; /* its cpu_lifos */
};

extern struct numbered_cache numbered_caches[CACHE_UNNUMBERED]
	__attribute__((visibility("hidden")));

/* slab_push() for an object of a cache with a number. The slab is looked up on machines with several
 * nodes only; in slab_free(), which has it anyway, that would be two more instructions. */
static inline bool numbered_push(const struct numbered_cache *numbered, void *obj)
{
	return (SLAB_LIKELY(topology_node_count == 1) ||
		slab_is_near(slab_of(obj), cpu_rseq_number())) &&
	       SLAB_LIKELY(rseq_push(&numbered->lifos, obj, cpu_rseq_offset));
}

/* Under registry_lock: give a new cache this number, which no cache has. */
void number_give(struct slab_cache *cache, unsigned number);
/* Under registry_lock: give a new cache a number that no size class has. */
void number_give_any(struct slab_cache *cache);
/* Under registry_lock: the cache has no slabs any more. */
void number_take(struct slab_cache *cache);

#endif /* SLAB_CORE_NUMBERS_H */
