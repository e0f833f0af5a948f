/* SPDX-License-Identifier: MIT */
/*
 * Statistics by name, what can be changed of a cache while it is in use, and its
 * limit, which is never exceeded.
 */
#include <atomic>
#include <cerrno>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/stats.h>

#include "../support/objects.h"
#include "../support/process.h"

extern "C" {
#include "pages/account.h"
#include "pages/segment.h"
}

using namespace slab_test;

namespace
{

std::uint64_t read_stat(struct slab_cache *cache, const char *name)
{
	std::uint64_t value = ~UINT64_C(0);

	EXPECT_EQ(slab_stat_read(cache, name, &value), 0) << name;
	return value;
}

/* Objects until the first that is not to be had. */
std::vector<void *> allocate_all(struct slab_cache *cache, std::size_t at_most = 100000)
{
	std::vector<void *> objects;

	while (objects.size() < at_most) {
		void *obj = slab_alloc(cache);

		if (!obj)
			break;
		objects.push_back(obj);
	}
	return objects;
}

void free_all(struct slab_cache *cache, const std::vector<void *> &objects)
{
	for (void *obj : objects)
		slab_free(cache, obj);
}

std::size_t slab_bytes_of(struct slab_cache *cache)
{
	return std::size_t{4096} << stats_of(cache).order;
}

/* A cache that may have `slabs` slabs. */
struct limited_cache : test_cache {
	explicit limited_cache(std::size_t slabs, std::size_t size = 1000) : test_cache(size)
	{
		limit = slabs * slab_bytes_of(*this);
		room = slabs * stats_of(*this).objects_per_slab;
		EXPECT_EQ(slab_stat_write(*this, "limit", limit), 0);
	}

	std::size_t limit, room;
};

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
	for (const char *name : {"objects", "slabs", "min_partial", "cpu_partial", "limit",
				 "sample", "counted_us", "nodes", "alloc_slowpath", "handed_off"})
		EXPECT_EQ(names.count(name), 1U) << name;
	EXPECT_EQ(names.count("struct_size"), 0U);
}

TEST(AttributesTest, EveryNameReadsWhatTheStatisticsSay)
{
	test_cache cache(712, SLAB_NO_MERGE | SLAB_HWCACHE_ALIGN);
	const std::vector<void *> objects = allocate_all(cache, 1000);
	const struct slab_stats s = stats_of(cache);

	EXPECT_EQ(read_stat(cache, "flags"), s.flags);
	EXPECT_EQ(read_stat(cache, "object_size"), 712U);
	EXPECT_EQ(read_stat(cache, "slab_size"), s.slab_size);
	EXPECT_EQ(read_stat(cache, "align"), 64U);
	EXPECT_EQ(read_stat(cache, "objects_per_slab"), s.objects_per_slab);
	EXPECT_EQ(read_stat(cache, "order"), s.order);
	EXPECT_EQ(read_stat(cache, "min_partial"), s.min_partial);
	EXPECT_EQ(read_stat(cache, "cpu_partial"), s.cpu_partial);
	EXPECT_EQ(read_stat(cache, "slabs"), s.slabs);
	EXPECT_EQ(read_stat(cache, "full"), s.full);
	EXPECT_EQ(read_stat(cache, "objects"), 1000U);
	EXPECT_EQ(read_stat(cache, "total_objects"), s.total_objects);
	EXPECT_EQ(read_stat(cache, "populated"), s.populated);
	EXPECT_EQ(read_stat(cache, "nodes"), s.nodes);
	for (unsigned e = 0; e < SLAB_EVENT_COUNT; e++)
		EXPECT_EQ(read_stat(cache, slab_event_name(e)), s.event[e]) << slab_event_name(e);
	free_all(cache, objects);
}

/* A cache with a list of segments that cannot be looked through. */
TEST(AttributesTest, NumbersOfTheCacheItselfAreReadWithoutLookingAtItsSlabs)
{
	test_cache cache(64);
	static struct segment no_segment;
	struct segment *const segments = slab_pages.segments;
	std::uint64_t value = 0;

	slab_pages.segments = &no_segment;
	for (const char *name :
	     {"flags", "object_size", "slab_size", "align", "objects_per_slab", "order", "has_ctor",
	      "merged", "min_partial", "cpu_partial", "errors", "limit", "counted", "counted_us",
	      "counted_variance", "nodes", "sample"})
		EXPECT_EQ(slab_stat_read(cache, name, &value), 0) << name;
	EXPECT_EQ(slab_stat_read(cache, "objects", &value), -EFAULT);
	EXPECT_EQ(errno, EFAULT);
	slab_pages.segments = segments;
}

