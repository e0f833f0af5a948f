/* SPDX-License-Identifier: MIT */
/* What creation (create.c) and destruction (destroy.c) of caches share. */
#ifndef SLAB_REGISTRY_H
#define SLAB_REGISTRY_H

#include "core/slab_internal.h"

/* Take a cache off the list of all. With registry_lock. */
void registry_remove(struct slab_cache *cache);
/* Its memory stays what it is, and serves for another cache when many have gone: a stale
 * handle is harmless to read. With registry_lock. */
void cache_memory_free(struct slab_cache *cache);

#endif /* SLAB_REGISTRY_H */
