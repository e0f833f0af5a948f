/* SPDX-License-Identifier: MIT */
/*
 * How long the LIFOs of a cache are.
 *
 * A LIFO and the magazines keep free objects from their slabs, and so keep slabs in use. So a cache
 * begins with LIFOs of LIFO_BYTES_LEAST of objects, or of LIFO_LEAST objects if these have twice as many
 * bytes at most. A *miss* is a free of an object of this node that neither
 * LIFO, own slab nor magazine takes. The length doubles, up to LIFO_BYTES_MOST, each time a CPU has
 * had another LIFO_GROW_AFTER misses, if the same happened on any CPU in the LIFO_GROW_US before.
 * So the misses of all CPUs count. A decay pass halves the length if there were fewer than
 * LIFO_KEEP_AFTER since the last pass.
 *
 * Misses have no counter of their own. SLAB_EVENT_FREE_SLOWPATH also counts bulk frees and objects
 * of other nodes, which may delay both changes.
 */
#ifndef SLAB_PERCPU_LIFO_LENGTH_H
#define SLAB_PERCPU_LIFO_LENGTH_H

#include "core/cache.h"

#define LIFO_BYTES_LEAST ((size_t)32 << 10)
#define LIFO_LEAST 16u
#define LIFO_BYTES_MOST ((size_t)512 << 10)
#define LIFO_GROW_AFTER 256u
#define LIFO_GROW_US UINT64_C(20000)
#define LIFO_KEEP_AFTER 4096u

/* Choose the bounds for a new cache, whose object size is known. */
void lifo_init(struct slab_cache *cache);
/* The most objects in one LIFO at present. LIFOs that became shorter may have more. */
static inline uint64_t lifo_length(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->lifo_max, __ATOMIC_RELAXED);
}
/* Count a miss. Lock-free. */
void lifo_count_miss(struct slab_cache *cache, int cpu);
/* A decay pass looks whether the LIFOs are longer than necessary. */
void lifo_review(struct slab_cache *cache);

#endif /* SLAB_PERCPU_LIFO_LENGTH_H */