TEST(AttributesTest, EveryNameCanBeRead)
{
	test_cache cache(64);

	for (unsigned i = 0; slab_stat_name(i); i++)
		read_stat(cache, slab_stat_name(i));
}

TEST(AttributesTest, WrongNamesAndCachesAreErrors)
{
	struct slab_cache *gone = slab_cache_create("gone", 64, nullptr, SLAB_NO_MERGE);
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
	EXPECT_EQ(slab_stat_write(cache, "cpu_partial", 32768), -ERANGE);
	EXPECT_EQ(slab_stat_write(cache, "limit", ~UINT64_C(0)), -ERANGE);
	EXPECT_EQ(slab_stat_write(cache, "alloc_slab", 1), -ERANGE);
	EXPECT_EQ(read_stat(cache, "min_partial"), min_partial);
	EXPECT_EQ(slab_stat_write(cache, "min_partial", 65535), 0);
	EXPECT_EQ(slab_stat_write(cache, "cpu_partial", 32767), 0);
}

/* --- what writing does ------------------------------------------------------------------ */

TEST(AttributesTest, ALowerMinPartialGivesEmptySlabsBackAtOnce)
{
	test_cache cache(1000);

	ASSERT_EQ(slab_stat_write(cache, "min_partial", 1000), 0);
	free_all(cache, allocate_all(cache, 2000));
	ASSERT_EQ(slab_stat_write(cache, "min_partial", 999), 0);
	ASSERT_GT(read_stat(cache, "slabs"), 4U);
	EXPECT_EQ(slab_stat_write(cache, "min_partial", 2), 0);
	EXPECT_GE(read_stat(cache, "slabs"), 2U);
	EXPECT_LE(read_stat(cache, "slabs"), 2U * stats_of(cache).nodes);
	EXPECT_EQ(slab_stat_write(cache, "min_partial", 0), 0);
	EXPECT_EQ(read_stat(cache, "slabs"), 0U);
}

TEST(AttributesTest, ALowerMinPartialHoldsForSlabsWithDebugFlags)
{
	test_cache cache(1000);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_POISON), 0);
	ASSERT_EQ(slab_stat_write(cache, "min_partial", 1000), 0);
	free_all(cache, allocate_all(cache, 2000));
	ASSERT_GT(read_stat(cache, "slabs"), 4U);
	EXPECT_EQ(slab_stat_write(cache, "min_partial", 0), 0);
	EXPECT_LE(read_stat(cache, "slabs"), 1U);
}

TEST(AttributesTest, ACacheWithDebugFlagsWorksWithoutAnyPartialSlabs)
{
	test_cache cache(1000, SLAB_NO_MERGE | SLAB_RED_ZONE);

	ASSERT_EQ(slab_stat_write(cache, "min_partial", 0), 0);
	EXPECT_EQ(run_in_child([&] { /* which ends, should this not */
				     void *first = slab_alloc(cache), *second = slab_alloc(cache);

				     if (stats_of(cache).slabs != 1 || stats_of(cache).objects != 2)
					     return 1;
				     slab_free(cache, first);
				     slab_free(cache, second);
				     return stats_of(cache).slabs == 0 ? 0 : 2;
		  }),
		  "");
}

TEST(AttributesTest, ALowerCpuPartialMovesCpusSlabsToTheNode)
{
	test_cache cache(1000);
	std::vector<void *> objects = allocate_all(cache, 2000), kept;

	/* One object of each slab stays. */
	for (std::size_t i = 0; i < objects.size(); i++) {
		if (i % 30)
			slab_free(cache, objects[i]);
		else
			kept.push_back(objects[i]);
	}
	ASSERT_GT(read_stat(cache, "cpu_slabs"), 1U);
	EXPECT_EQ(slab_stat_write(cache, "cpu_partial", 1), 0);
	EXPECT_EQ(read_stat(cache, "cpu_slabs"), 0U);
	EXPECT_EQ(read_stat(cache, "objects"), kept.size());
	free_all(cache, kept);
}

