/* SPDX-License-Identifier: MIT */
/* Frees by size go by the class of the slab's units, so only slabs whose objects the fast path may
 * free have one. */
#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/slab.h>

#include "../support/objects.h"

extern "C" {
#include "core/slab.h"
#include "pages/segment.h"
}

using namespace slab_test;

namespace
{

constexpr std::size_t size = 3000; /* of a class that nothing else uses */

struct slab_cache *cache_of(void *ptr)
{
	return slab_user(slab_of(ptr));
}

TEST(SizeClass, AllUnitsOfASlabHaveThatOfItsCache)
{
	void *ptr = slab_malloc(size);
	const struct slab *slab = slab_of(ptr);

	for (std::size_t at = 0; at < slab_bytes(slab); at += 1U << SEGMENT_UNIT_SHIFT)
		EXPECT_EQ(segment_class(slab->cpu.base + at), cache_of(ptr)->size_class);
	EXPECT_NE(cache_of(ptr)->size_class, 0U);
	slab_mfree(ptr);
}

TEST(SizeClass, TwoClassesDiffer)
{
	void *one = slab_malloc(size), *other = slab_malloc(2 * size);

	EXPECT_NE(segment_class(one), segment_class(other));
	slab_mfree(one);
	slab_mfree(other);
}

TEST(SizeClass, ATypedCachesSlabHasNone)
{
	struct slab_cache *cache = slab_cache_create("typed", size, nullptr, SLAB_NO_MERGE);
	void *obj = slab_alloc(cache);

	EXPECT_EQ(segment_class(obj), 0U);
	slab_free(cache, obj);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(SizeClass, ALargeAllocationHasNone)
{
	void *ptr = slab_malloc(100000), *mapped = slab_malloc(std::size_t{20} << 20);

	EXPECT_EQ(segment_class(ptr), 0U);
	EXPECT_EQ(segment_class(mapped), 0U);
	slab_mfree(ptr);
	slab_mfree(mapped);
}

TEST(SizeClass, ASlabThatWasFreedHasNone)
{
	void *ptr = slab_malloc(size);
	struct slab_cache *cache = cache_of(ptr);
	const void *unit = slab_of(ptr)->cpu.base;

	slab_mfree(ptr);
	cache->min_partial = 0;
	slab_cache_shrink(cache);
	EXPECT_EQ(cache_count_slabs(cache), 0U);
	EXPECT_EQ(segment_class(unit), 0U);
}

TEST(SizeClass, ALegacySlabHasNoneUntilDebuggingEnds)
{
	void *ptr = slab_malloc(size);
	struct slab_cache *cache = cache_of(ptr);
	const unsigned before = segment_class(ptr);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_DEBUG_DEFAULT), 0);
	EXPECT_EQ(segment_class(ptr), 0U);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	EXPECT_EQ(segment_class(ptr), before);
	slab_mfree(ptr);
}

TEST(SizeClass, ADebugSlabHasNone)
{
	void *ptr = slab_malloc(size), *tracked;
	struct slab_cache *cache = cache_of(ptr);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_DEBUG_DEFAULT), 0);
	tracked = slab_malloc(size);
	EXPECT_EQ(segment_class(tracked), 0U);
	slab_mfree(tracked);
	slab_mfree(ptr);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
}

} // namespace
