/* SPDX-License-Identifier: MIT */
/* Arrays of a length that a test chooses. */
#ifndef TESTS_SUPPORT_ARRAY_LENGTH_H
#define TESTS_SUPPORT_ARRAY_LENGTH_H

extern "C" {
#include "core/cache.h"
}

namespace slab_test
{

/* From its next miss on, an array of this cache has so many objects at most, and does not grow. */
inline void set_array_length(struct slab_cache *cache, unsigned length)
{
	__atomic_store_n(&cache->array_least, length, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->array_most, length, __ATOMIC_RELAXED);
}

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_ARRAY_LENGTH_H */
