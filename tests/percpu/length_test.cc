/* SPDX-License-Identifier: MIT */
/* How long arrays are: misses double and halve them, and a busy cache gets long ones. */
#include "percpu.h"

namespace
{

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
