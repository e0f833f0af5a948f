/* SPDX-License-Identifier: MIT */
/*
 * The memory of struct slab_cache, which is the handle that applications hold. Handles stay
 * readable after their destruction, so that libslab can report the use of a stale handle.
 */
#ifndef SLAB_CACHE_HANDLES_H
#define SLAB_CACHE_HANDLES_H

struct slab_cache;

/* Zeroed memory for a cache; NULL: no memory. `alias` may be that of a former cache, whose mapping is
 * used again. The caller holds registry_lock. */
struct slab_cache *cache_memory(void);
/* Free a handle. Its memory stays readable, and is reused only after FREE_CACHES_KEPT others were
 * freed. The caller holds registry_lock. */
void cache_memory_free(struct slab_cache *cache);

#endif /* SLAB_CACHE_HANDLES_H */
