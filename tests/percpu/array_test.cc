/* SPDX-License-Identifier: MIT */
/* Refills, flushes and looks at arrays. */
#include "../support/process.h"
#include "percpu.h"

namespace
{

constexpr unsigned length = 20;

class ArrayTest : public PerCpuTest
{
protected:
	ArrayTest() : PerCpuTest(length) {}

	/* The array is full of these objects, the last one on top. */
	std::vector<void *> fill_array()
	{
		const std::vector<void *> objs = alloc(200);

		slab_cache_shrink(cache_);
		const std::vector<void *> freed(objs.begin(), objs.begin() + length);

		free(freed);
		EXPECT_EQ(count(), length);
		return objs;
	}
};

/* A CPU may need only some. */
TEST_F(ArrayTest, TheFirstRefillTakesObjectsOfOnePage)
{
	alloc();
	EXPECT_EQ(count(), std::min<unsigned>(os_page_size() / 1024, 1 + length / 2) - 1);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_REFILL), 1u);
	expect_counted();
}

TEST_F(ArrayTest, ARefillFillsHalfOfIt)
{
	do
		alloc();
	while (count());
	alloc();
	EXPECT_EQ(count(), length / 2);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_REFILL), 2u);
	expect_counted();
}

TEST_F(ArrayTest, AllocationsTakeItsNewest)
{
	const std::vector<void *> objs = alloc(3);

	free(objs);
	EXPECT_EQ(alloc(3), (std::vector<void *>{objs[2], objs[1], objs[0]}));
}

TEST_F(ArrayTest, FreesStayInIt)
{
	const std::vector<void *> objs = alloc(30);
	const std::uint64_t used = used_in_slabs(cache_);

	free(objs[0]);
	free(objs[1]);
	EXPECT_EQ(used_in_slabs(cache_), used);
	expect_counted();
}

TEST_F(ArrayTest, AFullOneReturnsItsNewerHalfToTheSlabs)
{
	const std::vector<void *> objs = fill_array();

	free(objs[length]);
	EXPECT_EQ(count(), length / 2 + 1);
	EXPECT_EQ(event(SLAB_EVENT_FREE_FLUSH), 1u);
	EXPECT_EQ(alloc(), objs[length]);
	EXPECT_EQ(alloc(), objs[length / 2 - 1]);
	expect_counted();
}

TEST_F(ArrayTest, ObjectsThatAnotherCpuAllocatedStayInIt)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	std::vector<void *> objs;

	elsewhere([&] { objs = alloc(5); });
	free(objs[2]);
	EXPECT_EQ(alloc(), objs[2]);
}

TEST_F(ArrayTest, ASecondFreeOfItsNewestIsReportedAtOnce)
{
	const report_capture reports;
	void *obj = alloc();

	free(obj);
	slab_free(cache_, obj);
	ASSERT_EQ(reports.count(), 1u);
	EXPECT_TRUE(reports.contains("already free")) << reports.text();
	expect_counted();
}

/* At the latest when it goes back to its slab. */
TEST_F(ArrayTest, ASecondFreeOfAnotherOneIsReportedByTheFlush)
{
	const report_capture reports;
	const std::vector<void *> objs = alloc(2);

	free(objs);
	slab_free(cache_, objs[0]);
	slab_cache_shrink(cache_);
	EXPECT_EQ(reports.count(), 1u);
	expect_counted();
}

TEST_F(ArrayTest, ASecondFreeOfAnObjectThatIsFreeInItsSlabIsReported)
{
	const report_capture reports;
	const std::vector<void *> objs = alloc(20);

	free(objs[3]);
	slab_cache_shrink(cache_);
	slab_free(cache_, objs[3]);
	slab_cache_shrink(cache_);
	EXPECT_EQ(reports.count(), 1u);
	expect_counted();
}

TEST_F(ArrayTest, APointerIntoAnObjectIsReported)
{
	const report_capture reports;
	const std::vector<void *> objs = alloc(2);

	void *volatile inside = static_cast<char *>(objs[0]) + 8;

	slab_free(cache_, inside);
	slab_cache_shrink(cache_);
	EXPECT_EQ(reports.count(), 1u);
	expect_counted();
}

TEST_F(ArrayTest, AFreeOffTheFastPathDoesTheWorkThatIsDue)
{
	static unsigned polls;

	EXPECT_IN_CHILD([&] {
		static const struct maintenance_driver driver = {[] {}, [] { polls++; }};
		const std::vector<void *> objs = fill_array();

		maintenance_set_driver(&driver);
		maintenance_polls = true;
		polls = 0;
		slab_free(cache_, objs[length]);
		return polls ? 0 : 1;
	});
}

