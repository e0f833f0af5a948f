/* SPDX-License-Identifier: MIT */
/*
 * How often the heap profile samples allocations. The chance of each is 1 - exp(-size / period), so
 * the estimates are unbiased. Bounds are five standard deviations (expect_likely()).
 */
#include "../support/objects.h"
#include "../support/profiled.h"

namespace
{

constexpr std::size_t period = 4096;

TEST_F(ProfileTest, ThresholdsHaveTheirMeanAndVariance)
{
	constexpr int draws = 200000;
	double sum = 0, squares = 0;

	profile_every(1 << 20);
	profile_seed(1);
	for (int i = 0; i < draws; i++) {
		profile_countdown.left = -1;
		profile_countdown.changes = heap_profile.changes;
		EXPECT_TRUE(profile_draw(0));
		const double x = static_cast<double>(profile_countdown.left) / (1 << 20);

		sum += x;
		squares += x * x;
	}
	const double mean = sum / draws, variance = squares / draws - mean * mean;

	/* Standard deviations of an exponential distribution's: 1 and sqrt(8), over sqrt(draws). */
	EXPECT_NEAR(mean, 1, 5 / std::sqrt(draws));
	EXPECT_NEAR(variance, 1, 5 * std::sqrt(8.0 / draws));
}

TEST_F(ProfileTest, TheChanceOfASizeIsTheSameWhateverComesBetween)
{
	const std::size_t sizes[] = {16, 512, 4096, 20000};
	std::uint64_t sampled[4] = {}, n = 0;

	profile_every(period);
	for (std::uint64_t seed = 1; seed <= 200; seed++) {
		profile_seed(seed);
		for (int round = 0; round < 500; round++, n++)
			for (int i = 0; i < 4; i++)
				sampled[i] += profile_is_due(sizes[i]);
	}
	for (int i = 0; i < 4; i++)
		expect_likely(sampled[i], n, chance_of(sizes[i], period));
}

TEST_F(ProfileTest, EstimatesOverManySeedsAreUnbiased)
{
	constexpr int seeds = 2000, allocations = 100;
	constexpr std::size_t size = 712;
	const double weight = 1 / chance_of(size, period);
	double sum = 0;

	profile_every(period);
	for (std::uint64_t seed = 1; seed <= seeds; seed++) {
		profile_seed(seed);
		for (int i = 0; i < allocations; i++)
			sum += profile_is_due(size) ? weight : 0;
	}
	/* The mean of the estimates of a hundred allocations. */
	EXPECT_NEAR(sum / seeds, allocations,
		    5 * weight *
			    std::sqrt(allocations * chance_of(size, period) *
				      (1 - chance_of(size, period)) / seeds));
}

TEST_F(ProfileTest, ObjectsThatAreFreedAndAllocatedAgainAreSampledLikeOthers)
{
	constexpr std::size_t size = 344, n = 100000;
	test_cache cache(size);

	profile_every(period);
	for (std::size_t i = 0; i < n; i++) {
		void *volatile obj = slab_alloc(cache);

		slab_free(cache, obj);
	}
	expect_likely(samples_of(size, period).allocated, n, chance_of(size, period));
	EXPECT_EQ(samples_of(size, period).inuse(), 0U);
}

TEST_F(ProfileTest, ObjectsInUseAreSampledLikeOthers)
{
	constexpr std::size_t size = 360, n = 20000;
	test_cache cache(size);
	std::vector<void *> kept;

	profile_every(period);
	/* Three of four are freed at once, and their memory goes to the next ones. */
	for (std::size_t i = 0; i < n; i++) {
		kept.push_back(slab_alloc(cache));
		for (int j = 0; j < 3; j++) {
			void *volatile obj = slab_alloc(cache);

			slab_free(cache, obj);
		}
	}
	expect_likely(samples_of(size, period).inuse(), n, chance_of(size, period));
	expect_likely(samples_of(size, period).allocated, 4 * n, chance_of(size, period));
	free_many(cache, kept);
}

TEST_F(ProfileTest, BulkAllocationsAreSampledLikeOthers)
{
	constexpr std::size_t size = 376, n = 2000;
	test_cache cache(size);
	void *objs[50];

	profile_every(period);
	for (std::size_t i = 0; i < n; i++) {
		ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 50, objs), 50U);
		slab_free_bulk(cache, 50, objs);
	}
	expect_likely(samples_of(size, period).allocated, 50 * n, chance_of(size, period));
}

TEST_F(ProfileTest, LargeAllocationsAreSampledLikeOthers)
{
	constexpr std::size_t size = 50000, n = 4000, long_period = 200000;

	profile_every(long_period);
	for (std::size_t i = 0; i < n; i++)
		slab_mfree(slab_malloc(size));
	expect_likely(samples_of(size, long_period).allocated, n, chance_of(size, long_period));
}

TEST_F(ProfileTest, AThreadDrawsAgainWhenThePeriodChanges)
{
	constexpr std::size_t size = 392, n = 20000;
	test_cache cache(size);

	profile_every(std::size_t{1} << 50);
	slab_free(cache, slab_alloc(cache)); /* a threshold that this test never reaches */
	profile_every(period);
	for (std::size_t i = 0; i < n; i++) {
		void *volatile obj = slab_alloc(cache);

		slab_free(cache, obj);
	}
	expect_likely(samples_of(size, period).allocated, n, chance_of(size, period));
}

/* --- sites ----------------------------------------------------------------------------------- */

TEST_F(ProfileTest, AStackASizeAndAPeriodHaveOneSite)
{
	profile_every(period);
	const std::uint32_t site = profile_find_site(77, 408);

	EXPECT_NE(site, 0U);
	EXPECT_EQ(profile_find_site(77, 408), site);
	EXPECT_NE(profile_find_site(78, 408), site);
	EXPECT_NE(profile_find_site(77, 409), site);
	profile_every(period + 1);
	EXPECT_NE(profile_find_site(77, 408), site);
	profile_every(0);
	EXPECT_EQ(profile_find_site(77, 408), 0U);
}

TEST_F(ProfileTest, WhenAllSitesAreTakenFurtherOnesAreMissed)
{
	const std::uint32_t count = heap_profile.count;

	profile_every(period);
	__atomic_store_n(&heap_profile.count, PROFILE_SITES_MAX - 1, __ATOMIC_RELAXED);
	EXPECT_EQ(profile_find_site(79, 424), 0U);
	__atomic_store_n(&heap_profile.count, count, __ATOMIC_RELAXED);
}

} /* namespace */
