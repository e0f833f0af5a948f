/* SPDX-License-Identifier: MIT */
/*
 * Forks under the scheduler. A child lacks what other threads of its parent moved: a batch for
 * each of them. Everything else works there.
 */
#include "forks.h"
#include "movers.h"
#include "rcu_table.h"

namespace
{

class ForkScheduleTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_asan || under_tsan)
			GTEST_SKIP() << "sanitizers do not fork among threads";
	}
};

/* Forks at some mark, at best while others hold locks. */
std::function<void()> forks(const std::function<int()> &act,
			    const std::function<bool()> &held = schedule_others_hold)
{
	return [act, held] {
		for (unsigned i = schedule_random(80); i; i--)
			schedule_point();
		for (unsigned i = 0; i < 100 && !(held() && schedule_random(4) == 0); i++)
			schedule_yield();
		forks_now(act)();
	};
}

/* All that a child may do with a cache. */
int works(struct slab_cache *cache, std::size_t in_use, std::uint64_t lost_most)
{
	std::vector<void *> objs;

	for (int i = 0; i < 100; i++)
		objs.push_back(slab_alloc(cache));
	if (!all_distinct(objs))
		return 1;
	for (void *obj : objs)
		slab_free(cache, obj);
	slab_cache_shrink(cache);
	if (slab_cache_validate(cache))
		return 2;
	return used_in_slabs(cache) - in_use > lost_most ? 3 : 0;
}

/* Slabs that no thread works on are listed. */
bool has_forgotten_slabs(struct slab_cache *cache)
{
	bool found = false;

	cache_each_slab(
		cache,
		[](struct slab *slab, void *arg) {
			*static_cast<bool *>(arg) |=
				slab->bucket == SLAB_OFF && slab->initialized == slab->objects;
		},
		&found);
	return found;
}

TEST_F(ForkScheduleTest, AChildFindsItsCacheWhole)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(seed % 2 ? 8 : 40);

		run_scheduled(seed,
			      {[&] { all.use(60, 80); }, [&] { all.use(60, 80); },
			       repeat(3, [&] { cache_drain(all.cache(), nullptr, nullptr); }),
			       forks([&] { return works(all.cache(), all.in_use(), 3 * 21); })});
	});
}

TEST_F(ForkScheduleTest, AChildHasNoLockedLock)
{
	for_seeds(60, [](std::uint64_t seed) {
		struct slab_cache_args args = {};

		args.reserve = 3;
		arena plain(40), debugged(3, nullptr, SLAB_CONSISTENCY_CHECKS), spare(3, &args);

		spare.held_back = 3;
		const auto come_and_go = [] {
			struct slab_cache *cache =
				slab_cache_create("comes", object_size, nullptr, 0);

			slab_free(cache, slab_alloc(cache));
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		};
		const auto tune = [&] {
			slab_set_report_handler(nullptr, nullptr);
			slab_cache_shrink(debugged.cache());
			slab_trim();
			reserve_holds(spare.cache(), nullptr);
		};
		const auto held = [&] {
			const struct depot &depot = plain.cache()->node[0].depot;

			return seed % 2 ? schedule_others_hold()
					: depot.lock.word != CPU_LOCK_FREE ||
						  plain.cache()->shard->lock.word != CPU_LOCK_FREE;
		};

		run_scheduled(seed,
			      {[&] { plain.use(40, 60); }, [&] { debugged.use(40, 60); },
			       repeat(2, come_and_go), repeat(4, tune),
			       forks(
				       [&] {
					       for (arena *one : {&plain, &debugged, &spare})
						       slab_free(one->cache(),
								 slab_alloc(one->cache()));
					       tune();
					       struct slab_cache *cache =
						       slab_cache_create("child", 64, nullptr, 0);

					       slab_free(cache, slab_alloc(cache));
					       return slab_cache_destroy(cache) ||
						      slab_for_each_cache(
							      [](struct slab_cache *each, void *) {
								      slab_cache_shrink(each);
								      return each->dying ? 1 : 0;
							      },
							      nullptr);
				       },
				       held)});
	});
}