TEST_F(ArrayTest, ABulkAllocationOfWhatTheCpuHoldsTakesThem)
{
	void *objs[length];

	alloc();
	const unsigned before = count();
	const std::size_t n = slab_alloc_bulk(cache_, SLAB_ALLOC_LOCAL, length, objs);

	held_.insert(held_.end(), objs, objs + n);
	EXPECT_EQ(n, before);
	EXPECT_EQ(count(), 0u);
}

TEST_F(ArrayTest, AnAllocationAtItsLimitGetsWhatCpusHold)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	__atomic_store_n(&cache_->account.limit, std::size_t{1} << cache_->large.shift,
			 __ATOMIC_RELAXED);
	elsewhere([&] { alloc(); });
	for (unsigned i = 1; i < cache_->large.objects; i++)
		ASSERT_NE(alloc(), nullptr) << i;
	EXPECT_EQ(slab_alloc(cache_), nullptr);
}

TEST_F(ArrayTest, TheChildOfAForkAllocatesItsObjects)
{
	const std::vector<void *> objs = fill_array();

	EXPECT_IN_CHILD([&] {
		for (unsigned i = length; i-- > 0;)
			if (slab_alloc(cache_) != objs[i])
				return 1;
		return slab_cache_validate(cache_) ? 2 : 0;
	});
}

