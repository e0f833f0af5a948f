/* SPDX-License-Identifier: MIT */
/*
 * The core under the deterministic scheduler: threads allocate and free, in short and in long
 * arrays, beside threads that close caches, move slabs, and release them. Each object in use has
 * its owner's mark, and in the end all objects are counted.
 */
#include "scene.h"

namespace
{

TEST(ScheduleTest, ASeedReplays)
{
	const auto run = [] {
		int order = 0, n = 0;
		const auto act = [&order, &n] {
			for (int i = 0; i < 20; i++) {
				schedule_point();
				order = order * 3 + static_cast<int>(schedule_random(3)) + n++ % 5;
			}
		};
		const std::uint64_t trace = run_scheduled(7, {act, act, act});

		return std::make_pair(trace, order);
	};

	EXPECT_EQ(run(), run());
}

TEST(ScheduleTest, SeedsDiffer)
{
	const auto act = [] {
		for (int i = 0; i < 20; i++)
			schedule_point();
	};

	EXPECT_NE(run_scheduled(1, {act, act}), run_scheduled(2, {act, act}));
}

TEST(ScheduleTest, AThreadThatWaitsForALockLetsOthersGoOn)
{
	for_seeds(20, [](std::uint64_t seed) {
		struct cpu_lock lock = {CPU_LOCK_FREE};
		int inside = 0;

		run_scheduled(seed, std::vector<std::function<void()>>(3, [&] {
				      cpu_lock_take(&lock);
				      EXPECT_EQ(inside++, 0);
				      schedule_point();
				      inside--;
				      cpu_lock_drop(&lock);
			      }));
	});
}

TEST(CoreScheduleTest, AllocationsAndFreesLoseNothing)
{
	for_seeds(60, [](std::uint64_t seed) {
		arena all(6);

		run_scheduled(seed, {[&] { all.use(120); }, [&] { all.use(120); },
				     [&] { all.use(120); }});
	});
}

/* The prototype's bug showed here: a drain gave objects away before the array was empty. */
TEST(CoreScheduleTest, ClosingLosesNothingAndReportsNothing)
{
	for_seeds(100, [](std::uint64_t seed) {
		arena all(6);

		run_scheduled(seed, {[&] { all.use(80); }, [&] { all.use(80); }, repeat(8, [&] {
					     cache_drain(all.cache(), nullptr, nullptr);
				     })});
	});
}

TEST(CoreScheduleTest, TwoThreadsThatCloseAreInTurns)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(4);

		run_scheduled(seed, {[&] { all.use(60); },
				     repeat(6, [&] { cache_drain(all.cache(), nullptr, nullptr); }),
				     repeat(6, [&] { slab_cache_shrink(all.cache()); })});
	});
}

/* While a cache is closed and drained, only its slabs and threads have objects. The threads fill
 * magazines and empty them. */
TEST(CoreScheduleTest, AClosedCacheHoldsNothing)
{
	for_seeds(100, [](std::uint64_t seed) {
		arena all(40);
		const auto close = [&] {
			struct slab_cache *cache = all.cache();
			struct put_bad bad = {};

			close_begin(cache);
			if (close_fence()) {
				close_drain(cache, &bad);
				for (int i = 0; i < 10; i++)
					schedule_point();
				EXPECT_EQ(arrays_objects(cache), 0u);
				EXPECT_EQ(magazines_objects(cache), 0u);
			}
			close_end(cache);
			EXPECT_EQ(bad.n, 0u);
		};

		const auto burst = [&] {
			std::vector<void *> objs;

			for (int i = 0; i < 130; i++)
				objs.push_back(all.alloc());
			for (void *obj : objs)
				all.free(obj);
		};

		run_scheduled(seed, {repeat(2, burst), repeat(2, burst), repeat(8, close)});
	});
}

/* Arrays of 40 objects are long ones, and fill magazines. */
TEST(CoreScheduleTest, MagazinesLoseNothing)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(40);
		std::vector<void *> ring;
		const auto produce = [&] {
			for (int i = 0; i < 200; i++)
				ring.push_back(all.alloc());
		};
		const auto consume = [&] {
			for (int i = 0; i < 150; i++, schedule_point())
				if (!ring.empty()) {
					void *obj = ring.back();

					ring.pop_back();
					all.free(obj);
				}
		};

		run_scheduled(seed, {produce, consume, repeat(3, [&] {
					     cache_drain(all.cache(), nullptr, nullptr);
				     })});
	});
}

