/* SPDX-License-Identifier: MIT */
/* Switching the heap profile on and off: what is left of it, and threads that go on meanwhile. */
#include <urcu-bp.h>

#include "../support/cpus.h"
#include "../support/objects.h"
#include "../support/profiled.h"

namespace
{

constexpr std::size_t switched_size = 440; /* that no other cache has */

/* --- on and off ------------------------------------------------------------------------------ */

TEST_F(ProfileTest, OffGivesTheFastPathAndTheSlabsBack)
{
	test_cache cache(switched_size);
	const struct slab_cache *inside = cache;

	profile_every(every_one);
	EXPECT_EQ(inside->alloc_arrays, cpu_arrays_none());
	free_many(cache, alloc_many(cache, 1000));
	EXPECT_EQ(stats_of(cache).debug_slabs, 1U) << "one waits for further samples";
	profile_every(0);
	EXPECT_EQ(inside->alloc_arrays, inside->own_arrays);
	EXPECT_EQ(stats_of(cache).debug_slabs, 0U);
	void *obj = slab_alloc(cache);

	EXPECT_FALSE(is_profiled(obj));
	slab_free(cache, obj);
}

TEST_F(ProfileTest, AShrinkReturnsTheUnusedSlabs)
{
	test_cache cache(switched_size);

	profile_every(every_one);
	free_many(cache, alloc_many(cache, 1000));
	slab_cache_shrink(cache);
	EXPECT_EQ(stats_of(cache).debug_slabs, 0U);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0U);
}

TEST_F(ProfileTest, SampledAndOtherObjectsLiveSideBySide)
{
	constexpr std::size_t period = 4 * switched_size;
	test_cache cache(switched_size);

	profile_every(period);
	const std::vector<void *> objs = alloc_many(cache, 3000);
	std::size_t sampled = 0;

	EXPECT_TRUE(all_distinct(objs));
	for (std::size_t i = 0; i < objs.size(); i++) {
		sampled += is_profiled(objs[i]);
		fill(objs[i], switched_size, i);
	}
	expect_likely(sampled, objs.size(), chance_of(switched_size, period));
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0U);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], switched_size, i));
	free_many(cache, objs);
	EXPECT_EQ(samples_of(switched_size, period).inuse(), 0U);
}

TEST_F(ProfileTest, CachesCreatedMeanwhileAreCovered)
{
	profile_every(every_one);
	test_cache cache(switched_size);
	void *obj = slab_alloc(cache);

	EXPECT_TRUE(is_profiled(obj));
	slab_free(cache, obj);
}

/* --- threads --------------------------------------------------------------------------------- */

