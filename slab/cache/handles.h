/* SPDX-License-Identifier: MIT */
/* The memory of caches: handles stay readable. */
#ifndef SLAB_CACHE_HANDLES_H
#define SLAB_CACHE_HANDLES_H

struct slab_cache;

/* Zeroed memory for a cache, except the pages for aliases and counters, which may come from a
 * former cache; NULL: none is left. With registry_lock. */
struct slab_cache *cache_memory(void);
/* Free a handle. Its memory stays readable, and is reused only after many others were freed,
 * so a stale handle is harmless to read. With registry_lock. */
void cache_memory_free(struct slab_cache *cache);

#endif /* SLAB_CACHE_HANDLES_H */
