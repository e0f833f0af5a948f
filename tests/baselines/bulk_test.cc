/* SPDX-License-Identifier: MIT */
/* The modes of a bulk allocation. */
#include "contestants.h"

#include <algorithm>

namespace baselines_test
{

using BaselineBulkTest = BaselineTest;

INSTANTIATE_TEST_SUITE_P(All, BaselineBulkTest, contestants(), contestant_name);

TEST_P(BaselineBulkTest, FullDeliversAllAndDifferentObjects)
{
	for (std::size_t n : {1, 2, 16, 61, 250, 3000}) {
		object_cache cache(GetParam(), 64);
		std::vector<void *> objs(n);

		ASSERT_EQ(cache.alloc_bulk(BASELINE_FULL, n, objs.data()), n);
		for (std::size_t i = 0; i < n; i++)
			stamp_object(objs[i], 64, static_cast<std::uint32_t>(i));
		for (std::size_t i = 0; i < n; i++)
			EXPECT_TRUE(has_stamp(objs[i], 64, static_cast<std::uint32_t>(i)));
		cache.free_bulk(n, objs.data());
		cache.shrink();
		EXPECT_EQ(cache.stats().bytes, 0u) << n;
	}
}

TEST_P(BaselineBulkTest, NewDeliversFromAFreshCache)
{
	object_cache cache(GetParam(), 240);
	std::vector<void *> objs(500);

	ASSERT_EQ(cache.alloc_bulk(BASELINE_NEW, objs.size(), objs.data()), objs.size());
	std::sort(objs.begin(), objs.end());
	EXPECT_EQ(std::adjacent_find(objs.begin(), objs.end()), objs.end());
	cache.free_bulk(objs.size(), objs.data());
}

TEST_P(BaselineBulkTest, LocalAndPartialTakeNoFreshSlab)
{
	if (is(slob_baseline))
		GTEST_SKIP() << "SLOB's bulk allocation is a loop of single ones";
	object_cache cache(GetParam(), 64);
	std::vector<void *> objs(500);

	EXPECT_EQ(cache.alloc_bulk(BASELINE_LOCAL, objs.size(), objs.data()), 0u);
	EXPECT_EQ(cache.alloc_bulk(BASELINE_PARTIAL, objs.size(), objs.data()), 0u);
	EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST_P(BaselineBulkTest, LocalDeliversWhatTheCpuHasFreed)
{
	if (is(slob_baseline))
		GTEST_SKIP() << "SLOB's bulk allocation is a loop of single ones";
	object_cache cache(GetParam(), 64);
	void *objs[200];
	std::size_t n = 0;

	/* The thread may change CPUs in between. */
	for (int tries = 0; tries < 100 && !n; tries++) {
		cache.free_all(cache.alloc_many(20));
		n = cache.alloc_bulk(BASELINE_LOCAL, 200, objs);
	}
	EXPECT_GE(n, 1u);
	cache.free_bulk(n, objs);
}

TEST_P(BaselineBulkTest, PartialDeliversFreeObjectsOfSlabsInUse)
{
	if (is(slob_baseline))
		GTEST_SKIP() << "SLOB's bulk allocation is a loop of single ones";
	object_cache cache(GetParam(), 240);
	std::vector<void *> objs = cache.alloc_many(4000), kept, found(2000);

	for (std::size_t i = 0; i < objs.size(); i++) {
		if (i % 2)
			kept.push_back(objs[i]);
		else
			cache.free(objs[i]);
	}
	cache.shrink();
	const std::size_t before = cache.stats().bytes;
	const std::size_t n = cache.alloc_bulk(BASELINE_PARTIAL, found.size(), found.data());
	EXPECT_GT(n, 0u);
	EXPECT_EQ(cache.stats().bytes, before);
	cache.free_bulk(n, found.data());
	cache.free_all(kept);
}

} // namespace baselines_test
