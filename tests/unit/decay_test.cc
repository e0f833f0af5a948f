/* SPDX-License-Identifier: MIT */
/*
 * Memory that goes back to the operating system by time, or at once: what goes, what
 * stays, and when nothing is done at all. What is resident is asked of the system.
 */
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/rcu.h>

#include <urcu/flavor.h>

#include "../support/objects.h"
#include "../support/passes.h"
#include "../support/process.h"

extern "C" {
#include "options.h"
extern const struct rcu_flavor_struct urcu_bp_flavor;
}

using namespace slab_test;

namespace
{

constexpr std::size_t page = 4096;
constexpr std::size_t object_size = 512;
constexpr std::size_t objects_per_page = page / object_size;

using objects = std::vector<void *>;

objects allocate(struct slab_cache *cache, std::size_t n, std::size_t size = object_size)
{
	objects objs;

	for (std::size_t i = 0; i < n; i++) {
		objs.push_back(slab_alloc(cache));
		fill(objs.back(), size, i);
	}
	return objs;
}

void free_all(struct slab_cache *cache, const objects &objs)
{
	for (void *obj : objs)
		slab_free(cache, obj);
}

/* Pages of these objects that hold memory. */
std::size_t resident(const objects &objs)
{
	std::set<std::uintptr_t> pages;
	std::size_t n = 0;

	for (void *obj : objs)
		pages.insert(reinterpret_cast<std::uintptr_t>(obj) & ~(page - 1));
	for (std::uintptr_t at : pages)
		n += resident_pages(reinterpret_cast<void *>(at), page);
	return n;
}

/* Is the given promise one of this process's environment? Else run it there. */
bool in_environment(const std::vector<std::string> &settings)
{
	if (running_again())
		return true;
	const second_run run = run_again(settings);

	EXPECT_EQ(run.failure, "") << run.output;
	return false;
}

/* --- the rules ----------------------------------------------------------------- */

TEST(DecayRuleTest, HugePagesThatAreMostlyInUseAreNotBrokenUp)
{
	const std::size_t huge = std::size_t{2} << 20;

	EXPECT_TRUE(decay_breaks_up(0, huge));
	EXPECT_TRUE(decay_breaks_up(huge / 2, huge));
	EXPECT_FALSE(decay_breaks_up(huge / 2 + 1, huge));
	EXPECT_FALSE(decay_breaks_up(huge, huge));
}

TEST(DecayRuleTest, WhatIsIdleForADecayTimeIsRipe)
{
	EXPECT_FALSE(decay_is_ripe(7, 7));
	EXPECT_FALSE(decay_is_ripe(7, 7 + DECAY_TURNS - 1));
	EXPECT_TRUE(decay_is_ripe(7, 7 + DECAY_TURNS));
	/* Freed since the last pass: the next one is the first to see it. */
	EXPECT_FALSE(decay_is_ripe(8, 7));
	EXPECT_TRUE(decay_is_ripe(UINT32_MAX - 1, DECAY_TURNS - 1));
	EXPECT_FALSE(decay_is_ripe(UINT32_MAX - 1, 1));
}

/* A slab of 100-byte objects of which none but these are in use. */
std::set<unsigned> used_pages(const std::set<unsigned> &used_objects, unsigned carved)
{
	static struct slab slab;
	std::uint64_t map[SLAB_MAP_WORDS], used[2];
	std::set<unsigned> pages;

	std::memset(map, 0xff, sizeof(map));
	for (unsigned i : used_objects)
		map[i / 64] &= ~(UINT64_C(1) << i % 64);
	slab.cpu.size8 = 104 / 8;
	slab.carved = static_cast<std::uint16_t>(carved);
	decay_used_pages(&slab, map, used);
	for (unsigned i = 0; i < 128; i++)
		if (used[i / 64] >> i % 64 & 1)
			pages.insert(i);
	return pages;
}

TEST(DecayRuleTest, APageIsInUseWhereAnObjectBeginsGoesOnOrEnds)
{
	EXPECT_EQ(used_pages({}, 600), std::set<unsigned>());
	EXPECT_EQ(used_pages({0}, 600), std::set<unsigned>({0}));
	EXPECT_EQ(used_pages({38}, 600), std::set<unsigned>({0})); /* 3952 … 4055 */
	EXPECT_EQ(used_pages({39}, 600), std::set<unsigned>({0, 1})); /* 4056 … 4159 */
	EXPECT_EQ(used_pages({40, 599}, 600), std::set<unsigned>({1, 15}));
	/* Page 65: beyond the first word. */
	EXPECT_EQ(used_pages({2570}, 5000), std::set<unsigned>({65}));
}

TEST(DecayRuleTest, ObjectsThatWereNeverMadeAreNotInUse)
{
	EXPECT_EQ(used_pages({500}, 500), std::set<unsigned>());
	EXPECT_EQ(used_pages({500}, 501), std::set<unsigned>({12}));
}

/* Slabs of one huge page, with so many of them in use. */
TEST(DecayRuleTest, AHugePageIsJudgedByAllItsSlabs)
{
	constexpr std::size_t huge = std::size_t{2} << 20;
	test_cache cache(object_size);
	const objects objs = allocate(cache, 3 * SEGMENT_SIZE / object_size);
	std::set<const struct slab *> full, halved;

	/* The last two MiB of a segment: they are used, to the last object. */
	for (void *obj : objs) {
		const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(obj);

		if (at % SEGMENT_SIZE >= huge)
			full.insert(slab_of(obj));
	}
	std::set<std::uintptr_t> ranges;
	for (const struct slab *slab : full)
		ranges.insert(reinterpret_cast<std::uintptr_t>(slab->cpu.base) & ~(huge - 1));
	const std::uintptr_t range = *ranges.rbegin();
	objects kept;
	unsigned in_range = 0;

	for (void *obj : objs) {
		const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(obj);

		if ((at & ~(huge - 1)) != range)
			kept.push_back(obj);
		else if (++in_range <= huge / object_size / 2 + 64)
			kept.push_back(obj);
		else
			slab_free(cache, obj);
	}
	ASSERT_EQ(in_range, huge / object_size) << "a whole huge page";
	const struct slab *slab = slab_of(reinterpret_cast<void *>(range));

	cache_flush(cache);
	EXPECT_TRUE(decay_would_waste(slab));
	objects left;
	unsigned freed = 0;
	for (void *obj : kept) {
		const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(obj);

		if ((at & ~(huge - 1)) == range && freed < 128) {
			slab_free(cache, obj);
			freed++;
		} else {
			left.push_back(obj);
		}
	}
	cache_flush(cache);
	EXPECT_FALSE(decay_would_waste(slab));
	free_all(cache, left);
}

/* The first pages of a segment are inaccessible: there is no huge page. */
TEST(DecayRuleTest, ASegmentsHeadIsInNoHugePage)
{
	test_cache cache(object_size);
	const objects objs = allocate(cache, 2 * SEGMENT_SIZE / object_size);
	unsigned heads = 0;

	for (void *obj : objs) {
		if (reinterpret_cast<std::uintptr_t>(obj) % SEGMENT_SIZE >= SEGMENT_SIZE / 2)
			continue;
		EXPECT_FALSE(decay_would_waste(slab_of(obj)));
		heads++;
	}
	EXPECT_GT(heads, 0u);
	free_all(cache, objs);
}

/* --- what goes -------------------------------------------------------------------- */

TEST(DecayTest, FreeMemoryGoesAfterADecayTimeAndNotBefore)
{
	test_cache cache(object_size);
	const objects objs = allocate(cache, 20000);
	const std::size_t pages = resident(objs);

	ASSERT_GE(pages, 20000 / objects_per_page);
	free_all(cache, objs);
	run_passes(decay_turns - 1);
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
		run_passes(enough_turns);
		EXPECT_EQ(resident(objs), 0u);
	}
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST(DecayTest, CachedBytesOfTheProcessAreWhatIsResident)
{
	test_cache cache(object_size);
	struct slab_process_stats stats = {};

	free_all(cache, allocate(cache, 20000));
	stats.struct_size = sizeof(stats);
	ASSERT_EQ(slab_process_stats(&stats), 0);
	EXPECT_GT(stats.cached_bytes, 0u);
	run_passes(enough_turns);
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
	run_passes(enough_turns);
	EXPECT_EQ(resident(objs), 0u);
}

/* A thread that frees and then does nothing: nobody takes its CPU's slabs but a pass. */
TEST(DecayTest, WhatAnIdleCpuHoldsGoes)
{
	test_cache cache(object_size);
	objects objs;

	std::thread([&] {
		pin(1);
		objs = allocate(cache, 100);
		free_all(cache, objs);
	}).join();
	ASSERT_GT(stats_of(cache).cpu_slabs, 0u);
	run_passes(enough_turns);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
	EXPECT_EQ(resident(objs), 0u);
}

/* Slabs that a CPU has kept since a peak, in a cache that is never idle. */
TEST(DecayTest, WhatABusyCacheDoesNotNeedGoes)
{
	test_cache cache(object_size);
	const objects peak = allocate(cache, 20000);
	objects live, dead;

	for (std::size_t i = 0; i < peak.size(); i++)
		(i % 128 == 0 ? live : dead).push_back(peak[i]);
	free_all(cache, dead);
	for (unsigned i = 0; i < 3 * decay_turns; i++) {
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
	cache_flush(cache);
	ASSERT_GT(stats_of(cache).partial, 0u);
	run_passes(enough_turns);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
	EXPECT_EQ(resident(objs), 0u);
}

/* --- what stays ----------------------------------------------------------------------- */

TEST(DecayTest, MemoryThatIsUsedInTurnsStays)
{
	test_cache cache(object_size);
	const objects first = allocate(cache, 2000);

	free_all(cache, first);
	for (unsigned i = 0; i < 3 * decay_turns; i++) {
		run_pass();
		const objects again = allocate(cache, 2000);

		EXPECT_GE(resident(first), first.size() / objects_per_page * 9 / 10) << i;
		free_all(cache, again);
	}
}

/* One object in each of `step`. */
struct survivors {
	objects live, dead;
};

survivors thin_out(struct slab_cache *cache, std::size_t n, std::size_t step)
{
	survivors result;

	for (std::size_t i = 0; i < n; i++) {
		void *obj = slab_alloc(cache);

		fill(obj, object_size, i);
		(i % step == 0 ? result.live : result.dead).push_back(obj);
	}
	free_all(cache, result.dead);
	return result;
}

TEST(DecayTest, SlabsInUseLoseThePagesWithoutObjects)
{
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	run_passes(enough_turns);
	EXPECT_EQ(resident(s.live), s.live.size()) << "each on a page of its own";
	EXPECT_EQ(resident(s.dead), s.live.size()) << "only pages of live objects";
	for (std::size_t i = 0; i < s.live.size(); i++)
		EXPECT_TRUE(intact(s.live[i], object_size, i * 10 * objects_per_page));
	free_all(cache, s.live);
}

TEST(DecayTest, StatisticsTellWhatSlabsInUseHold)
{
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	EXPECT_GE(stats_of(cache).populated, 20000 * object_size);
	run_passes(enough_turns);
	EXPECT_EQ(stats_of(cache).populated, s.live.size() * page);
	EXPECT_EQ(stats_of(cache).objects, s.live.size());
	free_all(cache, s.live);
}

TEST(DecayTest, PagesThatWentServeAgain)
{
	test_cache cache(object_size);
	survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	const unsigned long slabs = stats_of(cache).slabs;

	run_passes(enough_turns);
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

/* The first objects that are allocated need no page fault. */
TEST(DecayTest, ObjectsOnPagesThatStayedComeFirst)
{
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 4000, 2 * objects_per_page);

	run_passes(enough_turns);
	const unsigned per_slab = stats_of(cache).objects_per_slab;
	objects some;

	for (unsigned i = 0; i < per_slab / 4; i++)
		some.push_back(slab_alloc(cache));
	EXPECT_EQ(resident(some),
		  std::set<std::uintptr_t>([&] {
			  std::set<std::uintptr_t> pages;
			  for (void *obj : some)
				  pages.insert(reinterpret_cast<std::uintptr_t>(obj) / page);
			  return pages;
		  }())
			  .size());
	free_all(cache, some);
	free_all(cache, s.live);
}

/* What is freed into a slab that has settled goes as well, in its turn. */
TEST(DecayTest, ASettledSlabIsLookedAtAgainWhenSomethingIsFreedIntoIt)
{
	test_cache cache(object_size);
	survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	run_all_passes();
	ASSERT_EQ(resident(s.live), s.live.size());
	while (s.live.size() > 10) {
		slab_free(cache, s.live.back());
		s.dead.push_back(s.live.back());
		s.live.pop_back();
	}
	run_all_passes();
	EXPECT_EQ(resident(s.dead), s.live.size());
	EXPECT_EQ(stats_of(cache).populated, s.live.size() * page);
	free_all(cache, s.live);
}

/* … whoever collects it. */
TEST(DecayTest, ASettledSlabIsLookedAtAgainAfterAValidation)
{
	test_cache cache(object_size);
	survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	run_all_passes();
	while (s.live.size() > 10) {
		slab_free(cache, s.live.back());
		s.dead.push_back(s.live.back());
		s.live.pop_back();
	}
	ASSERT_EQ(slab_cache_validate(cache), 0);
	run_all_passes();
	EXPECT_EQ(resident(s.dead), s.live.size());
	free_all(cache, s.live);
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
	test_cache cache(object_size, SLAB_NO_MERGE, &args);
	objects live, all;

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
	EXPECT_EQ(stats_of(cache).populated,
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
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;
	test_cache cache(object_size, SLAB_NO_MERGE | SLAB_TYPESAFE_BY_RCU, &args);
	survivors s = thin_out(cache, 20000, 2000);

	urcu_bp_flavor.read_lock();
	run_passes(enough_turns);
	EXPECT_EQ(resident(s.dead), 20000 / objects_per_page) << "a reader may look";
	urcu_bp_flavor.read_unlock();
	slab_rcu_barrier(cache);
	run_passes(enough_turns);
	for (void *obj : s.live) {
		const struct slab *slab = slab_of(obj);

		EXPECT_EQ(resident_pages(slab->cpu.base, slab_bytes(slab)),
			  slab_bytes(slab) / page);
	}
	EXPECT_LE(resident(s.dead), s.live.size() * (slab_bytes(slab_of(s.live[0])) / page));
	free_all(cache, s.live);
}

/* Objects that wait for their grace period are somebody's. */
TEST(DecayTest, ObjectsThatWaitForAGracePeriodKeepTheirContents)
{
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;
	test_cache cache(object_size, SLAB_NO_MERGE, &args);
	const objects objs = allocate(cache, 2000);

	urcu_bp_flavor.read_lock();
	for (std::size_t i = 0; i < objs.size(); i++)
		if (i % 100)
			slab_free_rcu(cache, objs[i]);
		else
			slab_free(cache, objs[i]);
	run_passes(enough_turns);
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
	test_cache cache(object_size);
	const objects objs = allocate(cache, 128);
	std::set<struct slab *> slabs;

	for (void *obj : objs)
		slabs.insert(slab_of(obj));
	for (struct slab *slab : slabs)
		if (mlock(slab->cpu.base, slab_bytes(slab)) != 0)
			GTEST_SKIP() << "mlock() is not allowed here";
	free_all(cache, objs);
	EXPECT_LT(run_all_passes(), 100u);
	EXPECT_EQ(resident(objs), objs.size() / objects_per_page);
	slab_trim();
	EXPECT_EQ(resident(objs), objs.size() / objects_per_page);
	for (struct slab *slab : slabs)
		munlock(slab->cpu.base, slab_bytes(slab));
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

	run_passes(enough_turns);
	for (std::size_t i = 0; i < s.dead.size(); i++) {
		again.push_back(slab_alloc(cache));
		ASSERT_TRUE(all_bytes(again.back(), object_size, 0));
	}
	free_all(cache, again);
	free_all(cache, s.live);
}

/* --- when ------------------------------------------------------------------------------ */

TEST(DecayTest, PassesEndWhenNothingIsLeftToDo)
{
	test_cache cache(object_size);
	const objects objs = allocate(cache, 100);

	EXPECT_LT(run_all_passes(), 100u);
	EXPECT_EQ(decay_period(), 0);
	EXPECT_EQ(slab_maintain(), -1);
	const std::uint32_t turn = decay_turn();

	run_passes(10);
	EXPECT_EQ(decay_turn(), turn);
	free_all(cache, objs);
	EXPECT_GE(slab_maintain(), 0) << "something was freed";
	EXPECT_GT(decay_period(), 0);
	EXPECT_LT(run_all_passes(), 100u);
	EXPECT_EQ(resident(objs), 0u);
}

/* Whatever path objects are freed by, passes begin again. */
TEST(DecayTest, EachWayToFreeStartsPassesAgain)
{
	test_cache cache(object_size);
	const std::vector<std::function<void(objects &)>> ways = {
		[&](objects &objs) { free_all(cache, objs); },
		[&](objects &objs) { slab_free_bulk(cache, objs.size(), objs.data()); },
		[&](objects &objs) { std::thread([&] { free_all(cache, objs); }).join(); },
		/* Fewer than a batch, of a slab that nobody owns. */
		[&](objects &objs) {
			for (unsigned i = 0; i < 3; i++, objs.pop_back())
				slab_free(cache, objs.back());
			objects rest(objs);
			EXPECT_GE(slab_maintain(), 0);
			free_all(cache, rest);
		},
	};

	for (std::size_t way = 0; way < ways.size(); way++) {
		objects objs = allocate(cache, 300);

		run_all_passes();
		ASSERT_EQ(slab_maintain(), -1);
		const objects seen = objs;

		ways[way](objs);
		EXPECT_GE(slab_maintain(), 0) << way;
		run_all_passes();
		EXPECT_EQ(resident(seen), 0u) << way;
	}
}

TEST(DecayTest, MaintenanceSaysWhenItWantsToBeCalled)
{
	test_cache cache(object_size);

	slab_free(cache, slab_alloc(cache));
	EXPECT_GT(slab_maintain(), 0);
	EXPECT_LE(slab_maintain(), slab_options()->decay_ms);
}

/* Passes are as many as there was time for, not as there were calls. */
TEST(DecayTest, CallsInBetweenDoNothing)
{
	test_cache cache(object_size);

	free_all(cache, allocate(cache, 1000));
	run_pass();
	const std::uint32_t turn = decay_turn();

	for (unsigned i = 0; i < 1000; i++)
		slab_maintain();
	EXPECT_EQ(decay_turn(), turn);
}

TEST(DecayTest, NeverIsNever)
{
	if (!in_environment({"SLAB_DECAY_MS=never"}))
		return;
	test_cache cache(object_size);
	const objects objs = allocate(cache, 20000);
	const std::size_t pages = resident(objs);

	free_all(cache, objs);
	EXPECT_EQ(slab_maintain(), -1);
	run_passes(3 * decay_turns);
	EXPECT_EQ(resident(objs), pages);
	EXPECT_EQ(decay_turn(), 0u);
	EXPECT_GE(slab_trim(), pages * page);
	EXPECT_EQ(resident(objs), 0u);
}

TEST(DecayTest, ZeroIsAtOnce)
{
	if (!in_environment({"SLAB_DECAY_MS=0"}))
		return;
	test_cache cache(object_size);
	const objects objs = allocate(cache, 20000);
	struct slab_process_stats stats = {};

	free_all(cache, objs);
	stats.struct_size = sizeof(stats);
	ASSERT_EQ(slab_process_stats(&stats), 0);
	EXPECT_EQ(stats.cached_bytes, 0u) << "no free slab holds memory";
	EXPECT_LT(resident(objs), objs.size() / objects_per_page / 2);
	run_passes(enough_turns);
	EXPECT_EQ(resident(objs), 0u);
}

/* --- by itself ------------------------------------------------------------------------- */

/* Wake-ups of the control thread so far. */
unsigned long wakeups()
{
	for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
		std::ifstream comm(task.path() / "comm"), status(task.path() / "status");
		std::string line;

		std::getline(comm, line);
		if (line != "slab-control")
			continue;
		while (std::getline(status, line))
			if (line.rfind("voluntary_ctxt_switches:", 0) == 0)
				return std::stoul(line.substr(line.find(':') + 1));
	}
	ADD_FAILURE() << "there is no control thread";
	return 0;
}

std::vector<std::string> with_thread()
{
	static const std::string dir = [] {
		char name[] = "/tmp/decay-XXXXXX";
		return std::string(mkdtemp(name) ? name : "");
	}();

	return {"SLAB_CONTROL=on", "SLAB_DECAY_MS=40", "SLAB_RUNTIME_DIR=" + dir};
}

/* Until the alarm of the second run. */
void wait_until(const std::function<bool()> &is_so)
{
	while (!is_so())
		usleep(5000);
}

TEST(DecayTest, AProcessWithAControlThreadShrinksUntouched)
{
	if (!in_environment(with_thread()))
		return;
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	wait_until([&] { return resident(s.dead) == s.live.size(); });
	free_all(cache, s.live);
	wait_until([&] { return resident(s.dead) == 0; });
	EXPECT_EQ(resident(s.live), 0u);
}

TEST(DecayTest, AnIdleProcessIsNotWoken)
{
	if (!in_environment(with_thread()))
		return;
	test_cache cache(object_size);

	for (unsigned round = 0; round < 3; round++) {
		const objects objs = allocate(cache, 2000);

		free_all(cache, objs);
		wait_until([] { return decay_period() == 0; });
		EXPECT_EQ(resident(objs), 0u);
		usleep(50000); /* the last timer runs out */
		const unsigned long before = wakeups();

		usleep(300000);
		EXPECT_EQ(wakeups(), before);
	}
}

/* --- at once ---------------------------------------------------------------------------- */

TEST(TrimTest, EverythingThatNobodyUsesGoesAtOnce)
{
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);
	const std::size_t gone = 20000 / objects_per_page - s.live.size();

	EXPECT_GE(slab_trim(), gone * page);
	EXPECT_EQ(resident(s.dead), s.live.size());
	EXPECT_EQ(slab_trim(), 0u) << "nothing is left to give";
	for (std::size_t i = 0; i < s.live.size(); i++)
		EXPECT_TRUE(intact(s.live[i], object_size, i * 10 * objects_per_page));
	free_all(cache, s.live);
	EXPECT_GE(slab_trim(), s.live.size() * page);
	EXPECT_EQ(resident(s.live), 0u);
}

TEST(TrimTest, WhatItReturnsIsWhatTheProcessLost)
{
	test_cache cache(object_size);

	slab_trim();
	free_all(cache, allocate(cache, 100000));
	const std::size_t before = resident_memory();
	const std::size_t bytes = slab_trim();
	const std::size_t after = resident_memory();

	EXPECT_GE(bytes, 100000 * object_size);
	if (!under_asan && !under_tsan) {
		EXPECT_NEAR(static_cast<double>(before - after), static_cast<double>(bytes),
			    static_cast<double>(bytes) / 50);
	}
}

TEST(TrimTest, ACacheIsAsGoodAsNewAfterIt)
{
	test_cache cache(object_size);

	for (unsigned round = 0; round < 5; round++) {
		const survivors s = thin_out(cache, 5000, 7);

		slab_trim();
		const objects again = allocate(cache, s.dead.size());

		EXPECT_EQ(slab_cache_validate(cache), 0);
		free_all(cache, again);
		free_all(cache, s.live);
	}
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

} /* namespace */
