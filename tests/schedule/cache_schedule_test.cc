/* SPDX-License-Identifier: MIT */
/* Caches under the scheduler: created and destroyed, switched, emptied, forked beside threads that
 * use them; and a system that refuses what they need. */
#include "../support/debugging.h"
#include "movers.h"

namespace
{

/* --- what the system refuses ------------------------------------------------------------------ */

class RefusalScheduleTest : public testing::Test
{
protected:
	~RefusalScheduleTest() override { schedule_refuse_nothing(); }
};

TEST_F(RefusalScheduleTest, NothingIsLostWithoutPages)
{
	for_seeds(60, [](std::uint64_t seed) {
		schedule_refuse_nothing();
		arena all(6);

		all.may_fail = true;
		schedule_refuse(request::pages, 1 + static_cast<unsigned>(seed % 12), 20);
		run_scheduled(seed,
			      {[&] { all.use(100, 200); }, [&] { all.use(100, 200); },
			       repeat(3, [&] { cache_drain(all.cache(), nullptr, nullptr); })});
		schedule_refuse_nothing();
	});
}

/* Then threads visit CPUs in place of membarrier(2). */
TEST_F(RefusalScheduleTest, NothingIsLostWithoutMembarrier)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(6);

		schedule_refuse(request::fence);
		if (seed % 2 == 0)
			schedule_refuse(request::visit);
		run_scheduled(seed, {[&] { all.use(80); }, [&] { all.use(80); }, repeat(6, [&] {
					     cache_drain(all.cache(), nullptr, nullptr);
				     })});
		schedule_refuse_nothing();
	});
}

/* Each object of the reserve serves one allocation that would have failed. */
TEST_F(RefusalScheduleTest, AReserveServesEachObjectOnce)
{
	for_seeds(40, [](std::uint64_t seed) {
		struct slab_cache_args args = {};

		args.reserve = 5;
		arena all(3, &args);
		struct slab_cache *cache = all.cache();
		std::vector<void *> objs;

		all.may_fail = true;
		all.held_back = 5;
		const auto act = [&] {
			for (int i = 0; i < 30; i++)
				if (void *obj = all.alloc())
					objs.push_back(obj);
			for (int i = 0; i < 15 && !objs.empty(); i++) {
				void *obj = objs.back();

				objs.pop_back();
				schedule_point();
				all.free(obj);
			}
		};

		schedule_refuse(request::pages);
		run_scheduled(seed, {act, act, act});
		schedule_refuse_nothing();
		for (void *obj : objs)
			all.free(obj);
		/* An allocation off the fast path fills it, and clears the gate. */
		void *obj = all.alloc();

		all.free(obj);
		EXPECT_EQ(cache->memory.reserve_left, 5u);
		EXPECT_EQ(cache->gates, 0u);
	});
}

/* --- two caches ------------------------------------------------------------------------------- */

TEST(CacheScheduleTest, CachesAreClosedAtTheSameTime)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena one(6), other(6);

		run_scheduled(seed,
			      {[&] { one.use(60); }, [&] { other.use(60); },
			       repeat(5, [&] { cache_drain(one.cache(), nullptr, nullptr); }),
			       repeat(5, [&] { cache_drain(other.cache(), nullptr, nullptr); })});
	});
}

/* A thread that looks for memory, or goes through all caches, beside destruction and creation. */
TEST(CacheScheduleTest, NobodyHasADestroyedCache)
{
	for_seeds(60, [](std::uint64_t seed) {
		arena other(4);
		const auto walk = [] {
			slab_for_each_cache(
				[](struct slab_cache *cache, void *) {
					for (int i = 0; i < 3; i++) {
						EXPECT_EQ(cache->magic, CACHE_MAGIC);
						EXPECT_FALSE(cache_is_dying(cache) && !cache->pins);
						schedule_point();
					}
					slab_cache_shrink(cache);
					EXPECT_EQ(cache->magic, CACHE_MAGIC);
					return 0;
				},
				nullptr);
		};
		const auto come_and_go = [] {
			struct slab_cache *cache =
				slab_cache_create("comes", object_size, nullptr, 0);
			void *obj = slab_alloc(cache);

			schedule_point();
			slab_free(cache, obj);
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		};
		const auto find = [] {
			struct pin pin;

			if (struct slab_cache *cache = registry_find_pinned(&pin, "comes")) {
				schedule_point();
				EXPECT_EQ(cache->magic, CACHE_MAGIC);
				schedule_point();
				EXPECT_EQ(cache->magic, CACHE_MAGIC);
				cache_unpin(&pin);
			}
		};

		run_scheduled(seed, {repeat(2, walk), repeat(3, come_and_go), repeat(20, find),
				     repeat(6, [&] { caches_reap(other.cache()); })});
	});
}

