/* SPDX-License-Identifier: MIT */
/* The heap profile under test: sampled objects, and what the sites have counted. */
#pragma once

#include "rooms.h"

/* With this period practically every allocation is sampled. */
constexpr std::size_t every_one = 1;

inline bool is_profiled(const void *obj)
{
	const struct slab *slab = slab_of(obj);

	return slab_large(slab) ? slab->profiled != 0 : slab->debug && debug_is_profiled(slab);
}

/* The samples of all sites with objects of one size and a period. */
struct samples {
	std::uint64_t allocated = 0, freed = 0;

	std::uint64_t inuse() const { return allocated - freed; }
};

inline samples samples_of(std::size_t size, std::size_t period)
{
	samples sum;

	for (std::uint32_t i = 1; i <= heap_profile.count; i++)
		if (heap_profile.sites[i].size == size && heap_profile.sites[i].period == period) {
			sum.allocated += heap_profile.sites[i].allocated;
			sum.freed += heap_profile.sites[i].freed;
		}
	return sum;
}

inline double chance_of(std::size_t size, std::size_t period)
{
	return -std::expm1(-static_cast<double>(size) / static_cast<double>(period));
}

/* Is `sampled` of `n` allocations what their chance makes likely? Five standard deviations are
 * exceeded once in two million tests. */
inline void expect_likely(std::uint64_t sampled, std::uint64_t n, double chance)
{
	const double mean = static_cast<double>(n) * chance;

	EXPECT_NEAR(static_cast<double>(sampled), mean,
		    5 * std::sqrt(mean * (1 - chance)) + 1e-6 * mean)
		<< n << " allocations with a chance of " << chance;
}

class ProfileTest : public testing::Test
{
protected:
	~ProfileTest() override { EXPECT_EQ(slab_set_profile(0), 0); }

	static void profile_every(std::size_t period) { EXPECT_EQ(slab_set_profile(period), 0); }
};
