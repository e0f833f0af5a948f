/* SPDX-License-Identifier: MIT */
/*
 * Pins. A thread that runs a callback holds no lock of libslab: the callback takes locks of
 * the application, and a thread that holds one of these may wait for a lock of libslab.
 * Instead it pins the cache under registry_lock; the destruction of a pinned cache waits.
 */
#ifndef SLAB_CORE_PIN_H
#define SLAB_CORE_PIN_H

#include "core/cache.h"

void cache_pin(struct slab_cache *cache);
void cache_unpin(struct slab_cache *cache);
/* How many of its pins are this thread's. */
unsigned cache_pins_of_mine(const struct slab_cache *cache);

static inline bool cache_is_dying(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->dying, __ATOMIC_RELAXED);
}

#endif /* SLAB_CORE_PIN_H */
