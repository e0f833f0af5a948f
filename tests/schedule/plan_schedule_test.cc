/* SPDX-License-Identifier: MIT */
/* Small scenes with each preemption of one thread, and some pairs of two: all threads are on one
 * CPU, whose array is new. */
#include "scene.h"

namespace
{

/* Two objects are allocated and freed. */
void use_two(arena &all)
{
	void *one = all.alloc(), *other = all.alloc();

	all.free(one);
	all.free(other);
}

void close_and_look(arena &all)
{
	struct slab_cache *cache = all.cache();
	struct put_bad bad = {};

	close_begin(cache);
	if (close_fence()) {
		close_drain(cache, &bad);
		schedule_yield();
		EXPECT_EQ(arrays_objects(cache), 0u);
		EXPECT_EQ(magazines_objects(cache), 0u);
	}
	close_end(cache);
	EXPECT_EQ(bad.n, 0u);
}

TEST(PlanScheduleTest, ANewArrayIsClosed)
{
	for_plans(2, 300, [] {
		arena all(3);

		run_scheduled(1, {[&] { use_two(all); }, [&] { close_and_look(all); }});
	});
}

TEST(PlanScheduleTest, AnArrayIsClosedTwice)
{
	for_plans(2, 300, [] {
		arena all(3);

		use_two(all);
		run_scheduled(1, {[&] { use_two(all); }, repeat(2, [&] { close_and_look(all); })});
	});
}

TEST(PlanScheduleTest, TwoThreadsShareAnArray)
{
	for_plans(2, 600, [] {
		arena all(5);
		void *objs[5];

		for (void *&obj : objs)
			obj = all.alloc();
		run_scheduled(1, {[&] {
					  all.free(objs[0]);
					  all.free(objs[1]);
					  all.free(all.alloc());
					  all.free(objs[2]);
				  },
				  [&] {
					  all.free(objs[3]);
					  all.free(objs[4]);
					  use_two(all);
				  }});
	});
}

/* The depot has room for one magazine more, or for more than both threads fill. */
TEST(PlanScheduleTest, TwoThreadsFillMagazines)
{
	for (const unsigned full : {0u, MAGAZINES_MAX - 1})
		for_plans(1, 200, [full] {
			arena all(array_length);
			std::vector<void *> objs = fill_magazines(all, full);

			const auto free_one = [&](std::size_t i) {
				all.free(objs[i]);
				EXPECT_LE(all.cache()->node[0].depot.full, MAGAZINES_MAX);
			};

			run_scheduled(1, {[&] { free_one(0); }, [&] { close_and_look(all); },
					  [&] { free_one(1); }});
		});
}

/* A thread has the lock and objects that no array has; it counts the magazine before it drops the
 * lock. */
TEST(PlanScheduleTest, AMagazineThatIsJustFilledIsTaken)
{
	for_plans(1, 200, [] {
		arena all(array_length);
		std::vector<void *> objs = fill_magazines(all, 1), taken(array_length);
		struct depot &depot = all.cache()->node[0].depot;
		std::size_t n = 0;

		cpu_lock_take(&depot.lock);
		depot.full = 0;
		run_scheduled(1,
			      {[&] { n = magazines_take(all.cache(), array_length, taken.data()); },
			       [&] {
				       __atomic_store_n(&depot.full, 1, __ATOMIC_RELAXED);
				       cpu_lock_drop(&depot.lock);
			       }});
		EXPECT_NE(n, 0u);
		for (std::size_t i = 0; i < n; i++)
			slab_free(all.cache(), taken[i]);
		for (void *obj : objs)
			all.free(obj);
	});
}

TEST(PlanScheduleTest, TwoThreadsEmptyAMagazine)
{
	for_plans(1, 200, [] {
		arena all(array_length);

		fill_a_magazine(all);
		run_scheduled(1, {[&] { all.alloc(); }, [&] { close_and_look(all); },
				  [&] { all.alloc(); }});
	});
}

/* Both find the short arrays too short. */
TEST(PlanScheduleTest, TwoThreadsLengthenArrays)
{
	for_plans(1, 150, [] {
		arena all(2);
		struct slab_cache *cache = all.cache();
		const char *first = cache->own_arrays;

		set_array_length(cache, cpu_array_room(false) + 1);
		run_scheduled(1, {[&] { all.alloc(); }, [&] { all.alloc(); }});
		EXPECT_EQ(cache->short_arrays, first);
	});
}

/* The next slab of a walk that stands between two pieces goes elsewhere. */
TEST(PlanScheduleTest, AWalkGoesOnBehindASlabThatHasMoved)
{
	for_plans(0, 0, [] {
		arena all(2);
		struct slab_cache *cache = all.cache();
		struct shard *from = cache->shard, *to = from + 1;
		std::vector<std::array<void *, 9>> slabs(WALK_PIECE + 2);
		struct shard_walk walk = {};
		unsigned seen = 0;
		const auto visit = [](struct shard *at, struct slab *slab, void *arg) {
			EXPECT_EQ(slab->shard, at);
			++*static_cast<unsigned *>(arg);
			return true;
		};

		if (shards_per_node < 2)
			return;
		for (auto &objs : slabs)
			EXPECT_EQ(objects_take(cache, from, 8, objs.data(), TAKE_NEW), 8u);
		for (auto &objs : slabs)
			objects_free(cache, 1, &objs[7], nullptr);
		walk.shard = from;
		EXPECT_TRUE(shard_walk_piece(&walk, visit, &seen));
		shard_move(from, to, walk.at);
		EXPECT_FALSE(shard_walk_piece(&walk, visit, &seen));
		EXPECT_EQ(seen, WALK_PIECE + 1);
		for (auto &objs : slabs)
			objects_free(cache, 7, objs.data(), nullptr);
	});
}

TEST(PlanScheduleTest, ALockIsWaitedFor)
{
	for_plans(2, 2000, [] {
		struct cpu_lock lock = {CPU_LOCK_FREE};
		int inside = 0;
		const auto act = repeat(2, [&] {
			cpu_lock_take(&lock);
			EXPECT_EQ(inside++, 0);
			schedule_point();
			inside--;
			cpu_lock_drop(&lock);
		});

		run_scheduled(1, {act, act, act});
	});
}

} /* namespace */
