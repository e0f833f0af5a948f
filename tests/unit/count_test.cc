/* SPDX-License-Identifier: MIT */
/*
 * Windows of counting: what is allocated in one is counted, whichever way it is
 * allocated, and nothing else is.
 */
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/whitebox.h"
extern "C" {
#include "count.h"
}

using namespace slab_test;

namespace
{

constexpr unsigned moment = 1000;   /* µs */
constexpr unsigned hours = ~0U;     /* µs: more than any test takes */

struct slab_cache *inside(struct slab_cache *cache)
{
	return cache;
}

const struct count &window(struct slab_cache *cache)
{
	return cache->count;
}

void allocate(struct slab_cache *cache, int n)
{
	for (int i = 0; i < n; i++)
		slab_free(cache, slab_alloc(cache));
}

/* Ends the window now, as if its time were over. */
std::uint64_t counted(struct slab_cache *cache)
{
	count_close(cache);
	return window(cache).counted;
}

TEST(CountTest, WithoutAWindowNothingIsCounted)
{
	test_cache cache(64);

	allocate(cache, 1000);
	EXPECT_FALSE(count_is_open(cache));
	EXPECT_EQ(counted(cache), 0U);
}

TEST(CountTest, AllAllocationsOfAWindowAreCounted)
{
	test_cache cache(64);

	allocate(cache, 10);
	count_open(cache, hours);
	EXPECT_TRUE(count_is_open(cache));
	allocate(cache, 1000);
	EXPECT_EQ(counted(cache), 1000U);
	EXPECT_FALSE(count_is_open(cache));
	allocate(cache, 10);
	EXPECT_EQ(counted(cache), 1000U);
}

TEST(CountTest, TheTotalsAreInTheStatistics)
{
	test_cache cache(64);

	count_open(cache, hours);
	allocate(cache, 70);
	EXPECT_EQ(stats_of(cache).counted, 0U); /* of windows that are over */
	count_close(cache);
	EXPECT_EQ(stats_of(cache).counted, 70U);
	EXPECT_EQ(stats_of(cache).counted_us, window(cache).counted_us);
}

TEST(CountTest, BulkNodeAndZeroedAllocationsAreCounted)
{
	test_cache cache(64);
	std::vector<void *> objects(100);

	count_open(cache, hours);
	ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 100, objects.data()), 100U);
	slab_free_bulk(cache, 100, objects.data());
	slab_free(cache, slab_alloc_node(cache, 0));
	slab_free(cache, slab_zalloc(cache));
	EXPECT_EQ(counted(cache), 102U);
}

TEST(CountTest, CachesThatAreSlowAnywayAreCounted)
{
	test_cache zeroed(64, SLAB_NO_MERGE | SLAB_ZERO), lettered(64), sampled(64);

	ASSERT_EQ(slab_cache_debug(lettered, SLAB_POISON), 0);
	ASSERT_EQ(slab_cache_sample(sampled, 10), 0);
	for (struct slab_cache *cache :
	     {static_cast<struct slab_cache *>(zeroed), static_cast<struct slab_cache *>(lettered),
	      static_cast<struct slab_cache *>(sampled)}) {
		std::vector<void *> objects(50);

		allocate(cache, 10);
		count_open(cache, hours);
		allocate(cache, 100);
		ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 50, objects.data()), 50U);
		EXPECT_EQ(counted(cache), 150U);
		slab_free_bulk(cache, 50, objects.data());
	}
}

TEST(CountTest, FailedAllocationsAreNot)
{
	test_cache cache(64);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_FAILSLAB), 0);
	ASSERT_EQ(slab_set_fail("probability=100"), 0);
	count_open(cache, hours);
	EXPECT_EQ(slab_alloc(cache), nullptr);
	slab_set_fail(nullptr);
	EXPECT_EQ(counted(cache), 0U);
}