TEST(AttributesTest, ACacheWorksWithoutAnyPartialSlabs)
{
	test_cache cache(1000);

	ASSERT_EQ(slab_stat_write(cache, "min_partial", 0), 0);
	ASSERT_EQ(slab_stat_write(cache, "cpu_partial", 0), 0);
	for (int round = 0; round < 3; round++) {
		const std::vector<void *> objects = allocate_all(cache, 1000);

		ASSERT_EQ(objects.size(), 1000U);
		free_all(cache, objects);
	}
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST(AttributesTest, EventsAreClearedByZero)
{
	test_cache cache(1000);

	free_all(cache, allocate_all(cache, 500));
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

/* --- limits ------------------------------------------------------------------------------ */

TEST(LimitTest, AllOfItCanBeUsedAndNothingBeyond)
{
	limited_cache cache(3);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), cache.room);
	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(slab_zalloc(cache), nullptr);
	EXPECT_EQ(slab_alloc_node(cache, 0), nullptr);
	EXPECT_EQ(read_stat(cache, "slabs"), 3U);
	EXPECT_EQ(read_stat(cache, "limit"), cache.limit);
	slab_free(cache, objects.back());
	EXPECT_EQ(slab_alloc(cache), objects.back());
	free_all(cache, objects);
}

TEST(LimitTest, BulkAllocationGetsWhatThereIs)
{
	limited_cache cache(2);
	std::vector<void *> objects(cache.room + 10);
	const std::size_t got =
		slab_alloc_bulk(cache, SLAB_ALLOC_FULL, objects.size(), objects.data());

	EXPECT_EQ(got, cache.room);
	EXPECT_EQ(errno, ENOMEM);
	slab_free_bulk(cache, got, objects.data());
}

TEST(LimitTest, ItIsAnArgumentOfCreation)
{
	struct slab_cache_args args = {};

	args.limit = 1 << 20;
	test_cache cache(1000, SLAB_NO_MERGE, &args);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(),
		  (std::size_t{1} << 20) / slab_bytes_of(cache) * stats_of(cache).objects_per_slab);
	free_all(cache, objects);
}

TEST(LimitTest, LessThanASlabIsNoLimitForACreation)
{
	struct slab_cache_args args = {};

	args.limit = 4096;
	errno = 0;
	EXPECT_EQ(slab_cache_create("too_tight", 1000, &args, 0), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

/* As creation: what cannot serve a single allocation is refused, whoever asks for it. */
TEST(LimitTest, LessThanASlabIsNoLimitLater)
{
	for (const std::size_t size : {64u, 32768u}) {
		test_cache cache(size);
		struct slab_cache_args args = {};
		const std::size_t least = slab_bytes_of(cache);

		for (const std::size_t bytes : {std::size_t{1}, least - 1}) {
			errno = 0;
			EXPECT_EQ(slab_stat_write(cache, "limit", bytes), -ERANGE);
			EXPECT_EQ(errno, ERANGE);
			EXPECT_EQ(read_stat(cache, "limit"), 0u);
			args.limit = bytes;
			EXPECT_EQ(slab_cache_create("too_tight", size, &args, 0), nullptr);
		}
		EXPECT_EQ(slab_stat_write(cache, "limit", least), 0);
		args.limit = least;
		test_cache same(size, 0, &args);
	}
}

TEST(LimitTest, CachesWithALimitAreNotMerged)
{
	struct slab_cache_args args = {};
	test_cache plain(1000, 0);

	args.limit = 1 << 20;
	test_cache limited(1000, 0, &args);
	test_cache later(1000, 0);

	EXPECT_NE(static_cast<struct slab_cache *>(limited),
		  static_cast<struct slab_cache *>(plain));
	EXPECT_NE(static_cast<struct slab_cache *>(later),
		  static_cast<struct slab_cache *>(limited));
}

TEST(LimitTest, BelowWhatIsInUseItOnlyStopsGrowth)
{
	test_cache cache(1000);
	std::vector<void *> objects = allocate_all(cache, 1000);
	const std::uint64_t slabs = read_stat(cache, "slabs");
	std::vector<void *> more;

	ASSERT_EQ(slab_stat_write(cache, "limit", slab_bytes_of(cache)), 0);
	EXPECT_EQ(read_stat(cache, "objects"), 1000U);
	more = allocate_all(cache);
	EXPECT_EQ(read_stat(cache, "slabs"), slabs);
	ASSERT_EQ(slab_stat_write(cache, "limit", 0), 0);
	more.push_back(slab_alloc(cache));
	EXPECT_NE(more.back(), nullptr);
	free_all(cache, objects);
	free_all(cache, more);
}

TEST(LimitTest, WhatOtherThreadsLeftFreeIsTakenBack)
{
	limited_cache cache(4);

	/* Each leaves slabs with its CPU, of which an object is in use. */
	std::vector<void *> kept;

	for (int i = 0; i < 4; i++)
		std::thread([&cache, &kept, i] {
			pin(static_cast<std::size_t>(i));
			std::vector<void *> objects = allocate_all(cache);

			if (objects.empty())
				return;
			kept.push_back(objects.back());
			objects.pop_back();
			free_all(cache, objects);
		}).join();

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size() + kept.size(), cache.room);
	free_all(cache, objects);
	free_all(cache, kept);
}

TEST(LimitTest, GuardedObjectsCountAndGiveWay)
{
	limited_cache cache(2);
	const std::size_t guarded = cache.limit / (64 << 10);

	ASSERT_EQ(slab_cache_sample(cache, 1), 0);

	/* The freed ones wait between their guard pages, until their room is needed. */
	for (std::size_t i = 0; i < guarded; i++)
		slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(read_stat(cache, "guarded_slabs"), guarded);
	ASSERT_EQ(slab_cache_sample(cache, 0), 0);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), cache.room);
	EXPECT_EQ(read_stat(cache, "guarded_slabs"), 0U);
	free_all(cache, objects);
}

