/* SPDX-License-Identifier: MIT */
/* Shrinking and validating a cache, as <slab/slab.h> promises it. */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"

namespace
{

TEST(CacheTest, ShrinkOfAnEmptyCacheGivesNothingBack)
{
	test_cache cache(64);

	EXPECT_EQ(slab_cache_shrink(cache), 0);
}

TEST(CacheTest, ShrinkReturnsTheSlabsItGaveBack)
{
	test_cache cache(512);
	std::vector<void *> objs = alloc_many(cache, 4000);

	free_many(cache, objs);
	const auto slabs = stats_of(cache).slabs;
	const int given = slab_cache_shrink(cache);

	EXPECT_GT(given, 0);
	EXPECT_EQ(static_cast<std::uint64_t>(given), slabs);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

TEST(CacheTest, ShrinkGivesTheMemoryBack)
{
	test_cache cache(1024);
	std::vector<void *> objs = alloc_many(cache, 8000);
	std::size_t before = 0, after = 0;

	for (void *obj : objs) {
		std::memset(obj, 1, 1024);
		before += resident_pages(obj, 1024);
	}
	free_many(cache, objs);
	slab_cache_shrink(cache);
	for (void *obj : objs)
		after += resident_pages(obj, 1024);
	EXPECT_GE(before, objs.size());
	EXPECT_EQ(after, 0u);
}

TEST(CacheTest, ShrinkKeepsObjectsInUse)
{
	test_cache cache(100);
	std::vector<void *> objs = alloc_many(cache, 3000), kept;

	for (std::size_t i = 0; i < objs.size(); i++)
		if (i % 100 == 0) {
			kept.push_back(objs[i]);
			fill(objs[i], 100, i);
		} else {
			slab_free(cache, objs[i]);
		}
	EXPECT_GE(slab_cache_shrink(cache), 0);
	for (std::size_t i = 0; i < kept.size(); i++)
		EXPECT_TRUE(intact(kept[i], 100, i * 100));
	EXPECT_EQ(stats_of(cache).objects, kept.size());
	free_many(cache, kept);
}

TEST(CacheTest, AllocatesAfterShrink)
{
	test_cache cache(100);

	for (int round = 0; round < 5; round++) {
		std::vector<void *> objs = alloc_many(cache, several_slabs);

		ASSERT_TRUE(all_distinct(objs));
		for (std::size_t i = 0; i < objs.size(); i++)
			fill(objs[i], 100, i);
		for (std::size_t i = 0; i < objs.size(); i++)
			ASSERT_TRUE(intact(objs[i], 100, i));
		free_many(cache, objs);
		EXPECT_GT(slab_cache_shrink(cache), 0);
	}
}

TEST(CacheTest, ValidateFindsNothingInAHealthyCache)
{
	report_capture reports;
	test_cache cache(100);
	std::vector<void *> objs = alloc_many(cache, several_slabs);

	EXPECT_EQ(slab_cache_validate(cache), 0);
	shuffle(objs);
	for (std::size_t i = 0; i < objs.size() / 2; i++)
		slab_free(cache, objs[i]);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	for (std::size_t i = objs.size() / 2; i < objs.size(); i++)
		slab_free(cache, objs[i]);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(reports.text(), "");
}

} /* namespace */
