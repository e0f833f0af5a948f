/* SPDX-License-Identifier: MIT */
/*
 * The memory of struct slab_cache, which is the handle that applications hold. Handles stay
 * readable after their destruction, so that libslab can report the use of a stale handle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct slab_cache;

/* Zeroed memory for a cache; NULL: no memory. The caller holds registry_lock. */
struct slab_cache *cache_memory(void);
/* From now on the handle is that of a destroyed cache. */
void cache_mark_destroyed(struct slab_cache *cache);
/* Free a handle. Its memory stays readable, and is reused only after FREE_CACHES_KEPT others were
 * freed. The caller holds registry_lock. */
void cache_memory_free(struct slab_cache *cache);

/* Do these bytes lie in the memory of handles? The caller holds registry_lock. */
bool handles_have(const char *start, size_t bytes);
