/* SPDX-License-Identifier: MIT */
/* What a process takes back from caches that are not in use before it grows further. */
#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <slab/malloc.h>
#include <slab/memory.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/slab_state.h"

extern "C" {
#include "memory/growth.h"
#include "pages/account.h"
}

using namespace slab_test;

namespace
{

/* Bytes that slabs hold, in use or free. */
std::uint64_t held()
{
	return account_used() + process_stats().cached_bytes;
}

TEST(GrowthReviewTest, StringsThatGrowUseTheirMemoryAgain)
{
	static std::array<char *, 1000> string;
	constexpr std::size_t step = 40, most = 4096;

	for (std::size_t size = step; size <= most; size += step)
		for (char *&one : string) {
			one = static_cast<char *>(slab_realloc(one, size));
			ASSERT_NE(one, nullptr);
			std::memset(one + size - step, 1, step);
		}
	EXPECT_LT(held(), 3 * most * string.size());
	for (char *one : string)
		slab_mfree(one);
}

class GrowthReview : public SlabStateTest
{
};

TEST_F(GrowthReview, ReleasesEmptySlabsOfCachesThatWereNotUsed)
{
	free_all(alloc(64));
	growth_review();
	growth_review();
	EXPECT_EQ(stats_of(cache_).slabs, 0u);
	check();
}

TEST_F(GrowthReview, LeavesSlabsOfCachesThatWereUsed)
{
	free_all(alloc(64));
	growth_review();
	alloc();
	growth_review();
	EXPECT_NE(stats_of(cache_).slabs, 0u);
	EXPECT_NE(slot()->current, nullptr);
}

TEST_F(GrowthReview, LeavesObjectsInUse)
{
	const std::vector<void *> objs = alloc_full_slab();

	free(objs[1]);
	growth_review();
	growth_review();
	check();
	EXPECT_NE(state(objs[0]), at::free);
}

TEST(GrowthReviewTest, CallsNoDestructor)
{
	static unsigned destroyed;
	struct slab_cache_args args = {};

	args.ctor = [](void *, void *) { return 0; };
	args.dtor = [](void *, void *) { destroyed++; };
	struct slab_cache *cache = slab_cache_create("destructed", 512, &args, SLAB_NO_MERGE);

	free_many(cache, alloc_many(cache, 100));
	for (int i = 0; i < 3; i++)
		growth_review();
	EXPECT_EQ(destroyed, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(GrowthFrom, RisesByAnEighth)
{
	growth_review();
	const std::uint64_t used = account_used(), step = growth_from - used;

	EXPECT_GE(step, used / 8);
	EXPECT_LE(step, used / 8 + (256u << 10));
}

TEST(GrowthFrom, FallsWhenTheProcessHasShrunk)
{
	growth_from = UINT64_C(1) << 40;
	growth_after_decay();
	EXPECT_LT(growth_from, UINT64_C(1) << 40);
}

} /* namespace */
