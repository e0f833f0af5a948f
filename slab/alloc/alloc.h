/* SPDX-License-Identifier: MIT */
/* What serves an allocation or a free when the fast path does not. */
#ifndef SLAB_ALLOC_ALLOC_H
#define SLAB_ALLOC_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

struct slab;
struct slab_cache;
/* What the first sequence missed: from the CPU's LIFO, or else by slab_alloc_requested(). Of
 * object_size bytes, `caller` requested `requested`. */
void *slab_alloc_second(struct slab_cache *cache, size_t requested, const void *caller);
void *slab_alloc_requested(struct slab_cache *cache, size_t requested, const void *caller);
/* … to the CPU's LIFO, or else by slab_free_from(). The slab is untagged. */
void slab_free_second(struct slab_cache *cache, void *obj, struct slab *slab, const void *caller);
void slab_free_slow(struct slab_cache *cache, void *obj, struct slab *slab);
/* … for `caller`. */
void slab_free_from(struct slab_cache *cache, void *obj, struct slab *slab, const void *caller);
/* An object that is not sampled, failed on purpose, zeroed or counted; NULL: there is no
 * memory without reclaim. */
void *cache_alloc_plain(struct slab_cache *cache, const void *caller);

/* --- a cache's reserve (reserve_fill.c, registry/reserve.h) ------------------------------ */

/* Give a new cache its reserve, of memory.reserve objects, for its creator; false and
 * ENOMEM: the cache is to be destroyed again. */
bool reserve_create(struct slab_cache *cache, const void *caller);
/* Before a cache is destroyed: free the objects; then they are to be put back, when it is
 * not destroyed after all, or reserve_destroy() follows. */
void reserve_empty(struct slab_cache *cache);
void reserve_refill(struct slab_cache *cache, const void *caller);
/* An object, as if it were allocated; NULL: none is left. */
void *reserve_take(struct slab_cache *cache, size_t requested, const void *caller);

#endif /* SLAB_ALLOC_ALLOC_H */
