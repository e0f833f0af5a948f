/* SPDX-License-Identifier: MIT */
/* Arrays of a length that a test chooses. */
#pragma once

#include "rooms.h"

/* From its next miss on, an array of this cache has so many objects at most, and does not grow. */
inline void set_array_length(struct slab_cache *cache, unsigned length)
{
	__atomic_store_n(&cache->array_least, length, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->array_most, length, __ATOMIC_RELAXED);
}