/* --- debug flags ------------------------------------------------------------------------------ */

TEST(CacheScheduleTest, DebugFlagsAreSwitchedBesideUse)
{
	for_seeds(60, [](std::uint64_t seed) {
		arena all(4);
		struct slab_cache *cache = all.cache();
		const auto change = [&] {
			EXPECT_EQ(slab_cache_debug(cache, SLAB_CONSISTENCY_CHECKS), 0);
			for (int i = 0; i < 5; i++)
				schedule_point();
			EXPECT_EQ(slab_cache_debug(cache, 0), 0);
		};

		run_scheduled(seed,
			      {[&] { all.use(60, 30); }, [&] { all.use(60, 30); },
			       repeat(3, change), repeat(3, [&] { slab_cache_shrink(cache); })});
	});
}

/* A cache with debug flags allocates from debug slabs. */
TEST(CacheScheduleTest, LegacySlabsServeNoAllocation)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(4);
		struct slab_cache *cache = all.cache();

		run_scheduled(seed, {[&] { all.use(60, 30); }, [&] { all.use(60, 30); },
				     [&] { slab_cache_debug(cache, SLAB_CONSISTENCY_CHECKS); }});
		for (int i = 0; i < 3; i++) {
			void *obj = all.alloc();

			EXPECT_TRUE(slab_of(obj)->debug) << "of a slab without debug flags";
			all.free(obj);
		}
		EXPECT_EQ(slab_cache_debug(cache, 0), 0);
	});
}

/* --- slabs off the lists ---------------------------------------------------------------------- */

TEST(CacheScheduleTest, ObjectsMoveBesideUse)
{
	for_seeds(60, [](std::uint64_t seed) {
		movers all;
		const auto defrag = [&] { all.defrag(); };

		run_scheduled(seed, {[&] { all.use(100); }, [&] { all.use(100); },
				     repeat(3, defrag), repeat(3, defrag)});
	});
}

/* No other thread frees them meanwhile. */
TEST(CacheScheduleTest, OnlyObjectsInUseAreToMove)
{
	for_plans(0, 0, [] {
		movers all;

		all.scatter(40, 3);
		run_scheduled(1, {[&] { all.defrag(); }});
		EXPECT_EQ(all.refused(), 0u);
	});
}

/* Slabs are looked at, and become those of another cache. */
TEST(CacheScheduleTest, ObjectsOfAnotherCacheDoNotMove)
{
	for_plans(1, 120, [] {
		arena other(2);
		movers all;
		const auto replace = [&] {
			std::vector<void *> objs;

			all.free_all(20);
			cache_release(all.cache(), 0);
			for (int i = 0; i < 40; i++)
				objs.push_back(other.alloc());
			std::sort(objs.begin(), objs.end());
			for (std::size_t i = 0; i < objs.size(); i++)
				if (i % 8)
					other.free(objs[i]);
		};

		all.scatter(40, 3);
		run_scheduled(1, {[&] { all.defrag(); }, replace});
	});
}

/* Flags are switched on while a thread returns pages, or releases slabs that another cache gets. */
TEST(CacheScheduleTest, OnlySlabsOnTheListsBecomeLegacySlabs)
{
	for (const bool trims : {false, true})
		for_plans(1, 100, [trims] {
			arena other(2), all(2);
			struct slab_cache *cache = all.cache();
			std::vector<void *> objs;

			for (int i = 0; i < 40; i++)
				objs.push_back(all.alloc());
			std::sort(objs.begin(), objs.end());
			for (std::size_t i = 0; i < objs.size(); i++)
				if (i % 8 < (trims ? 6 : 8))
					all.free(objs[i]);
			cache_drain(cache, nullptr, nullptr);
			const auto change = [&] {
				EXPECT_EQ(slab_cache_debug(cache, SLAB_CONSISTENCY_CHECKS), 0);
			};
			const auto release = [&] {
				cache_release(cache, 0);
				for (int i = 0; i < 40; i++)
					other.alloc();
			};

			if (trims)
				run_scheduled(1, {[] { slab_trim(); }, change});
			else
				run_scheduled(1, {change, release});
			EXPECT_EQ(slab_cache_debug(cache, 0), 0);
		});
}

