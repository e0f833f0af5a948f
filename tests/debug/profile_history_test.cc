/* SPDX-License-Identifier: MIT */
/* What the sites of the heap profile know of samples that are freed: the peak, and how long they lived. */
#include <urcu-bp.h>

#include "../support/cpus.h"
#include "../support/objects.h"
#include "../support/profiled.h"

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
	join_all(threads);
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
