/* SPDX-License-Identifier: MIT */
/* The orders of a cache's slabs. */
#ifndef TESTS_SUPPORT_ORDERS_H
#define TESTS_SUPPORT_ORDERS_H

extern "C" {
#include "core/cache.h"
}

namespace slab_test
{

/* All slabs of a cache that has none yet become large: the test counts objects for each slab. */
inline struct slab_cache *one_order(struct slab_cache *cache)
{
	cache->small = cache->large;
	return cache;
}

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_ORDERS_H */