TEST(CoreScheduleTest, EmptySlabsAreReleasedBesideFrees)
{
	for_seeds(60, [](std::uint64_t seed) {
		arena all(2);

		run_scheduled(seed, {[&] { all.use(100, 30); }, [&] { all.use(100, 30); },
				     repeat(20, [&] {
					     cache_tick(all.cache());
					     schedule_point();
					     cache_release(all.cache(), 0);
				     })});
	});
}

/* Objects that go straight to the slabs, from two shards: slabs move between these. */
TEST(CoreScheduleTest, SlabsMoveBetweenShards)
{
	for_seeds(60, [](std::uint64_t seed) {
		arena all(2);
		struct slab_cache *cache = all.cache();
		std::vector<void *> left;
		const auto act = [&](int cpu) {
			struct shard *shard = shard_at(cache, 0, cpu);

			for (int i = 0; i < 30; i++) {
				void *objs[13];
				unsigned n = objects_take(cache, shard, 12, objs, take_anywhere);

				for (unsigned k = 12 - n; k < 12; k++) {
					all.adopt(objs[k]);
					left.push_back(objs[k]);
				}
				schedule_point();
				for (n = 0; n < 12 && left.size() > 8; n++) {
					std::swap(left[schedule_random(
							  static_cast<unsigned>(left.size()))],
						  left.back());
					objs[n] = left.back();
					left.pop_back();
					all.give_up(objs[n]);
				}
				objects_free(cache, n, objs, nullptr);
			}
		};

		run_scheduled(seed, {[&] { act(0); }, [&] { act(1); },
				     repeat(10, [&] { cache_release(cache, 0); })});
	});
}

/* A slab that is off the lists gets frees and serves no allocation. */
TEST(CoreScheduleTest, SlabsAreTakenOffAndPutOn)
{
	for_seeds(60, [](std::uint64_t seed) {
		arena all(3);
		struct slab_cache *cache = all.cache();
		static struct slab *off;
		const auto work = [&] {
			struct shard *shard =
				shard_at(cache, 0, static_cast<int>(schedule_random(2)));

			off = nullptr;
			flush_lock(cache);
			shard_walk(
				shard,
				[](struct shard *at, struct slab *slab, void *) {
					slab_take_off(at, slab);
					off = slab;
					return false;
				},
				nullptr);
			if (off) {
				const unsigned before = off->free;

				for (int i = 0; i < 3; i++)
					schedule_point();
				EXPECT_EQ(off->bucket, SLAB_OFF);
				EXPECT_GE(off->free, before) << "an allocation took from it";
				shard = shard_lock_of(off);
				slab_put_on(shard, off);
				cpu_lock_drop(&shard->lock);
			}
			flush_unlock(cache);
		};

		run_scheduled(seed,
			      {[&] { all.use(100); }, [&] { all.use(100); }, repeat(10, work)});
	});
}

/* Each object is constructed once, and before anybody gets it. */
TEST(CoreScheduleTest, ConstructorsRunOnceForEachObject)
{
	for_seeds(60, [](std::uint64_t seed) {
		static std::map<void *, unsigned> made;
		struct slab_cache_args args = {};

		made.clear();
		args.ctor = [](void *obj, void *) {
			made[obj]++;
			if (schedule_random(8) == 0)
				return -1;
			schedule_point();
			made[obj] += 100;
			return 0;
		};
		args.dtor = [](void *obj, void *) { made.erase(obj); };
		struct slab_cache *cache = slab_cache_create("constructed", object_size, &args, 0);
		const auto act = [&] {
			std::vector<void *> objs;

			for (int i = 0; i < 40; i++)
				if (void *obj = slab_alloc(cache)) {
					EXPECT_GE(made[obj], 100u);
					EXPECT_LT(made[obj], 200u);
					objs.push_back(obj);
				}
			for (void *obj : objs)
				slab_free(cache, obj);
		};

		set_array_length(cache, 4);
		run_scheduled(seed, {act, act, repeat(4, [&] { slab_cache_shrink(cache); })});
		args.ctor = nullptr;
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	});
}

