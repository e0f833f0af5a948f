/* SPDX-License-Identifier: MIT */
/*
 * Statistics by name, and what can be changed of a cache while it is in use.
 */
#include "../support/limits.h"
#include "../support/process.h"

namespace
{

/* --- names and numbers --------------------------------------------------------------- */

TEST(AttributesTest, NamesAreDistinctAndEnd)
{
	std::set<std::string> names;
	unsigned i = 0;

	while (const char *name = slab_stat_name(i)) {
		EXPECT_TRUE(names.insert(name).second) << name;
		i++;
	}
	EXPECT_EQ(slab_stat_name(i + 1000), nullptr);
	for (const char *name : {"objects", "slabs", "empty", "min_partial", "limit", "sample",
				 "counted_us", "nodes", "alloc_slowpath", "arrays_closed"})
		EXPECT_EQ(names.count(name), 1U) << name;
	EXPECT_EQ(names.count("struct_size"), 0U);
}

TEST(AttributesTest, EveryNameReadsWhatTheStatisticsSay)
{
	test_cache cache(712, SLAB_HWCACHE_ALIGN);
	const std::vector<void *> objects = allocate_all(cache, 1000);
	const struct slab_stats s = stats_of(cache);

	EXPECT_EQ(read_stat(cache, "flags"), s.flags);
	EXPECT_EQ(read_stat(cache, "object_size"), 712U);
	EXPECT_EQ(read_stat(cache, "slab_size"), s.slab_size);
	EXPECT_EQ(read_stat(cache, "align"), 64U);
	EXPECT_EQ(read_stat(cache, "objects_per_slab"), s.objects_per_slab);
	EXPECT_EQ(read_stat(cache, "order"), s.order);
	EXPECT_EQ(read_stat(cache, "min_partial"), s.min_partial);
	EXPECT_EQ(read_stat(cache, "slabs"), s.slabs);
	EXPECT_EQ(read_stat(cache, "full"), s.full);
	EXPECT_EQ(read_stat(cache, "empty"), s.empty);
	EXPECT_EQ(read_stat(cache, "objects"), 1000U);
	EXPECT_EQ(read_stat(cache, "total_objects"), s.total_objects);
	EXPECT_EQ(read_stat(cache, "nodes"), s.nodes);
	for (unsigned e = 0; e < SLAB_EVENT_COUNT; e++)
		EXPECT_EQ(read_stat(cache, slab_event_name(e)), s.event[e]) << slab_event_name(e);
	free_many(cache, objects);
}

/* A cache with a list of segments that cannot be looked through. */
TEST(AttributesTest, NumbersAreReadWithoutALookAtSlabs)
{
	test_cache cache(64);
	const std::vector<void *> objects = allocate_all(cache, 1000);
	struct segment *const segments = slab_pages.segments;

	slab_pages.segments = reinterpret_cast<struct segment *>(8);
	for (unsigned i = 0; slab_stat_name(i); i++)
		read_stat(cache, slab_stat_name(i));
	EXPECT_EQ(stats_of(cache).objects, 1000U);
	process_stats();
	slab_pages.segments = segments;
	free_many(cache, objects);
}

TEST(AttributesTest, EveryNameCanBeRead)
{
	test_cache cache(64);

	for (unsigned i = 0; slab_stat_name(i); i++)
		read_stat(cache, slab_stat_name(i));
}

TEST(AttributesTest, WrongNamesAndCachesAreErrors)
{
	struct slab_cache *gone = slab_cache_create("gone", 64, nullptr, 0);
	test_cache cache(64);
	std::uint64_t value = 7;

	ASSERT_EQ(slab_cache_destroy(gone), 0);
	EXPECT_EQ(slab_stat_read(cache, "no_such", &value), -ENOENT);
	EXPECT_EQ(slab_stat_write(cache, "no_such", 0), -ENOENT);
	EXPECT_EQ(slab_stat_read(cache, "", &value), -ENOENT);
	EXPECT_EQ(slab_stat_read(gone, "objects", &value), -EINVAL);
	EXPECT_EQ(slab_stat_write(gone, "limit", 0), -EINVAL);
	EXPECT_EQ(slab_stat_write(nullptr, "limit", 0), -EINVAL);
	EXPECT_EQ(value, 7U);
}

TEST(AttributesTest, WhatOnlyCanBeReadIsRefused)
{
	test_cache cache(64);

	for (const char *name : {"objects", "slabs", "order", "errors", "counted", "nodes"})
		EXPECT_EQ(slab_stat_write(cache, name, 0), -EACCES) << name;
	EXPECT_EQ(errno, EACCES);
}

TEST(AttributesTest, ValuesOutOfRangeChangeNothing)
{
	test_cache cache(64);
	const std::uint64_t min_partial = read_stat(cache, "min_partial");

	EXPECT_EQ(slab_stat_write(cache, "min_partial", 65536), -ERANGE);
	EXPECT_EQ(slab_stat_write(cache, "min_partial", UINT64_C(1) << 32), -ERANGE);
	EXPECT_EQ(slab_stat_write(cache, "limit", ~UINT64_C(0)), -ERANGE);
	EXPECT_EQ(slab_stat_write(cache, "alloc_slab", 1), -ERANGE);
	EXPECT_EQ(read_stat(cache, "min_partial"), min_partial);
	EXPECT_EQ(slab_stat_write(cache, "min_partial", 65535), 0);
}

/* --- what writing does ------------------------------------------------------------------ */

TEST(AttributesTest, ALowerMinPartialGivesEmptySlabsBackAtOnce)
{
	test_cache cache(1000);

	ASSERT_EQ(slab_stat_write(cache, "min_partial", 1000), 0);
	free_many(cache, allocate_all(cache, 2000));
	ASSERT_EQ(slab_stat_write(cache, "min_partial", 999), 0);
	ASSERT_GT(read_stat(cache, "empty"), 4U);
	EXPECT_EQ(slab_stat_write(cache, "min_partial", 2), 0);
	EXPECT_GE(read_stat(cache, "empty"), 2U);
	EXPECT_LE(read_stat(cache, "empty"), 2U * shards_per_node * topology_nodes());
	EXPECT_EQ(slab_stat_write(cache, "min_partial", 0), 0);
	EXPECT_EQ(read_stat(cache, "empty"), 0U);
}

TEST(AttributesTest, ALowerMinPartialHoldsForSlabsWithDebugFlags)
{
	test_cache cache(1000);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_POISON), 0);
	ASSERT_EQ(slab_stat_write(cache, "min_partial", 1000), 0);
	free_many(cache, allocate_all(cache, 2000));
	ASSERT_GT(read_stat(cache, "slabs"), 4U);
	EXPECT_EQ(slab_stat_write(cache, "min_partial", 0), 0);
	EXPECT_LE(read_stat(cache, "slabs"), 1U);
}