TEST_F(ForkScheduleTest, AChildDestroysTheRestAndNothingTwice)
{
	for_seeds(60, [](std::uint64_t seed) {
		static std::set<void *> made;
		static unsigned twice;
		struct slab_cache_args args = {};

		made.clear();
		twice = 0;
		args.ctor = [](void *obj, void *) {
			made.insert(obj);
			return 0;
		};
		args.dtor = [](void *obj, void *) {
			twice += made.erase(obj) != 1;
			schedule_point();
		};
		{
			arena all(2, &args);
			struct slab_cache *cache = all.cache();

			run_scheduled(seed,
				      {[&] { all.use(60, 60); }, [&] { all.use(60, 60); },
				       repeat(8, [&] { cache_release(cache, 0); }), forks([&] {
					       const int failed = works(cache, all.in_use(), 2 * 8);

					       return failed ? failed : twice ? 9 : 0;
				       })});
		}
		EXPECT_EQ(twice, 0u);
	});
}

TEST_F(ForkScheduleTest, AChildListsSlabsThatWereOffTheLists)
{
	for_seeds(80, [](std::uint64_t seed) {
		movers all;
		struct slab_cache *cache = all.cache();
		const auto work = [&] {
			if (seed % 2)
				slab_cache_defrag(cache);
			else
				slab_trim();
		};

		run_scheduled(seed, {[&] { all.use(150); }, repeat(4, work), forks([&] {
					     if (slab_cache_defrag(cache) < 0)
						     return 5;
					     return has_forgotten_slabs(cache)
							    ? 4
							    : works(cache, all.in_use(), 2 * 8);
				     })});
	});
}

TEST_F(ForkScheduleTest, AChildEndsTheGracePeriodsOfItsParent)
{
	for_seeds(60, [](std::uint64_t seed) {
		table all(static_cast<unsigned>(seed % 4), 8);
		struct slab_cache *cache = all.cache();

		run_scheduled(seed,
			      {user([&] { all.write(40); }), user([&] { all.write(40); }),
			       callbacks, user(forks([&] {
				       flavour_under_schedule::forget_readers();
				       all.write(10);
				       if (slab_rcu_barrier(cache))
					       return 4;
				       if (cache->memory.rcu_pending || waiting_objects(cache))
					       return 5;
				       return works(cache, all.objects().in_use(), 3 * 8);
			       }))});
	});
}

/* --- a fork at each mark of one call ---------------------------------------------------------- */

TEST_F(ForkScheduleTest, AChildOpensArraysThatItsParentHadClosed)
{
	for_plans(1, 30, [] {
		arena all(8);
		struct slab_cache *cache = all.cache();

		all.free(all.alloc());
		run_scheduled(1, {[&] { cache_drain(cache, nullptr, nullptr); }, forks_now([&] {
					  if (cache->closers || cache->arrays != cache->own_arrays)
						  return 4;
					  return works(cache, all.in_use(), 8);
				  })});
	});
}

TEST_F(ForkScheduleTest, AChildHasNoHalfMagazine)
{
	for_plans(1, 60, [] {
		arena all(array_length);

		fill_a_magazine(all);
		run_scheduled(1, {[&] { all.alloc(); }, forks_now([&] {
					  return works(all.cache(), all.in_use(), array_length);
				  })});
	});
}

/* Slabs without an object in use. */
void make_empties(arena &all)
{
	std::vector<void *> objs;

	for (int i = 0; i < 24; i++)
		objs.push_back(all.alloc());
	for (void *obj : objs)
		all.free(obj);
	cache_drain(all.cache(), nullptr, nullptr);
}

TEST_F(ForkScheduleTest, AChildHasAllSlabsThatItsParentReleased)
{
	for_plans(1, 60, [] {
		arena all(2);
		struct slab_cache *cache = all.cache();

		make_empties(all);
		run_scheduled(1, {[&] { cache_release(cache, 0); }, forks_now([&] {
					  slab_cache_shrink(cache);
					  return cache_count_slabs(cache) || cache->account.used
							 ? 4
							 : 0;
				  })});
	});
}

