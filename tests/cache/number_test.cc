/* SPDX-License-Identifier: MIT */
/* Frees without a cache go by the number of the slab's units, so only slabs whose objects the fast
 * path may free have one. */
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/pointer.h>
#include <slab/slab.h>

#include "../support/objects.h"

extern "C" {
#include "core/numbers.h"
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

TEST(Number, AllUnitsOfASlabHaveThatOfItsCache)
{
	void *ptr = slab_malloc(size);
	const struct slab *slab = slab_of(ptr);

	for (std::size_t at = 0; at < slab_bytes(slab); at += 1U << SEGMENT_UNIT_SHIFT)
		EXPECT_EQ(segment_number(slab->cpu.base + at), cache_of(ptr)->number);
	EXPECT_NE(cache_of(ptr)->number, 0U);
	slab_mfree(ptr);
}

TEST(Number, TwoSizeClassesDiffer)
{
	void *one = slab_malloc(size), *other = slab_malloc(2 * size);

	EXPECT_NE(segment_number(one), segment_number(other));
	slab_mfree(one);
	slab_mfree(other);
}

TEST(Number, ATypedCacheHasOneThatNoSizeClassHas)
{
	test_cache owner(size);
	struct slab_cache *cache = owner;
	void *obj = slab_alloc(cache);

	EXPECT_EQ(segment_number(obj), cache->number);
	EXPECT_GT(cache->number, SIZE_NUMBERS);
	slab_free(cache, obj);
}

TEST(Number, ADestroyedCacheGivesItBack)
{
	for (unsigned i = 0; i < 2 * CACHE_UNNUMBERED; i++) {
		struct slab_cache *cache = slab_cache_create("again", 64, nullptr, SLAB_NO_MERGE);

		EXPECT_LT(cache->number, CACHE_UNNUMBERED);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
		EXPECT_EQ(cache->number, CACHE_UNNUMBERED);
	}
}

/* More caches than there are numbers: each object is freed to the cache that it came from. */
TEST(Number, CachesBeyondTheNumbersWorkWithoutOne)
{
	std::vector<struct slab_cache *> caches;
	unsigned unnumbered = 0;

	for (unsigned i = 0; i < CACHE_UNNUMBERED; i++) {
		const std::string name = "many-" + std::to_string(i);

		caches.push_back(slab_cache_create(name.c_str(), 64, nullptr, SLAB_NO_MERGE));
		unnumbered += caches.back()->number == CACHE_UNNUMBERED;
	}
	EXPECT_GT(unnumbered, 0U);
	for (struct slab_cache *cache : caches) {
		void *one = slab_alloc(cache), *other = slab_alloc(cache);

		EXPECT_TRUE(slab_free_any(one));
		slab_free(cache, other);
		EXPECT_EQ(stats_of(cache).objects, 0U);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
}

TEST(Number, ALargeAllocationHasNone)
{
	void *ptr = slab_malloc(100000), *mapped = slab_malloc(std::size_t{20} << 20);

	EXPECT_EQ(segment_number(ptr), 0U);
	EXPECT_EQ(segment_number(mapped), 0U);
	slab_mfree(ptr);
	slab_mfree(mapped);
}

TEST(Number, ASlabThatWasFreedHasNone)
{
	void *ptr = slab_malloc(size);
	struct slab_cache *cache = cache_of(ptr);
	const void *unit = slab_of(ptr)->cpu.base;

	slab_mfree(ptr);
	cache->min_partial = 0;
	slab_cache_shrink(cache);
	EXPECT_EQ(cache_count_slabs(cache), 0U);
	EXPECT_EQ(segment_number(unit), 0U);
}

TEST(Number, ALegacySlabHasNoneUntilDebuggingEnds)
{
	void *ptr = slab_malloc(size);
	struct slab_cache *cache = cache_of(ptr);
	const unsigned before = segment_number(ptr);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_DEBUG_DEFAULT), 0);
	EXPECT_EQ(segment_number(ptr), 0U);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	EXPECT_EQ(segment_number(ptr), before);
	slab_mfree(ptr);
}

TEST(Number, ADebugSlabHasNone)
{
	void *ptr = slab_malloc(size), *tracked;
	struct slab_cache *cache = cache_of(ptr);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_DEBUG_DEFAULT), 0);
	tracked = slab_malloc(size);
	EXPECT_EQ(segment_number(tracked), 0U);
	slab_mfree(tracked);
	slab_mfree(ptr);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
}

} // namespace