TEST(AttributesTest, ACacheWithDebugFlagsWorksWithoutAnyEmptySlabs)
{
	test_cache cache(1000, SLAB_RED_ZONE);

	ASSERT_EQ(slab_stat_write(cache, "min_partial", 0), 0);
	EXPECT_IN_CHILD([&] { /* which ends, should this not */
			      void *first = slab_alloc(cache), *second = slab_alloc(cache);

			      if (stats_of(cache).slabs != 1 || stats_of(cache).objects != 2)
				      return 1;
			      slab_free(cache, first);
			      slab_free(cache, second);
			      return stats_of(cache).slabs == 0 ? 0 : 2;
	});
}

TEST(AttributesTest, ACacheWorksWithoutAnyEmptySlabs)
{
	test_cache cache(1000);

	ASSERT_EQ(slab_stat_write(cache, "min_partial", 0), 0);
	for (int round = 0; round < 3; round++) {
		const std::vector<void *> objects = allocate_all(cache, 1000);

		ASSERT_EQ(objects.size(), 1000U);
		free_many(cache, objects);
	}
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST(AttributesTest, EventsAreClearedByZero)
{
	test_cache cache(1000);

	free_many(cache, allocate_all(cache, 500));
	ASSERT_GT(read_stat(cache, "alloc_slab"), 0U);
	ASSERT_GT(read_stat(cache, "alloc_slowpath"), 0U);
	EXPECT_EQ(slab_stat_write(cache, "alloc_slab", 0), 0);
	EXPECT_EQ(read_stat(cache, "alloc_slab"), 0U);
	EXPECT_GT(read_stat(cache, "alloc_slowpath"), 0U);
}

TEST(AttributesTest, SampleIsTheInterval)
{
	test_cache cache(64);

	EXPECT_EQ(slab_stat_write(cache, "sample", 1), 0);
	EXPECT_EQ(read_stat(cache, "sample"), 1U);
	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(read_stat(cache, "guarded_slabs"), 1U);
	EXPECT_EQ(slab_stat_write(cache, "sample", 0), 0);
	EXPECT_EQ(read_stat(cache, "sample"), 0U);
}

} /* namespace */
