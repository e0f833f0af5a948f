/* SPDX-License-Identifier: MIT */
/* Switching the heap profile on and off: what is left of it, and threads that go on meanwhile. */
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

} /* namespace */
