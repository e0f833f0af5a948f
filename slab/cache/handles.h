/* SPDX-License-Identifier: MIT */
/* The memory of caches: handles stay readable. */
#ifndef SLAB_CACHE_HANDLES_H
#define SLAB_CACHE_HANDLES_H

struct slab_cache;

/* Its memory stays what it is, and serves for another cache when many have gone: a stale
 * handle is harmless to read. With registry_lock. */
void cache_memory_free(struct slab_cache *cache);

#endif /* SLAB_CACHE_HANDLES_H */