TEST_F(ProfileTest, SwitchingUnderLoadLosesNothing)
{
	constexpr std::size_t period = 2 * switched_size;
	test_cache cache(switched_size);
	std::atomic<bool> stop{false};
	std::vector<std::thread> threads;

	for (unsigned t = 0; t < 4; t++)
		threads.emplace_back([&, t] {
			std::vector<void *> held;

			for (unsigned i = 0; !stop || !held.empty(); i++) {
				if (!stop && held.size() < 64) {
					held.push_back(slab_alloc(cache));
					fill(held.back(), switched_size, t);
				}
				if (held.size() == 64 || stop) {
					EXPECT_TRUE(
						intact(held[i % held.size()], switched_size, t));
					slab_free(cache, held[i % held.size()]);
					held[i % held.size()] = held.back();
					held.pop_back();
				}
			}
		});
	for (int i = 0; i < 200; i++) {
		profile_every(i % 2 ? 0 : period);
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	stop = true;
	join_all(threads);
	profile_every(0);
	EXPECT_GT(samples_of(switched_size, period).allocated, 0U);
	EXPECT_EQ(samples_of(switched_size, period).inuse(), 0U);
	EXPECT_EQ(stats_of(cache).objects, 0U);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/*
 * How often the heap profile samples allocations. The chance of each is 1 - exp(-size / period), so
 * the estimates are unbiased. Bounds are five standard deviations (expect_likely()).
 */

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

/* Also by a thread whose threshold is of another period, so large that this test never reaches
 * it. */
TEST_F(ProfileTest, ObjectsThatAreFreedAndAllocatedAgainAreSampledLikeOthers)
{
	constexpr std::size_t n = 100000;

	for (std::size_t size : {344, 392}) {
		test_cache cache(size);

		if (size == 392) {
			profile_every(std::size_t{1} << 50);
			slab_free(cache, slab_alloc(cache));
		}
		profile_every(period);
		for (std::size_t i = 0; i < n; i++) {
			void *volatile obj = slab_alloc(cache);

			slab_free(cache, obj);
		}
		expect_likely(samples_of(size, period).allocated, n, chance_of(size, period));
		EXPECT_EQ(samples_of(size, period).inuse(), 0U);
	}
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

/* What the sites of the heap profile know of samples that are freed: the peak, and how long they
 * lived. */

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
	join_all(threads);
	for (const std::vector<void *> &mine : objs)
		free_many(cache, mine);
	EXPECT_EQ(at_peak(first_size), 4000U);
}

/* A sample stands for this number of bytes, and the peak is when these are most. */
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

/* --- lifetimes ------------------------------------------------------------------------------- */

/* Frees whose lifetimes are at least 1 << from microseconds. */
std::uint64_t lifetimes(std::size_t size, unsigned from = 0)
{
	return sum_of(size, [from](const struct profile_site &site) {
		std::uint64_t sum = 0;

		for (unsigned i = from; i < PROFILE_LIFETIMES; i++)
			sum += site.lifetime[i];
		return sum;
	});
}

std::uint64_t freed_here(std::size_t size)
{
	return sum_of(size, [](const struct profile_site &site) { return site.here; });
}

void wait_us(std::uint64_t us)
{
	const std::uint64_t end = clock_us() + us;

	while (clock_us() < end)
		std::this_thread::yield();
}

TEST_F(ProfileTest, AFreeAddsToTheLifetimes)
{
	constexpr unsigned shift = 13;
	test_cache cache(first_size);
	const std::uint64_t before = lifetimes(first_size),
			    long_before = lifetimes(first_size, shift);

	profile_every(every_one);
	void *obj = slab_alloc(cache);

	wait_us(1u << shift);
	EXPECT_EQ(lifetimes(first_size), before);
	slab_free(cache, obj);
	EXPECT_EQ(lifetimes(first_size, shift), long_before + 1);
	free_many(cache, alloc_many(cache, 1));
	EXPECT_EQ(lifetimes(first_size), before + 2);
}

TEST_F(ProfileTest, ALargeAllocationHasALifetime)
{
	constexpr std::size_t sizes[] = {300000, 30000000};

	profile_every(every_one);
	for (std::size_t size : sizes) {
		const std::uint64_t before = lifetimes(size);

		slab_mfree(slab_malloc(size));
		EXPECT_EQ(lifetimes(size), before + 1);
	}
}

TEST_F(ProfileTest, AnObjectLivesUntilItsGracePeriodEnds)
{
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;
	test_cache cache(first_size, 0, &args);
	const std::uint64_t before = lifetimes(first_size);

	profile_every(every_one);
	slab_free_rcu(cache, slab_alloc(cache));
	slab_rcu_barrier(cache);
	EXPECT_EQ(lifetimes(first_size), before + 1);
}

TEST_F(ProfileTest, FreesOfTheCpuThatAllocatedAreToldApart)
{
	if (allowed_cpus().size() < 2)
		GTEST_SKIP() << "one CPU";
	const on_one_cpu restores;
	test_cache cache(first_size);
	const std::uint64_t before = freed_here(first_size);

	profile_every(every_one);
	const std::vector<void *> objs = alloc_many(cache, 30);

	free_many(cache, {objs.begin(), objs.begin() + 10});
	EXPECT_EQ(freed_here(first_size), before + 10);
	pin(1);
	free_many(cache, {objs.begin() + 10, objs.end()});
	EXPECT_EQ(freed_here(first_size), before + 10);
}

} /* namespace */
