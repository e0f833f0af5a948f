/* SPDX-License-Identifier: MIT */
/*
 * Counting: what is allocated meanwhile is counted, whichever way it is allocated, and
 * nothing else is.
 */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/without_thread.h" /* one thread at a time may count */
#include "../support/rooms.h"

namespace
{

constexpr std::uint64_t hour = 3600000000U; /* µs */
constexpr unsigned quiet_us = 100000; /* in which a few allocations are as good as none */

struct slab_cache *inside(struct slab_cache *cache)
{
	return cache;
}

void allocate(struct slab_cache *cache, int n)
{
	for (int i = 0; i < n; i++)
		slab_free(cache, slab_alloc(cache));
}

/* What was counted so far; counting has ended then. */
std::uint64_t counted(struct slab_cache *cache)
{
	usleep(quiet_us);
	count_close(cache);
	return stats_of(cache).counted;
}

/* Other tests count as well, each from the start; no cache of theirs is left. */
class CountTest : public testing::Test
{
protected:
	void TearDown() override { count_after_fork_child(); /* no request is left */ }
};

void tick(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		usleep(static_cast<unsigned>(count_period()));
		count_tick();
	}
}

TEST_F(CountTest, WithoutARequestNothingIsCounted)
{
	test_cache cache(64);

	allocate(cache, 1000);
	EXPECT_FALSE(count_is_on(cache));
	EXPECT_EQ(count_period(), 0);
	EXPECT_EQ(counted(cache), 0U);
}

TEST_F(CountTest, AllAllocationsAreCounted)
{
	test_cache cache(64);

	allocate(cache, 10);
	count_start(hour);
	EXPECT_TRUE(count_is_on(cache));
	allocate(cache, 1000);
	EXPECT_EQ(counted(cache), 1000U);
	EXPECT_FALSE(count_is_on(cache));
	allocate(cache, 10);
	EXPECT_EQ(counted(cache), 1000U);
}

TEST_F(CountTest, BeingCountedIsNoSlowAllocation)
{
	test_cache cache(64);

	allocate(cache, 10);
	count_start(hour);
	const std::uint64_t slow = stats_of(cache).event[SLAB_EVENT_ALLOC_SLOWPATH];
	allocate(cache, 1000);
	if (cpu_engine == &cpu_engine_rseq) {
		/* But for sequences that were aborted. */
		EXPECT_LT(stats_of(cache).event[SLAB_EVENT_ALLOC_SLOWPATH] - slow, 100U);
	}
	EXPECT_EQ(counted(cache), 1000U);
}

TEST_F(CountTest, ATickAddsUpWhatWasCounted)
{
	test_cache cache(64);

	count_start(hour);
	allocate(cache, 70);
	EXPECT_EQ(stats_of(cache).counted, 0U);
	usleep(quiet_us);
	tick(1);
	EXPECT_EQ(stats_of(cache).counted, 70U);
	EXPECT_GE(stats_of(cache).counted_us, quiet_us);
	EXPECT_TRUE(count_is_on(cache));
}

TEST_F(CountTest, BulkNodeAndZeroedAllocationsAreCounted)
{
	test_cache cache(64);
	std::vector<void *> objects(100);

	count_start(hour);
	ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 100, objects.data()), 100U);
	slab_free_bulk(cache, 100, objects.data());
	slab_free(cache, slab_alloc_node(cache, 0));
	slab_free(cache, slab_zalloc(cache));
	EXPECT_EQ(counted(cache), 102U);
}

TEST_F(CountTest, BulkAndNodeAllocationsLeaveTheFastPath)
{
	test_cache cache(64);
	std::vector<void *> objects(100);
	const std::uint64_t before = stats_of(cache).event[SLAB_EVENT_ALLOC_SLOWPATH];

	ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 100, objects.data()), 100U);
	slab_free_bulk(cache, 100, objects.data());
	slab_free(cache, slab_alloc_node(cache, 0));
	EXPECT_EQ(stats_of(cache).event[SLAB_EVENT_ALLOC_SLOWPATH] - before, 101U);
}

TEST_F(CountTest, CachesThatAreSlowAnywayAreCounted)
{
	test_cache zeroed(64, SLAB_ZERO), flagged(64), sampled(64);

	ASSERT_EQ(slab_cache_debug(flagged, SLAB_POISON), 0);
	ASSERT_EQ(slab_cache_sample(sampled, 10), 0);
	count_start(hour);
	for (struct slab_cache *cache :
	     {static_cast<struct slab_cache *>(zeroed), static_cast<struct slab_cache *>(flagged),
	      static_cast<struct slab_cache *>(sampled)}) {
		std::vector<void *> objects(50);

		allocate(cache, 100);
		ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 50, objects.data()), 50U);
		EXPECT_EQ(counted(cache), 150U);
		slab_free_bulk(cache, 50, objects.data());
	}
}

