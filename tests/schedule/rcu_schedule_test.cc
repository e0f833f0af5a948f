/* SPDX-License-Identifier: MIT */
/* Grace periods under the scheduler. */
#include "rcu_table.h"

namespace
{

TEST(RcuScheduleTest, ReadersSeeNoObjectThatIsUsedAgain)
{
	for_seeds(60, [](std::uint64_t seed) {
		table all(1 + static_cast<unsigned>(seed % 6));

		run_scheduled(seed, {user([&] { all.write(40); }), user([&] { all.write(40); }),
				     user([&] { all.read(30); }), callbacks});
		EXPECT_EQ(all.cache()->memory.rcu_pending, 0u);
		EXPECT_EQ(waiting_objects(all.cache()), 0u);
	});
}

TEST(RcuScheduleTest, ThreadsThatFreeManyHelp)
{
	for_seeds(60, [](std::uint64_t seed) {
		table all(4, 8);

		run_scheduled(seed, {user([&] { all.write(40); }), user([&] { all.write(40); }),
				     user([&] { all.read(30); }), callbacks});
		EXPECT_EQ(all.cache()->memory.rcu_pending, 0u);
	});
}

TEST(RcuScheduleTest, ABarrierWaitsForAllFrees)
{
	for_seeds(100, [](std::uint64_t seed) {
		table all(static_cast<unsigned>(seed % 4), seed % 8 < 4 ? 8 : 100000);

		run_scheduled(seed, {user([&] { all.write(30); }), user([&] { all.write(30); }),
				     user(repeat(6, [&] { all.barrier(); })), callbacks});
	});
}

/* Two threads free objects of one slab, and the second waits for its own. */
TEST(RcuScheduleTest, ABarrierWaitsForWhatJoinsAPhaseBesideOthers)
{
	for_plans(1, 500, [] {
		table all(0);
		void *objs[] = {all.objects().alloc(), all.objects().alloc()};

		run_scheduled(1, {user([&] { all.unlinked(objs[0]); }), user([&] {
					  all.unlinked(objs[1]);
					  all.barrier();
				  }),
				  callbacks});
	});
}

/* The last callback ends, and just then an object is freed. */
TEST(RcuScheduleTest, AFreeBesideTheLastCallbackIsNotForgotten)
{
	for_plans(1, 150, [] {
		table all(0);
		struct slab_cache *cache = all.cache();
		void *obj = all.objects().alloc();

		all.unlinked(all.objects().alloc());
		run_scheduled(1, {callbacks, user([&] {
					  schedule_until([&] { return cache->memory.rcu_freed; });
					  all.unlinked(obj);
				  })});
		EXPECT_EQ(cache->memory.rcu_pending, 0u);
	});
}

/* A full array, whose objects the barrier or the other thread passes on. */
TEST(RcuScheduleTest, ABarrierWaitsForWhatLeavesAnArray)
{
	for_plans(2, 150, [] {
		table all(2);
		void *objs[] = {all.objects().alloc(), all.objects().alloc(),
				all.objects().alloc()};

		all.unlinked(objs[0]);
		all.unlinked(objs[1]);
		run_scheduled(1, {[&] { all.barrier(); }, [&] { all.unlinked(objs[2]); }});
		all.barrier();
	});
}

/* Beside closing, debug flags and release. */
TEST(RcuScheduleTest, WaitingObjectsKeepTheirSlabs)
{
	for_seeds(60, [](std::uint64_t seed) {
		table all(3, 8);
		struct slab_cache *cache = all.cache();
		const auto change = [&] {
			slab_cache_debug(cache, SLAB_CONSISTENCY_CHECKS);
			schedule_point();
			slab_cache_debug(cache, 0);
		};

		run_scheduled(seed, {user([&] { all.write(40); }), user([&] { all.write(40); }),
				     user(repeat(6, [&] { slab_cache_shrink(cache); })),
				     user(repeat(seed % 2, change)), callbacks});
	});
}

TEST(RcuScheduleTest, SlabsOfTypeSafeCachesWait)
{
	for_seeds(40, [](std::uint64_t seed) {
		table all(3, 8, SLAB_TYPESAFE_BY_RCU);
		struct slab_cache *cache = all.cache();

		run_scheduled(seed,
			      {user([&] { all.objects().use(60, 30); }),
			       user([&] { all.objects().use(60, 30); }),
			       user(repeat(10, [&] { cache_release(cache, 0); })), callbacks});
		EXPECT_EQ(cache->memory.rcu_pending, 0u);
	});
}

/* The callback of a destroyed cache comes later, or drives just then. */
TEST(RcuScheduleTest, CachesAreDestroyedBesideTheirCallbacks)
{
	for_seeds(60, [](std::uint64_t seed) {
		flavour_under_schedule flavour;
		const auto come_and_go = [&] {
			struct slab_cache_args args = {};

			args.rcu = flavour.get();
			struct slab_cache *cache =
				slab_cache_create("waits", object_size, &args, 0);

			for (int i = 0; i < 4; i++)
				slab_free_rcu(cache, slab_alloc(cache));
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		};

		run_scheduled(seed, {user(repeat(4, come_and_go)), callbacks});
	});
}

/* A thread that has pinned a cache frees what must wait. */
TEST(RcuScheduleTest, DestructionWaitsForWhatPinnedThreadsFreed)
{
	for_seeds(60, [](std::uint64_t seed) {
		flavour_under_schedule flavour;
		const auto come_and_go = [&] {
			struct slab_cache_args args = {};

			args.rcu = flavour.get();
			EXPECT_EQ(slab_cache_destroy(
					  slab_cache_create("waits", object_size, &args, 0)),
				  0);
		};
		const auto find = [] {
			struct pin pin;
			struct slab_cache *cache = registry_find_pinned(&pin, "waits");

			if (!cache)
				return;
			slab_free_rcu(cache, slab_alloc(cache));
			EXPECT_EQ(cache->magic, CACHE_MAGIC);
			cache_unpin(&pin);
		};

		run_scheduled(seed,
			      {user(repeat(4, come_and_go)), user(repeat(20, find)), callbacks});
	});
}

/* Nobody flips meanwhile, so the library must find it. */
TEST(RcuScheduleTest, ADoubleFreeIsFoundWhereverTheObjectWaits)
{
	for_seeds(80, [](std::uint64_t seed) {
		table all(2);
		arena &objects = all.objects();
		struct slab_cache *cache = all.cache();
		std::vector<void *> objs;

		objects.expected_reports = 1;
		for (int i = 0; i < 12; i++) {
			objs.push_back(objects.alloc());
			objects.give_up(objs.back());
		}
		run_scheduled(seed,
			      {user([&] {
				       for (void *obj : objs)
					       slab_free_rcu(cache, obj);
				       if (seed % 3 == 0)
					       slab_free(cache, objs[schedule_random(12)]);
				       else
					       slab_free_rcu(cache, objs[schedule_random(12)]);
				       slab_rcu_barrier(cache);
				       cache_drain(cache, nullptr, nullptr);
			       }),
			       user(repeat(seed % 2, [&] { rcu_help(cache->rcu); })), callbacks});
	});
}

/* In the call, since the object may be another's at the end of the grace period. */
TEST(RcuScheduleTest, AFreeOfWhatIsFreeOrWaitsIsFoundInTheCall)
{
	for (const bool waits : {false, true})
		for_plans(0, 0, [waits] {
			table all(0);
			arena &objects = all.objects();
			struct slab_cache *cache = all.cache();
			void *obj = objects.alloc();

			objects.expected_reports = 1;
			objects.give_up(obj);
			const auto free_twice = [&] {
				if (waits)
					slab_free_rcu(cache, obj);
				else
					slab_free(cache, obj);
				cache_drain(cache, nullptr, nullptr);
				schedule_until([&] { return !waits || cache->rcu->phase & 1; });
				slab_free_rcu(cache, obj);
				EXPECT_EQ(objects.reports.count(), 1u);
			};

			run_scheduled(1, {user(free_twice), callbacks});
		});
}

/* It waits in an array, or in a phase; the second free lets its slab go to another cache. */
TEST(RcuScheduleTest, AnObjectThatIsFreedWhileItWaitsIsReported)
{
	for (const unsigned length : {0u, 2u})
		for_plans(0, 0, [length] {
			arena other(2);
			table all(length);
			arena &objects = all.objects();
			struct slab_cache *cache = all.cache();
			void *obj = objects.alloc();

			objects.expected_reports = 1;
			objects.give_up(obj);
			slab_free_rcu(cache, obj);
			slab_free(cache, obj);
			cache_drain(cache, nullptr, nullptr);
			cache_release(cache, 0);
			for (int i = 0; length && i < 20; i++)
				other.alloc();
			EXPECT_EQ(slab_rcu_barrier(cache), 0);
		});
}

} /* namespace */