TEST(CountTest, WhoAllocatesClosesAWindowThatIsOver)
{
	test_cache cache(64);
	std::uint64_t made = 0;

	count_open(cache, moment);
	while (count_is_open(cache)) {
		allocate(cache, 1);
		made++;
	}
	EXPECT_EQ(window(cache).counted, made);
	EXPECT_GE(window(cache).counted_us, moment);
	/* The fast path has its slots back. */
	EXPECT_EQ(inside(cache)->slots, inside(cache)->cpu_slots);
}

TEST(CountTest, TheTimerClosesTheWindowOfAnIdleCache)
{
	test_cache cache(64);

	count_open(cache, moment);
	allocate(cache, 3);
	EXPECT_TRUE(count_wants_ticks());
	usleep(2 * moment);
	count_tick();
	EXPECT_FALSE(count_is_open(cache));
	EXPECT_EQ(window(cache).counted, 3U);
	/* As long as it was open, not as long as it was meant to be. */
	EXPECT_GE(window(cache).counted_us, 2 * moment);
}

TEST(CountTest, AnOpenWindowIsNotReplaced)
{
	test_cache cache(64);
	std::uint64_t closes;

	count_open(cache, hours);
	closes = window(cache).closes;
	allocate(cache, 5);
	count_open(cache, moment);
	EXPECT_EQ(window(cache).closes, closes);
	EXPECT_EQ(counted(cache), 5U);
}

TEST(CountTest, OpeningClosesAWindowThatIsOver)
{
	test_cache cache(64);

	count_open(cache, moment);
	allocate(cache, 5);
	usleep(2 * moment);
	count_open(cache, hours);
	EXPECT_EQ(window(cache).counted, 5U);
	EXPECT_TRUE(count_is_open(cache));
	allocate(cache, 6);
	EXPECT_EQ(counted(cache), 11U);
}

TEST(CountTest, ACacheCanBeDestroyedInAWindow)
{
	{
		test_cache cache(64);

		count_open(cache, hours);
		allocate(cache, 5);
		EXPECT_TRUE(count_wants_ticks());
	}
	EXPECT_FALSE(count_wants_ticks());
}

TEST(CountTest, ACacheThatIsBeingFlushedIsLeftOut)
{
	test_cache cache(64);

	pthread_mutex_lock(&inside(cache)->flush_lock);
	count_open(cache, hours);
	pthread_mutex_unlock(&inside(cache)->flush_lock);
	EXPECT_FALSE(count_is_open(cache));
}

TEST(CountTest, AChildCountsOnItsOwn)
{
	test_cache cache(64);

	count_open(cache, hours);
	allocate(cache, 5);
	EXPECT_EQ(run_in_child([&] {
			  allocate(cache, 10);
			  return counted(cache) == 15 ? 0 : 1;
		  }),
		  "");
	EXPECT_EQ(counted(cache), 5U);
}

TEST(CountTest, ThreadsAreAllCounted)
{
	test_cache cache(64);
	std::vector<std::thread> threads;

	count_open(cache, hours);
	for (int t = 0; t < 4; t++)
		threads.emplace_back([&cache] { allocate(cache, 10000); });
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(counted(cache), 40000U);
}

/* Windows come and go while threads allocate: nothing else may come of it. */
TEST(CountTest, WindowsUnderLoadHarmNobody)
{
	test_cache cache(64);
	std::vector<std::thread> threads;
	std::atomic<bool> ends{false};

	for (int t = 0; t < 4; t++)
		threads.emplace_back([&cache, &ends] {
			while (!ends)
				allocate(cache, 100);
		});
	for (int i = 0; i < 200; i++) {
		count_open(cache, 100);
		if (i % 10 == 0)
			slab_cache_shrink(cache);
		usleep(200);
	}
	ends = true;
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_GT(counted(cache), 0U);
	EXPECT_EQ(stats_of(cache).objects, 0U);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

} /* namespace */
