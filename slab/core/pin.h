/* SPDX-License-Identifier: MIT */
/*
 * Pins delay the destruction of a cache.
 *
 * A thread that runs a callback must not hold a lock of libslab: the callback takes locks of the
 * application, and a thread that holds one of these may wait for a lock of libslab. So the thread
 * pins the cache under registry_lock and unlocks it. The destruction of a cache waits until it is
 * not pinned.
 */
#pragma once

#include "core/cache.h"

/* In cache->pins, once a thread has waited for their end: the last one wakes it. */
#define PINS_WAITED_FOR (1u << 31)

/* The record is the caller's, who keeps it until cache_unpin(): pins nest as deep as callbacks
 * do. */
void cache_pin(struct pin *pin, struct slab_cache *cache);
void cache_unpin(struct pin *pin);
/* The number of pins of this cache that belong to this thread. */
unsigned cache_pins_of_mine(const struct slab_cache *cache);

static inline bool cache_is_dying(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->dying, __ATOMIC_RELAXED);
}