TEST(LimitTest, SlabsWithDebugFlagsCount)
{
	limited_cache cache(3);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_CONSISTENCY_CHECKS), 0);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_LE(objects.size(), cache.room);
	EXPECT_GT(objects.size(), 0U);
	EXPECT_LE(read_stat(cache, "slabs") * slab_bytes_of(cache), cache.limit);
	free_all(cache, objects);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	free_all(cache, allocate_all(cache));
}

/* Also of sizes that have larger slabs with debug flags than without. */
TEST(LimitTest, OneSlabServesWithDebugFlagsToo)
{
	for (std::size_t size = 64; size <= SLAB_MAX_OBJECT_SIZE; size += size / 256 * 8 + 8) {
		struct slab_cache_args args = {};

		args.limit = slab_bytes_of(test_cache(size));
		test_cache cache(size, SLAB_NO_MERGE, &args);
		ASSERT_EQ(slab_cache_debug(cache, SLAB_RED_ZONE | SLAB_POISON), 0);
		void *obj = slab_alloc(cache);
		EXPECT_NE(obj, nullptr) << size;
		slab_free(cache, obj);
	}
}

/* Objects in use never need more slabs than there may be; and they are all to be had. */
TEST(LimitTest, EightThreadsNeverExceedIt)
{
	limited_cache cache(5);
	std::atomic<std::size_t> live{0}, most{0};
	std::vector<std::thread> threads;

	for (unsigned t = 0; t < 8; t++)
		threads.emplace_back([&, t] {
			std::vector<void *> mine;
			std::mt19937 random(t);

			for (int i = 0; i < 20000; i++) {
				if (!mine.empty() && random() % 100 < 45) {
					live--;
					slab_free(cache, mine.back());
					mine.pop_back();
				} else if (void *obj = slab_alloc(cache)) {
					const std::size_t now = ++live;
					std::size_t before = most;

					while (before < now &&
					       !most.compare_exchange_weak(before, now))
						;
					mine.push_back(obj);
				}
			}
			live -= mine.size();
			free_all(cache, mine);
		});
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_LE(most, cache.room);
	EXPECT_LE(read_stat(cache, "slabs"), 5U);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), cache.room);
	free_all(cache, objects);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/* The account is right after everything that makes and gives back slabs. */
TEST(LimitTest, NothingIsLostOfItOverTime)
{
	limited_cache cache(3);

	for (int round = 0; round < 20; round++) {
		const std::uint64_t debug_flags = round % 2 ? SLAB_RED_ZONE | SLAB_STORE_USER : 0;

		ASSERT_EQ(slab_cache_debug(cache, debug_flags), 0);
		ASSERT_EQ(slab_cache_sample(cache, round % 3 ? 0 : 10), 0);
		free_all(cache, allocate_all(cache));
		slab_cache_shrink(cache);
	}
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	ASSERT_EQ(slab_cache_sample(cache, 0), 0);
	slab_cache_shrink(cache);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), cache.room);
	free_all(cache, objects);
}

} /* namespace */