TEST(CacheScheduleTest, PagesAreReturnedBesideUse)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(2);

		run_scheduled(seed, {[&] { all.use(100, 60); }, [&] { all.use(100, 60); },
				     repeat(3, [] { slab_trim(); }),
				     repeat(3, [&] { slab_cache_shrink(all.cache()); })});
	});
}

/* Each object is destroyed once, also by threads that release the same slabs. */
TEST(CacheScheduleTest, DestructorsRunOnceForEachObject)
{
	for_seeds(60, [](std::uint64_t seed) {
		static std::set<void *> made;
		struct slab_cache_args args = {};

		made.clear();
		args.ctor = [](void *obj, void *) {
			EXPECT_TRUE(made.insert(obj).second);
			return 0;
		};
		args.dtor = [](void *obj, void *) {
			EXPECT_EQ(made.erase(obj), 1u) << "destroyed twice";
			schedule_point();
		};
		{
			arena all(2, &args);
			struct slab_cache *cache = all.cache();

			run_scheduled(seed, {[&] { all.use(80, 40); }, [&] { all.use(80, 40); },
					     repeat(4, [&] { slab_cache_shrink(cache); }),
					     repeat(10, [&] { cache_release(cache, 0); })});
		}
		EXPECT_TRUE(made.empty());
	});
}

/* A destructor may not destroy its cache, and may be called by any release. */
TEST(CacheScheduleTest, ADestructorFindsItsCachePinned)
{
	for_plans(0, 0, [] {
		static struct slab_cache *cache;
		static unsigned destroyed;
		struct slab_cache_args args = {};

		args.dtor = [](void *, void *) {
			destroyed++;
			EXPECT_EQ(slab_cache_destroy(cache), -EBUSY);
		};
		cache = slab_cache_create("refuses", object_size, &args, 0);
		slab_free(cache, slab_alloc(cache));
		slab_cache_shrink(cache);
		EXPECT_GT(destroyed, 0u);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	});
}

/* The search for memory stands at a cache that is destroyed. */
TEST(CacheScheduleTest, ASearchLooksAtNoDestroyedCache)
{
	for_plans(0, 0, [] {
		arena all(2);
		struct slab_cache *caches[] = {slab_cache_create("one", object_size, nullptr, 0),
					       slab_cache_create("other", object_size, nullptr, 0)};
		static struct slab_cache *seen;
		const auto look = [](unsigned looks) {
			struct pin pin = {};

			registry_look_further(
				&pin,
				[](const struct slab_cache *cache) {
					EXPECT_EQ(cache->magic, CACHE_MAGIC);
					seen = const_cast<struct slab_cache *>(cache);
					return false;
				},
				nullptr, &looks);
		};

		do
			look(1);
		while (seen != caches[0]);
		for (struct slab_cache *cache : caches)
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		look(8);
	});
}

/* Many at once go to the slabs, which find them. */
TEST(CacheScheduleTest, PointersToNoObjectAreFoundInABulk)
{
	for_plans(0, 0, [] {
		arena all(6);
		auto *obj = static_cast<char *>(all.alloc());
		const struct slab *slab = slab_of(obj);
		void *objs[] = {all.alloc(), obj + 64,
				slab->base + slab->initialized * object_size};

		ASSERT_LT(slab->initialized, slab->objects);
		all.expected_reports = 2;
		all.expected_problem = SLAB_PROBLEM_INVALID_POINTER;
		all.give_up(objs[0]);
		slab_free_bulk(all.cache(), 3, objs);
		cache_drain(all.cache(), nullptr, nullptr);
		EXPECT_EQ(all.reports.count(), 2u);
	});
}

/* A pointer into an object is no object, whether its free or a later one finds it. */
TEST(CacheScheduleTest, APointerIntoAnObjectIsReported)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(6);

		all.expected_reports = 1;
		all.expected_problem = SLAB_PROBLEM_INVALID_POINTER;
		run_scheduled(seed,
			      {[&] { all.use(40); },
			       [&] {
				       void *obj = all.alloc();

				       slab_free(all.cache(),
						 hidden(static_cast<char *>(obj) + 64));
				       schedule_point();
				       all.free(obj);
			       },
			       repeat(3, [&] { cache_drain(all.cache(), nullptr, nullptr); })});
	});
}

} /* namespace */
