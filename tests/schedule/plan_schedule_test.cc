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
