/* SPDX-License-Identifier: MIT */
/*
 * Pins. A thread that calls the application back holds no lock, since callbacks take locks
 * of the application, under which other threads wait for ours. A cache that is pinned, with
 * registry_lock, stays when that is released; its destruction waits.
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