/* But the one whose destructor a thread of the parent was running. */
TEST_F(ForkScheduleTest, AChildDestroysAllObjectsOfSlabsThatItsParentReleased)
{
	for_plans(1, 60, [] {
		static std::set<void *> made;
		static unsigned twice;
		struct slab_cache_args args = {};

		args.ctor = [](void *obj, void *) {
			made.insert(obj);
			return 0;
		};
		args.dtor = [](void *obj, void *) { twice += made.erase(obj) != 1; };
		arena all(2, &args);
		struct slab_cache *cache = all.cache();

		make_empties(all);
		run_scheduled(1, {[&] { cache_release(cache, 0); }, forks_now([&] {
					  slab_cache_shrink(cache);
					  if (cache->node[0].leaving.first)
						  return 4;
					  return twice ? 5 : made.size() > 1 ? 6 : 0;
				  })});
		EXPECT_EQ(twice, 0u);
	});
}

TEST_F(ForkScheduleTest, AChildListsSlabsWhosePagesItsParentReturned)
{
	for_plans(1, 60, [] {
		arena all(2);
		std::vector<void *> objs;

		for (int i = 0; i < 40; i++)
			objs.push_back(all.alloc());
		std::sort(objs.begin(), objs.end());
		for (std::size_t i = 0; i < objs.size(); i++)
			if (i % 8 < 6)
				all.free(objs[i]);
		slab_cache_shrink(all.cache());
		run_scheduled(1, {[] { slab_trim(); }, forks_now([&] {
					  return has_forgotten_slabs(all.cache())
							 ? 4
							 : works(all.cache(), all.in_use(), 0);
				  })});
	});
}

TEST_F(ForkScheduleTest, AChildHasACacheThatItsParentDestroyed)
{
	for_plans(1, 60, [] {
		arena all(2);
		struct slab_cache *dies = slab_cache_create("dies", object_size, nullptr, 0);

		slab_free(dies, slab_alloc(dies));
		run_scheduled(1, {[&] { EXPECT_EQ(slab_cache_destroy(dies), 0); }, forks_now([&] {
					  struct slab_cache *cache = registry_find("dies");

					  if (cache && (cache->dying || cache->pins))
						  return 4;
					  if (cache && slab_cache_destroy(cache))
						  return 5;
					  return works(all.cache(), 0, 0);
				  })});
	});
}

/* What a child finds after frees in its parent. */
int waits_for_frees(table &all, std::uint64_t lost_most)
{
	struct slab_cache *cache = all.cache();

	if (cache->rcu_arrays != cache->rcu->arrays)
		return 4;
	if (slab_rcu_barrier(cache))
		return 5;
	if (cache->memory.rcu_pending || waiting_objects(cache))
		return 6;
	return works(cache, all.objects().in_use(), lost_most);
}

/* But the one that a thread has just begun to free. */
TEST_F(ForkScheduleTest, AChildLacksNoObjectThatWaits)
{
	for_plans(2, 60, [] {
		table all(4);
		std::vector<void *> objs;

		for (int i = 0; i < 6; i++)
			objs.push_back(all.objects().alloc());
		run_scheduled(1, {forks_now([&] { return waits_for_frees(all, 1); }), [&] {
					  for (void *obj : objs)
						  all.unlinked(obj);
				  }});
		all.barrier();
	});
}

TEST_F(ForkScheduleTest, AChildGoesOnAfterABarrierOfItsParent)
{
	for_plans(1, 60, [] {
		table all(4);
		std::vector<void *> objs;

		for (int i = 0; i < 6; i++)
			objs.push_back(all.objects().alloc());
		for (void *obj : objs)
			all.unlinked(obj);
		run_scheduled(1, {[&] { all.barrier(); },
				  forks_now([&] { return waits_for_frees(all, 8); })});
	});
}

} /* namespace */
