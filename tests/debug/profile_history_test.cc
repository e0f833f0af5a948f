/* SPDX-License-Identifier: MIT */
/* What the sites of the heap profile know of samples that are freed: the peak. */
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <slab/slab.h>

#include "../support/objects.h"
#include "../support/profiled.h"

using namespace slab_test;

namespace
{

constexpr std::size_t first_size = 552, second_size = 584; /* that no other cache has */

/* The sum over all sites with objects of one size. */
template <typename Number> std::uint64_t sum_of(std::size_t size, Number number)
{
	std::uint64_t sum = 0;

	for (std::uint32_t i = 1; i <= heap_profile.count; i++)
		if (heap_profile.sites[i].size == size)
			sum += number(heap_profile.sites[i]);
	return sum;
}

/* --- the peak -------------------------------------------------------------------------------- */

std::uint64_t at_peak(std::size_t size)
{
	return sum_of(size, [](const struct profile_site &site) {
		return site.kept >> 32 >= heap_profile.peaks ? static_cast<std::uint32_t>(site.kept)
							     : site.allocated - site.freed;
	});
}

TEST_F(ProfileTest, ThePeakKeepsWhatWasInUseThen)
{
	test_cache first(first_size), second(second_size);

	profile_every(every_one);
	std::vector<void *> objs = alloc_many(first, 1000);

	EXPECT_EQ(at_peak(first_size), 1000U);
	free_many(first, objs);
	objs = alloc_many(second, 900);
	EXPECT_EQ(at_peak(first_size), 1000U);
	EXPECT_EQ(at_peak(second_size), 0U);
	const std::vector<void *> more = alloc_many(second, 100);

	EXPECT_EQ(at_peak(first_size), 0U);
	EXPECT_EQ(at_peak(second_size), 1000U);
	free_many(second, objs);
	free_many(second, more);
	EXPECT_EQ(at_peak(second_size), 1000U);
}

TEST_F(ProfileTest, SwitchingItOnBeginsANewPeak)
{
	test_cache cache(first_size);

	profile_every(every_one);
	free_many(cache, alloc_many(cache, 1000));
	profile_every(every_one);
	EXPECT_EQ(at_peak(first_size), 1000U) << "until there is another";
	free_many(cache, alloc_many(cache, 10));
	EXPECT_EQ(at_peak(first_size), 10U);
}

TEST_F(ProfileTest, ThreadsReachOnePeak)
{
	test_cache cache(first_size);
	std::vector<std::thread> threads;
	std::vector<void *> objs[4];

	profile_every(every_one);
	for (std::vector<void *> &mine : objs)
		threads.emplace_back([&] { mine = alloc_many(cache, 1000); });
	for (std::thread &thread : threads)
		thread.join();
	for (const std::vector<void *> &mine : objs)
		free_many(cache, mine);
	EXPECT_EQ(at_peak(first_size), 4000U);
}

/* A sample stands for so many bytes, and the peak is when these are most. */
TEST_F(ProfileTest, TheWeightOfASampleIsRightWithinOnePerCent)
{
	for (std::size_t period : {1u, 100u, 1u << 16, 1u << 30})
		for (std::size_t size = 8; size < 1u << 24; size += size / 3 + 8) {
			profile_every(period);
			const std::uint32_t site = profile_find_site(0, size);
			const double exact = static_cast<double>(size) / chance_of(size, period);

			ASSERT_NE(site, 0U);
			EXPECT_NEAR(static_cast<double>(heap_profile.sites[site].weight), exact,
				    exact / 100 + 1)
				<< size << " of " << period;
		}
}

} /* namespace */
