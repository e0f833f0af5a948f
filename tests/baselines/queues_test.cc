/* SPDX-License-Identifier: MIT */
/* What only one of the designs has: the queues of SLAB, the sheaves of a caller. */
#include "contestants.h"

#include <algorithm>

namespace baselines_test
{

TEST(QueuedTest, FreedObjectsStayInQueuesUntilAReaperFindsThemUnused)
{
	object_cache cache(&queued_baseline, 64);

	cache.free_all(cache.alloc_many(1000));
	EXPECT_GT(cache.stats().queued, 0u);
	for (int pass = 0; pass < 20; pass++)
		cache.reap();
	EXPECT_LE(cache.stats().queued, 1u);
}

TEST(QueuedTest, AReaperReleasesEmptySlabs)
{
	object_cache cache(&queued_baseline, 712);

	cache.free_all(cache.alloc_many(3000));
	for (int pass = 0; pass < 40; pass++)
		cache.reap();
	EXPECT_LE(cache.stats().bytes, 64u << 10);
}

TEST(QueuedTest, FreeSlabsAreBounded)
{
	object_cache cache(&queued_baseline, 64);

	cache.free_all(cache.alloc_many(100000));
	EXPECT_LE(cache.stats().bytes, 1u << 20);
}

TEST(QueuedTest, ObjectsOfSlabsHaveDifferentColours)
{
	object_cache cache(&queued_baseline, 500);
	const std::vector<void *> objs = cache.alloc_many(2000);
	std::vector<bool> seen(4096);

	for (void *obj : objs)
		seen[reinterpret_cast<std::uintptr_t>(obj) % 500] = true;
	EXPECT_GT(std::count(seen.begin(), seen.end(), true), 1);
	cache.free_all(objs);
}

TEST(SheafTest, APrefilledSheafHasWhatWasAskedFor)
{
	object_cache cache(&sheaf_baseline, 64);
	auto *handle = static_cast<struct sheaf_cache *>(cache.handle());

	for (std::size_t n : {1, 60, 61, 1000}) {
		struct sheaf *sheaf = sheaf_prefill(handle, n);
		std::vector<void *> objs(n);

		ASSERT_NE(sheaf, nullptr);
		for (std::size_t i = 0; i < n; i++) {
			objs[i] = sheaf_pop(sheaf);
			ASSERT_NE(objs[i], nullptr);
			stamp_object(objs[i], 64, static_cast<std::uint32_t>(i));
		}
		for (std::size_t i = 0; i < n; i++)
			EXPECT_TRUE(has_stamp(objs[i], 64, static_cast<std::uint32_t>(i)));
		cache.free_all(objs);
		sheaf_return(handle, sheaf);
	}
	cache.shrink();
	EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST(SheafTest, WhatIsLeftInAReturnedSheafIsFree)
{
	object_cache cache(&sheaf_baseline, 64);
	auto *handle = static_cast<struct sheaf_cache *>(cache.handle());

	for (std::size_t n : {10, 500})
		sheaf_return(handle, sheaf_prefill(handle, n));
	cache.shrink();
	EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST(SheafTest, ACpuAndItsBarnKeepABoundedNumberOfObjects)
{
	object_cache cache(&sheaf_baseline, 64);

	cache.free_all(cache.alloc_many(20000));
	EXPECT_GT(cache.stats().queued, 0u);
	EXPECT_LE(cache.stats().queued, 10u * 60 * 4 + 2 * 60 * 64);
}

} // namespace baselines_test