/* Nobody allocates meanwhile, so the library must find it, and once. */
TEST(CoreScheduleTest, ADoubleFreeIsFoundWhereverTheObjectIs)
{
	for_seeds(80, [](std::uint64_t seed) {
		arena all(6);
		std::vector<void *> objs;

		all.expected_reports = 1;
		for (int i = 0; i < 20; i++)
			objs.push_back(all.alloc());
		run_scheduled(seed,
			      {[&] {
				       void *twice = objs[schedule_random(10)];

				       for (int i = 0; i < 10; i++) {
					       all.free(objs[static_cast<std::size_t>(i)]);
					       if (objs[static_cast<std::size_t>(i)] == twice)
						       schedule_point();
				       }
				       slab_free(all.cache(), twice);
			       },
			       [&] {
				       for (std::size_t i = 10; i < 20; i++)
					       all.free(objs[i]);
			       },
			       repeat(3, [&] { cache_drain(all.cache(), nullptr, nullptr); })});
	});
}

/* Its slab may be released between the two. */
TEST(CoreScheduleTest, AnObjectInTheArraysOfTwoCpusIsFound)
{
	for_seeds(60, [](std::uint64_t seed) {
		arena all(6);
		void *obj = all.alloc();

		all.give_up(obj);
		all.expected_reports = 1;
		all.other_problem =
			SLAB_PROBLEM_INVALID_POINTER; /* its slab has left and come back */
		const auto free_it = [&] { slab_free(all.cache(), obj); };

		run_scheduled(seed, {free_it, free_it, repeat(4, [&] {
					     cache_drain(all.cache(), nullptr, nullptr);
					     cache_release(all.cache(), 0);
				     })});
	});
}

/* The thread stays on its CPU. */
TEST(CoreScheduleTest, ADoubleFreeOfTheNewestIsFoundInTheCall)
{
	for_plans(0, 0, [] {
		arena all(6);

		all.expected_reports = 1;
		run_scheduled(1, {[&] {
				      void *obj = all.alloc();

				      all.free(obj);
				      slab_free(all.cache(), obj);
				      EXPECT_EQ(all.reports.count(), 1u);
			      }});
	});
}

TEST(CoreScheduleTest, SectionsAreStoppedAnywhere)
{
	for_seeds(15, [](std::uint64_t seed) {
		arena all(3);

		all.steps = true;
		if (seed % 2 == 0)
			schedule_refuse(request::fence);
		if (seed % 4 == 0)
			schedule_refuse(request::visit);
		unsigned users = 2;
		const auto use = [&] {
			all.use(12);
			users--;
		};

		run_scheduled(seed, {use, use, [&] {
					     while (users)
						     cache_drain(all.cache(), nullptr, nullptr);
				     }});
		schedule_refuse_nothing();
	});
}

TEST(CoreScheduleTest, WalksBesideSlabsThatMoveEnd)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(2);
		const auto walk = [&] {
			for (struct shard *shard = all.cache()->shard;
			     shard < shards_end(all.cache()); shard++)
				shard_walk(
					shard,
					[](struct shard *at, struct slab *slab, void *) {
						EXPECT_EQ(slab->shard, at);
						EXPECT_EQ(slab_check_map(slab), nullptr);
						return true;
					},
					nullptr);
		};

		run_scheduled(seed, {[&] { all.use(100, 60); }, [&] { all.use(100, 60); },
				     repeat(12, walk)});
	});
}

/* Length changes with the times of misses, and arrays become long ones meanwhile. */
TEST(CoreScheduleTest, ArraysBecomeLonger)
{
	for_seeds(40, [](std::uint64_t seed) {
		arena all(4);

		__atomic_store_n(&all.cache()->array_most, 200, __ATOMIC_RELAXED);
		run_scheduled(seed,
			      {[&] { all.use(400, 300); }, [&] { all.use(400, 300); },
			       repeat(3, [&] { cache_drain(all.cache(), nullptr, nullptr); })});
	});
}

} /* namespace */
