/* SPDX-License-Identifier: MIT */
/* The memory of caches: handles stay readable. */
#ifndef SLAB_CACHE_HANDLES_H
#define SLAB_CACHE_HANDLES_H

struct slab_cache;

/* Zeroed memory for a cache, but for the pages of its aliases and counters that it may have
 * from a former cache; NULL: none is left. With registry_lock. */
struct slab_cache *cache_memory(void);
/* Its memory stays what it is, and serves for another cache when many have gone: a stale
 * handle is harmless to read. With registry_lock. */
void cache_memory_free(struct slab_cache *cache);

#endif /* SLAB_CACHE_HANDLES_H */
