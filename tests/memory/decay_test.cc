/* SPDX-License-Identifier: MIT */
/*
 * Memory that goes back to the operating system by time: what goes, and what stays.
 * The system is queried for what is resident.
 */
#include "../support/flavours.h"
#include "../support/passes.h"
#include "../support/shards.h"

namespace
{

/* --- what goes -------------------------------------------------------------------- */

TEST(DecayTest, FreeMemoryGoesAfterADecayTimeAndNotBefore)
{
	test_cache cache(object_size);
	const objects objs = allocate(cache, 20000);
	const std::size_t pages = resident(objs);

	ASSERT_GE(pages, 20000 / objects_per_page);
	free_all(cache, objs);
	run_passes(decay_epochs - 1);
	EXPECT_EQ(resident(objs), pages);
	run_passes(2);
	EXPECT_EQ(resident(objs), 0u);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

TEST(DecayTest, MemoryThatWentComesBackAsItIsNeeded)
{
	test_cache cache(object_size);

	for (unsigned round = 0; round < 3; round++) {
		const objects objs = allocate(cache, 5000);

		for (std::size_t i = 0; i < objs.size(); i++)
			ASSERT_TRUE(intact(objs[i], object_size, i));
		free_all(cache, objs);
		run_passes(enough_epochs);
		EXPECT_EQ(resident(objs), 0u);
	}
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST(DecayTest, CachedBytesOfTheProcessAreWhatIsResident)
{
	test_cache cache(object_size);
	struct slab_process_stats stats = {};

	free_all(cache, allocate(cache, 20000));
	cache_drain(cache, nullptr, nullptr);
	cache_release(cache, 0);
	stats.struct_size = sizeof(stats);
	ASSERT_EQ(slab_process_stats(&stats), 0);
	EXPECT_GT(stats.cached_bytes, 0u);
	run_passes(enough_epochs);
	ASSERT_EQ(slab_process_stats(&stats), 0);
	EXPECT_EQ(stats.cached_bytes, 0u);
}

/* What slab_malloc() serves from is like any other cache. */
TEST(DecayTest, MemoryBySizeGoes)
{
	objects objs;

	for (unsigned i = 0; i < 2000; i++) {
		objs.push_back(slab_malloc(1000));
		std::memset(objs.back(), 1, 1000);
	}
	for (void *obj : objs)
		slab_mfree(obj);
	run_passes(enough_epochs);
	EXPECT_EQ(resident(objs), 0u);
}

/* A thread that frees and then does nothing: only a pass takes what its CPU holds. */
TEST(DecayTest, WhatAnIdleCpuHoldsGoes)
{
	test_cache cache(object_size);
	objects objs;

	std::thread([&] {
		pin(1);
		objs = allocate(cache, 100);
		free_all(cache, objs);
	}).join();
	ASSERT_GT(stats_of(cache).cpu_objects, 0u);
	run_passes(enough_epochs);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
	EXPECT_EQ(resident(objs), 0u);
}

/* They have emptied all arrays. A free takes the slow path, also if the array has a limit: a free
 * set it, and an allocation emptied the array. */
TEST(DecayTest, AFreeAfterThePassesEndedWakesThem)
{
	for (bool has_limit : {false, true}) {
		test_cache cache(object_size);

		pin(0);
		objects objs = allocate(cache, 8);
		if (has_limit)
			slab_cache_shrink(cache);
		slab_free(cache, objs.back());
		objs.pop_back();
		if (has_limit)
			objs.push_back(slab_alloc(cache));
		ASSERT_LT(run_all_passes(), 1000u);
		ASSERT_TRUE(decay_is_asleep());
		free_all(cache, objs);
		EXPECT_FALSE(decay_is_asleep());
		run_all_passes();
		EXPECT_EQ(stats_of(cache).slabs, 0u);
		unpin();
	}
}

/* What a CPU has kept since a peak, in a cache that is never idle. */
TEST(DecayTest, WhatABusyCacheDoesNotNeedGoes)
{
	test_cache cache(object_size);
	const objects peak = allocate(cache, 20000);
	objects live, dead;

	for (std::size_t i = 0; i < peak.size(); i++)
		(i % (16 * objects_per_page) == 0 ? live : dead).push_back(peak[i]);
	free_all(cache, dead);
	for (unsigned i = 0; i < 3 * decay_epochs; i++) {
		const objects work = allocate(cache, 100 + i);

		free_all(cache, work);
		run_pass();
	}
	EXPECT_LT(resident(dead), peak.size() / objects_per_page / 4);
	free_all(cache, live);
}

TEST(DecayTest, MinPartialSlabsGoToo)
{
	test_cache cache(object_size);
	const objects objs = allocate(cache, 1000);

	ASSERT_EQ(slab_stat_write(cache, "min_partial", 1000), 0);
	free_all(cache, objs);
	cache_drain(cache, nullptr, nullptr);
	ASSERT_GT(stats_of(cache).empty, 0u);
	run_passes(enough_epochs);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
	EXPECT_EQ(resident(objs), 0u);
}

/* --- what stays ----------------------------------------------------------------------- */

TEST(DecayTest, MemoryThatIsUsedInTurnsStays)
{
	test_cache cache(object_size);

	one_order(cache);
	const objects first = allocate(cache, 2000);

	free_all(cache, first);
	for (unsigned i = 0; i < 3 * decay_epochs; i++) {
		run_pass();
		EXPECT_GE(resident(first), first.size() / objects_per_page * 9 / 10) << i;
		free_all(cache, allocate(cache, 2000));
	}
}

TEST(DecayTest, SlabsInUseLoseThePagesWithoutObjects)
{
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	run_passes(enough_epochs);
	EXPECT_EQ(resident(s.live), pages_of(s.live).size());
	EXPECT_EQ(resident(s.dead), s.mixed_pages()) << "only pages of live objects";
	for (std::size_t i = 0; i < s.live.size(); i++)
		EXPECT_TRUE(intact(s.live[i], object_size, i * 10 * objects_per_page));
	free_all(cache, s.live);
}

/* Slabs of 64 KiB have few of them, so that some slabs go as a whole. */
#define SKIP_WITH_LARGE_PAGES()                                                                    \
	if (page > 4096)                                                                           \
	GTEST_SKIP() << "for slabs of many pages"

TEST(DecayTest, StatisticsShowWhatSlabsInUseHold)
{
	SKIP_WITH_LARGE_PAGES();
	test_cache cache(object_size);
	one_order(cache);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	EXPECT_GE(populated_bytes(cache), 20000 * object_size);
	run_passes(enough_epochs);
	EXPECT_EQ(populated_bytes(cache), pages_of(s.live).size() * page);
	EXPECT_EQ(stats_of(cache).objects, s.live.size());
	free_all(cache, s.live);
}

/* The pages of objects that are made later are populated in batches, from `populated` on. */
TEST(DecayTest, PagesBehindTheLastObjectThatWasMadeAreForgotten)
{
	SKIP_WITH_LARGE_PAGES();
	test_cache cache(object_size);
	void *obj = slab_alloc(cache);
	struct slab *slab = slab_of(obj);

	slab_populate(slab, slab_bytes(slab));
	slab_cache_shrink(cache);
	EXPECT_GT(slab_trim(), 0u);
	EXPECT_EQ(slab->populated, os_pages(slab->initialized * object_size));
	EXPECT_EQ(slab_held(slab), page); /* what the object lies on */
	slab_free(cache, obj);
}

TEST(DecayTest, PagesThatWentServeAgain)
{
	SKIP_WITH_LARGE_PAGES();
	const on_one_cpu here;
	test_cache cache(object_size);
	survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	const unsigned long slabs = stats_of(cache).slabs;

	run_passes(enough_epochs);
	const objects again = allocate(cache, s.dead.size());

	EXPECT_LE(stats_of(cache).slabs, slabs) << "from the same slabs";
	EXPECT_EQ(std::set<void *>(again.begin(), again.end()).size(), again.size());
	for (std::size_t i = 0; i < again.size(); i++)
		EXPECT_TRUE(intact(again[i], object_size, i));
	for (std::size_t i = 0; i < s.live.size(); i++)
		EXPECT_TRUE(intact(s.live[i], object_size, i * 10 * objects_per_page));
	free_all(cache, again);
	free_all(cache, s.live);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST(DecayTest, PagesThatServedAgainGoAgain)
{
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	for (unsigned round = 0; round < 2; round++) {
		run_passes(enough_epochs);
		EXPECT_EQ(resident(s.dead), s.mixed_pages()) << round;
		free_all(cache, allocate(cache, s.dead.size()));
	}
	free_all(cache, s.live);
}

/* The pages of objects that are freed into a purged slab are returned as well, later, whichever
 * call collects it. */
TEST(DecayTest, APurgedSlabIsLookedAtAgainWhenSomethingIsFreedIntoIt)
{
	for (bool validates : {false, true}) {
		test_cache cache(object_size);
		survivors s = thin_out(cache, 20000, 10 * objects_per_page);

		run_all_passes();
		ASSERT_EQ(resident(s.live), pages_of(s.live).size());
		while (s.live.size() > 10) {
			slab_free(cache, s.live.back());
			s.dead.push_back(s.live.back());
			s.live.pop_back();
		}
		ASSERT_EQ(validates ? slab_cache_validate(cache) : 0, 0);
		run_all_passes();
		EXPECT_EQ(resident(s.dead), s.mixed_pages());
		EXPECT_EQ(populated_bytes(cache), pages_of(s.live).size() * page);
		free_all(cache, s.live);
	}
}

TEST(DecayTest, ConstructedObjectsStayConstructed)
{
	static unsigned long made, destroyed;
	struct slab_cache_args args = {};

	made = destroyed = 0;
	args.ctor = [](void *obj, void *) {
		made++;
		fill(obj, object_size, 42);
		return 0;
	};
	args.dtor = [](void *obj, void *) { destroyed += intact(obj, object_size, 42); };
	test_cache cache(object_size, 0, &args);
	objects live, all;

	one_order(cache);
	for (unsigned i = 0; i < 20000; i++) {
		all.push_back(slab_alloc(cache));
		if (i % 1000 == 0)
			live.push_back(all.back());
	}
	const unsigned long slabs = stats_of(cache).slabs;

	for (unsigned i = 0; i < all.size(); i++)
		if (i % 1000)
			slab_free(cache, all[i]);
	run_all_passes();
	/* Empty slabs went, with every object destroyed. */
	EXPECT_LT(stats_of(cache).slabs, slabs / 2);
	EXPECT_GT(destroyed, 0u);
	EXPECT_EQ(destroyed, made - stats_of(cache).slabs * stats_of(cache).objects_per_slab);
	/* In the others nothing was touched. */
	EXPECT_EQ(populated_bytes(cache),
		  stats_of(cache).slabs * (stats_of(cache).objects_per_slab * object_size));
	for (unsigned i = 0; i < 2000; i++) {
		void *obj = slab_alloc(cache);

		EXPECT_TRUE(intact(obj, object_size, 42));
		live.push_back(obj);
	}
	free_all(cache, live);
	run_all_passes();
	EXPECT_EQ(destroyed, made);
	EXPECT_EQ(resident(all), 0u);
}

TEST(DecayTest, TypeSafeSlabsGoAfterAGracePeriodAndInOnePiece)
{
	SKIP_WITH_LARGE_PAGES();
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;
	test_cache cache(object_size, SLAB_TYPESAFE_BY_RCU, &args);

	one_order(cache);
	urcu_bp_flavor.read_lock();
	const survivors s = thin_out(cache, 20000, 2000);

	run_passes(enough_epochs);
	EXPECT_EQ(resident(s.dead), pages_of(s.dead).size()) << "a reader may look";
	urcu_bp_flavor.read_unlock();
	slab_rcu_barrier(cache);
	run_passes(enough_epochs);
	for (void *obj : s.live) {
		const struct slab *slab = slab_of(obj);

		EXPECT_EQ(resident_pages(slab->base, slab_bytes(slab)),
			  slab_bytes(slab) / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
	}
	EXPECT_LE(resident(s.dead), s.live.size() * (slab_bytes(slab_of(s.live[0])) / page));
	free_all(cache, s.live);
}

/* Objects that wait for their grace period may have readers. */
TEST(DecayTest, ObjectsThatWaitForAGracePeriodKeepTheirContents)
{
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;
	test_cache cache(object_size, 0, &args);
	const objects objs = allocate(cache, 2000);

	urcu_bp_flavor.read_lock();
	for (std::size_t i = 0; i < objs.size(); i++)
		if (i % 100)
			slab_free_rcu(cache, objs[i]);
		else
			slab_free(cache, objs[i]);
	run_passes(enough_epochs);
	for (std::size_t i = 0; i < objs.size(); i++) {
		if (i % 100) {
			EXPECT_TRUE(intact(objs[i], object_size, i));
		}
	}
	urcu_bp_flavor.read_unlock();
	slab_rcu_barrier(cache);
	run_all_passes();
	EXPECT_EQ(resident(objs), 0u);
}

TEST(DecayTest, MemoryThatIsLockedStaysAndIsTriedNoMoreThanOnceInADecayTime)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "sanitizers keep mlock() from doing anything";
	test_cache cache(object_size);
	const objects objs = allocate(cache, 128);
	std::map<char *, std::size_t> slabs;

	for (void *obj : objs)
		slabs[slab_of(obj)->base] = slab_bytes(slab_of(obj));
	for (const auto &[base, bytes] : slabs)
		if (mlock(base, bytes) != 0)
			GTEST_SKIP() << "mlock() is not allowed here";
	free_all(cache, objs);
	EXPECT_LT(run_all_passes(), 100u);
	EXPECT_EQ(resident(objs), objs.size() / objects_per_page);
	slab_trim();
	EXPECT_EQ(resident(objs), objs.size() / objects_per_page);
	for (const auto &[base, bytes] : slabs)
		munlock(base, bytes);
	slab_trim();
	EXPECT_EQ(resident(objs), 0u);
}

TEST(DecayTest, ZeroedObjectsAreZeroOnPagesThatWent)
{
	if (!in_environment({"SLAB_ZERO=free"}))
		return;
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 5000, 10 * objects_per_page);
	objects again;

	run_passes(enough_epochs);
	for (std::size_t i = 0; i < s.dead.size(); i++) {
		again.push_back(slab_alloc(cache));
		ASSERT_TRUE(all_bytes(again.back(), object_size, 0));
	}
	free_all(cache, again);
	free_all(cache, s.live);
}

} /* namespace */