TEST(Array, ACacheIsDestroyedWhileItHoldsObjects)
{
	struct slab_cache *cache = slab_cache_create("held", 64, nullptr, 0);

	slab_free(cache, slab_alloc(cache));
	EXPECT_GT(arrays_objects(cache), 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_F(ArrayTest, TheirObjectsAreFreeInTheStatistics)
{
	alloc(3);
	const struct slab_stats stats = stats_of(cache_);

	EXPECT_EQ(stats.objects, 3u);
	EXPECT_EQ(stats.cpu_objects, count());
}

/* --- looks ---------------------------------------------------------------------------------- */

TEST_F(ArrayTest, ACpuHoldsObjectsAfterItsFirstAllocation)
{
	EXPECT_EQ(count(), 0u);
	alloc();
	EXPECT_GT(count(), 0u);
	EXPECT_EQ(arrays_objects(cache_), count());
	slab_cache_shrink(cache_);
	EXPECT_EQ(count(), 0u);
}

TEST_F(ArrayTest, TheTraceChangesWithEachUse)
{
	bool holds;
	const std::uint64_t unused = cpu_use_trace(cache_, &holds);

	EXPECT_FALSE(holds);
	void *obj = alloc();
	const std::uint64_t used = cpu_use_trace(cache_, &holds);

	EXPECT_TRUE(holds);
	EXPECT_NE(used, unused);
	EXPECT_EQ(cpu_use_trace(cache_, &holds), used);
	free(obj);
	EXPECT_NE(cpu_use_trace(cache_, &holds), used);
}

/* How long arrays are: misses double and halve them, and a busy cache gets long ones. */

constexpr std::uint64_t second = 1000000;

class LengthTest : public PerCpuTest
{
protected:
	LengthTest() : PerCpuTest(2, 512)
	{
		cache_->array_least = 4;
		cache_->array_most = cpu_array_room(false);
		alloc(2000); /* whose sixteenth does not matter */
		slab_cache_shrink(cache_);
	}

	void set_limit(unsigned limit) { cpu_array_set_limit(array(), limit); }

	/* A miss this many microseconds after the last one. */
	unsigned miss_after(std::uint64_t us)
	{
		array()->stamp = clock_us() - us;
		array()->streak = clock_us();
		return length_miss(cache_, cpu_);
	}

	/* The machine may have been slow: try again. */
	unsigned miss_at_once(unsigned limit)
	{
		unsigned now = limit;

		for (int i = 0; i < 100 && now == limit; i++) {
			set_limit(limit);
			now = miss_after(0);
		}
		return now;
	}
};

TEST_F(LengthTest, AMissSoonAfterTheLastOneDoublesIt)
{
	EXPECT_EQ(miss_at_once(6), 12u);
	EXPECT_EQ(cpu_array_limit(array()), 12u);
}

TEST_F(LengthTest, AMissLaterLeavesIt)
{
	set_limit(6);
	EXPECT_EQ(miss_after(second / 10), 6u);
}

TEST_F(LengthTest, AMissMuchLaterHalvesIt)
{
	set_limit(12);
	EXPECT_EQ(miss_after(2 * second), 6u);
}

TEST_F(LengthTest, ItHasALeast)
{
	set_limit(5);
	EXPECT_EQ(miss_after(2 * second), 4u);
	set_limit(0);
	EXPECT_EQ(miss_after(2 * second), 4u);
}

TEST_F(LengthTest, ItHasAMost)
{
	EXPECT_EQ(miss_at_once(cpu_array_room(false) - 2), cpu_array_room(false));
}

TEST_F(LengthTest, ItHasASixteenthOfTheObjectsAtMost)
{
	free(std::vector<void *>(held_.begin() + 100, held_.end()));
	cache_drain(cache_, nullptr, nullptr);
	cache_release(cache_, 0);
	const struct shard_sums sums = cache_sums(cache_);
	const auto most = static_cast<unsigned>(sums.room / 16);

	ASSERT_LT(most, 12u);
	EXPECT_EQ(miss_at_once(std::max(most, 4u) - 1), std::max(most, 4u));
}

/* Few objects flow fast between CPUs: then their number is no bound. */
TEST_F(LengthTest, AStreakOfMissesLiftsThatBound)
{
	free(std::vector<void *>(held_.begin() + 100, held_.end()));
	cache_drain(cache_, nullptr, nullptr);
	cache_release(cache_, 0);
	unsigned now = 0;

	for (int i = 0; i < 1000 && now < 12; i++) {
		set_limit(6);
		array()->stamp = clock_us();
		array()->streak = clock_us() - 600;
		now = length_miss(cache_, cpu_);
	}
	EXPECT_EQ(now, 12u);
}

TEST_F(LengthTest, ShortArraysBecomeLongOnes)
{
	cache_->array_most = 400;
	EXPECT_FALSE(cache_has_long_arrays(cache_));
	EXPECT_EQ(miss_at_once(cpu_array_room(false)), 2 * cpu_array_room(false));
	EXPECT_TRUE(cache_has_long_arrays(cache_));
	EXPECT_TRUE(cpu_arrays_are_long(cache_->own_arrays));
	EXPECT_EQ(cache_->arrays, cache_->own_arrays);
	EXPECT_EQ(cpu_array_limit(array()), 2 * cpu_array_room(false));
	expect_counted();
}

TEST_F(LengthTest, WhatShortArraysHadGoesToTheSlabs)
{
	cache_->array_most = 400;
	set_limit(10);
	free({held_[0], held_[1], held_[2]});
	ASSERT_EQ(count(), 3u);
	miss_at_once(cpu_array_room(false));
	EXPECT_EQ(arrays_objects(cache_), 0u);
	EXPECT_EQ(cpu_array_count(cpu_array(cache_->short_arrays, cpu_)), 0u);
	EXPECT_EQ(used_in_slabs(cache_), held_.size());
}

TEST_F(LengthTest, ACacheHasOneLengthAfterTheOther)
{
	cache_->array_most = 400;
	miss_at_once(cpu_array_room(false));
	const char *long_arrays = cache_->own_arrays;

	set_limit(200);
	EXPECT_EQ(miss_after(2 * second), 100u);
	EXPECT_EQ(cache_->own_arrays, long_arrays);
}

TEST_F(LengthTest, WhileTheLockIsHeldTheyStayShort)
{
	cache_->array_most = 400;
	flush_lock(cache_);
	EXPECT_EQ(miss_at_once(cpu_array_room(false)), cpu_array_room(false));
	flush_unlock(cache_);
	EXPECT_FALSE(cache_has_long_arrays(cache_));
}

TEST(Length, StartsWith32KibibytesOrAShortArrayAndEndsWith512Kibibytes)
{
	for (std::size_t size : {8, 64, 1024, 2048, 8192, 32768}) {
		test_cache cache(size);
		const struct slab_cache *inside = cache;
		const std::size_t real = inside->size;

		EXPECT_EQ(inside->array_least,
			  std::max<std::size_t>(
				  2, std::min<std::size_t>(cpu_array_room(false), 32768 / real)))
			<< size;
		EXPECT_EQ(inside->array_most,
			  std::min<std::size_t>(cpu_array_room(true), 524288 / real))
			<< size;
	}
}

} /* namespace */