/* A cache that is counted may become a slow one meanwhile. */
TEST_F(CountTest, DebugFlagsAreHonouredWhileItIsCounted)
{
	test_cache cache(64);

	count_start(hour);
	allocate(cache, 10);
	ASSERT_EQ(slab_cache_debug(cache, SLAB_POISON), 0);
	void *object = slab_alloc(cache);
	EXPECT_EQ(stats_of(cache).debug_slabs, 1U);
	slab_free(cache, object);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	allocate(cache, 10);
	EXPECT_EQ(counted(cache), 21U);
}

TEST_F(CountTest, FailedAllocationsAreNot)
{
	test_cache cache(64);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_FAILSLAB), 0);
	ASSERT_EQ(slab_set_fail("probability=100"), 0);
	count_start(hour);
	EXPECT_EQ(slab_alloc(cache), nullptr);
	slab_set_fail(nullptr);
	EXPECT_EQ(counted(cache), 0U);
}

TEST_F(CountTest, CountingEndsAfterTheLastRequest)
{
	test_cache cache(64);

	count_start(1000);
	allocate(cache, 3);
	EXPECT_TRUE(count_is_on(cache));
	usleep(quiet_us);
	tick(1);
	EXPECT_FALSE(count_is_on(cache));
	EXPECT_EQ(count_period(), 0);
	EXPECT_EQ(stats_of(cache).counted, 3U);
	EXPECT_GE(stats_of(cache).counted_us, quiet_us);
	/* The fast path has its arrays back. */
	EXPECT_EQ(inside(cache)->alloc_arrays, inside(cache)->arrays);
}

TEST_F(CountTest, ALongerRequestPrevails)
{
	test_cache cache(64);

	count_start(hour);
	count_start(1000);
	usleep(2000);
	tick(2);
	EXPECT_TRUE(count_is_on(cache));
}

TEST_F(CountTest, TimeWithoutRequestsIsLeftOut)
{
	test_cache cache(64);

	count_start(1000);
	usleep(quiet_us);
	tick(1);
	const std::uint64_t us = stats_of(cache).counted_us;
	allocate(cache, 500);
	usleep(10 * quiet_us);
	const std::uint64_t again = clock_us();
	count_start(hour);
	allocate(cache, 5);
	EXPECT_EQ(counted(cache), 5U);
	EXPECT_LE(stats_of(cache).counted_us - us, clock_us() - again);
}

TEST_F(CountTest, ACacheCanBeDestroyedWhileItIsCounted)
{
	test_cache other(64);

	count_start(hour);
	{
		test_cache cache(128);

		allocate(cache, 5);
		tick(1);
		EXPECT_TRUE(count_is_on(cache));
	}
	tick(3);
	EXPECT_TRUE(count_is_on(other));
}

TEST_F(CountTest, AChildIsNotCounted)
{
	test_cache cache(64);

	count_start(hour);
	allocate(cache, 5);
	EXPECT_IN_CHILD([&] {
		return count_period() == 0 && !count_is_on(cache) &&
				       inside(cache)->alloc_arrays == inside(cache)->arrays
			       ? 0
			       : 1;
	});
	EXPECT_EQ(counted(cache), 5U);
}

TEST_F(CountTest, ThreadsAreAllCounted)
{
	test_cache cache(64);
	std::vector<std::thread> threads;

	count_start(hour);
	for (int t = 0; t < 4; t++)
		threads.emplace_back([&cache] { allocate(cache, 10000); });
	join_all(threads);
	EXPECT_EQ(counted(cache), 40000U);
}

/* Counting begins and ends while threads allocate: nothing else may come of it. */
TEST_F(CountTest, BeginningAndEndingUnderLoadDoNoHarm)
{
	test_cache cache(64);
	std::vector<std::thread> threads;
	std::atomic<bool> ends{false};

	for (int t = 0; t < 4; t++)
		threads.emplace_back([&cache, &ends] {
			while (!ends)
				allocate(cache, 100);
		});
	for (int i = 0; i < 100; i++) {
		count_start(1);
		usleep(1000);
		count_tick();
		if (i % 10 == 0)
			slab_cache_shrink(cache);
	}
	ends = true;
	join_all(threads);
	count_close(cache);
	EXPECT_EQ(stats_of(cache).objects, 0U);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

} /* namespace */
