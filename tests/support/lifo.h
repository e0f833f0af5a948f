/* SPDX-License-Identifier: MIT */
/* LIFOs of a length that a test chooses, or none. */
#ifndef TESTS_SUPPORT_LIFO_H
#define TESTS_SUPPORT_LIFO_H

extern "C" {
#include "core/cache.h"
}

namespace slab_test
{

/* However many objects the LIFOs refuse. With 0 each object is allocated from its slab and freed to
 * it, as with the engines that have no LIFOs; the LIFOs must be empty. A decay pass may run at the same time. */
inline void set_lifo_length(struct slab_cache *cache, unsigned length)
{
	__atomic_store_n(&cache->lifo_least, length, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->lifo_most, length, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->lifo_max, length, __ATOMIC_RELAXED);
}

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_LIFO_H */
