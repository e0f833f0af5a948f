/* SPDX-License-Identifier: MIT */
/*
 * How long the LIFOs of a cache are.
 *
 * A LIFO and the magazines keep free objects from their slabs, and so keep slabs in use. So a cache
 * begins with LIFOs of LIFO_BYTES_LEAST. A *miss* is an object that a CPU returns to its slab
 * because LIFO and magazines are full. The length doubles, up to LIFO_BYTES_MOST, while a CPU has
 * LIFO_GROW_AFTER misses within LIFO_GROW_US. A decay pass halves it if there were fewer than
 * LIFO_KEEP_AFTER misses since the last pass.
 */
#ifndef SLAB_PERCPU_LIFO_LENGTH_H
#define SLAB_PERCPU_LIFO_LENGTH_H

#include "core/cache.h"

#define LIFO_BYTES_LEAST ((size_t)32 << 10)
#define LIFO_BYTES_MOST ((size_t)512 << 10)
#define LIFO_GROW_AFTER 256u
#define LIFO_GROW_US UINT64_C(20000)
#define LIFO_KEEP_AFTER 4096u

/* Choose the bounds for a new cache, whose object size is known. */
void lifo_init(struct slab_cache *cache);
/* Count a miss. Lock-free. */
void lifo_count_miss(struct slab_cache *cache, int cpu);
/* A decay pass looks whether the LIFOs are longer than necessary. */
void lifo_review(struct slab_cache *cache);

#endif /* SLAB_PERCPU_LIFO_LENGTH_H */
