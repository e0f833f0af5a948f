/* SPDX-License-Identifier: MIT */
/* The slow paths of allocation and free, which the fast paths call when their section misses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct slab_cache;
/* Allocate when the fast path has found no object. `caller` requested `requested` bytes of the
 * object_size bytes of an object. */
void *slab_alloc_slow(struct slab_cache *cache, size_t requested, const void *caller);
/* Is this a cache? If not, errno says why, and the use of a destroyed one is reported. */
bool alloc_is_cache(struct slab_cache *cache, const void *caller);
/* Free any pointer that the fast path has not freed: NULL, an object that the array refused, an
 * object of a tagged slab, or a pointer that is no object of the cache. Reports name `caller`. */
__attribute__((nonnull(1))) void slab_free_slow(struct slab_cache *cache, void *obj,
						const void *caller);
/* Allocate without reclaim, sampling, zeroing or counting. NULL: there is no memory, or fault
 * injection made the allocation fail. */
void *cache_alloc_plain(struct slab_cache *cache, const void *caller);

/* --- a cache's reserve (reserve_fill.c, core/reserve.h) ---------------------------------- */

/* Give a new cache its reserve of memory.reserve objects. false and ENOMEM: the caller destroys the
 * cache again. */
bool reserve_create(struct slab_cache *cache, const void *caller);
/* reserve_empty() frees the objects of the reserve before the cache is destroyed. If the cache is
 * not destroyed after all, reserve_refill() allocates them again; else reserve_destroy() follows.
 * Allocations also call reserve_refill(), which fills a reserve that is short. */
void reserve_empty(struct slab_cache *cache);
void reserve_refill(struct slab_cache *cache, const void *caller);
/* Take an object as if it were allocated. NULL: the reserve is empty, or there is none. */
void *reserve_take(struct slab_cache *cache, size_t requested, const void *caller);
