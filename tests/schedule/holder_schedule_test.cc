/* SPDX-License-Identifier: MIT */
/*
 * The holder of each lock is preempted, and all other threads try everything. They wait for it, or
 * go on; no thread waits for ever. Whoever needs no lock that the holder could have does not wait.
 */
#include "everything.h"
#include "forks.h"

namespace
{

/* A lock of the order in slab/cache/fork.c, or one that belongs to it. */
struct lock_of_order {
	const char *name;
	bool is_of_cache; /* threads that use another cache do not need it */
	/* It has marks only if accesses have; NULL: the engine has no such lock. */
	const void *(*find)(everything &);
};

const void *taken_by(const std::function<void()> &lock, const std::function<void()> &unlock)
{
	const auto taken = schedule_locks_of(lock);

	unlock();
	return taken.empty() ? nullptr : taken.front();
}

extern "C" char __data_start, _end; /* of the program */

/* The lock of closing.c's buffer: of those that a thread takes to empty a long array, the only one
 * that does not lie in the cache. */
const void *find_buffer_lock(everything &all)
{
	struct slab_cache *cache = all.plain.cache();
	struct put_bad bad = {};

	slab_free(cache, slab_alloc(cache));
	close_begin(cache);
	const auto taken = schedule_locks_of([&] { close_drain(cache, &bad); });

	close_end(cache);
	const auto found = std::find_if(taken.begin(), taken.end(), [](const void *one) {
		return one >= &__data_start && one < &_end;
	});

	return found == taken.end() ? nullptr : *found;
}

const lock_of_order locks[] = {
	{"registry", false, [](everything &) -> const void * { return &registry_lock; }},
	{"flush", true,
	 [](everything &all) -> const void * { return &all.plain.cache()->flush_lock; }},
	{"reserve", true,
	 [](everything &all) {
		 return taken_by([&] { reserve_lock(all.spare->cache()); },
				 [&] { reserve_unlock(all.spare->cache()); });
	 }},
	{"node", true,
	 [](everything &all) -> const void * { return &all.debugged.cache()->node[0].lock; }},
	{"shard", true,
	 [](everything &all) -> const void * { return &all.plain.cache()->shard->lock; }},
	{"depot", true,
	 [](everything &all) -> const void * { return &all.plain.cache()->node[0].depot.lock; }},
	{"guard", false, [](everything &) { return taken_by(guard_lock, guard_unlock); }},
	{"pages", false, [](everything &) { return taken_by(segment_lock, segment_unlock); }},
	{"free", false, [](everything &) { return taken_by(rcu_fork_lock, rcu_fork_unlock); }},
	{"publish", false, [](everything &) { return taken_by(publish_lock, publish_unlock); }},
	{"areas", false,
	 [](everything &) { return taken_by(cpu_arrays_lock_all, cpu_arrays_unlock_all); }},
	{"array", true,
	 [](everything &all) -> const void * {
		 return cpu_engine->locks ? &cpu_array(cache_own_arrays(all.plain.cache()), 0)->lock
					  : nullptr;
	 }},
	{"buffer", false, find_buffer_lock},
};

class HolderScheduleTest : public testing::TestWithParam<lock_of_order>
{
protected:
	void SetUp() override
	{
		if (under_asan || under_tsan)
			GTEST_SKIP() << "locks of four bytes have no marks";
	}
};

INSTANTIATE_TEST_SUITE_P(Locks, HolderScheduleTest, testing::ValuesIn(locks),
			 [](const auto &info) { return info.param.name; });

/* Is the object that the next allocation gets in its array? */
bool array_has_one(struct slab_cache *cache)
{
	const struct cpu_array *array =
		cpu_array(__atomic_load_n(&cache->alloc_arrays, __ATOMIC_RELAXED), sched_getcpu());

	return cpu_array_count(array) && array->lock.word == CPU_LOCK_FREE;
}

/* What needs no lock of the holder's: all with a cache of its own, or allocations from its array. */
void go_by(arena &own, bool is_of_cache)
{
	if (is_of_cache) {
		std::vector<void *> objs;

		for (int i = 0; i < 100; i++)
			objs.push_back(own.alloc());
		for (void *obj : objs)
			own.free(obj);
	}
	for (int i = 0; i < 20; i++, schedule_point())
		schedule_alone([&] {
			if (array_has_one(own.cache()))
				own.free(own.alloc());
		});
}

unsigned nth_of(std::uint64_t seed)
{
	return 1 + static_cast<unsigned>(seed % 4);
}

/* A thread that acts until it has been preempted with the lock. */
std::function<void()> holds(everything &all, const void *lock, unsigned nth, bool &begins)
{
	return user([&all, lock, nth, &begins] {
		schedule_stop_holder(lock, nth);
		for (int i = 0; i < 200 && !schedule_holder_was_stopped(); i++)
			all.act(schedule_random(everything::acts));
		EXPECT_TRUE(schedule_holder_was_stopped()) << "no thread takes the lock";
		begins = true;
	});
}

TEST_P(HolderScheduleTest, OthersGoOnOrWait)
{
	for_seeds(4, [](std::uint64_t seed) {
		everything all;
		arena own(6);
		const void *lock = GetParam().find(all);
		bool waits = true, begins = false;

		EXPECT_TRUE(lock || GetParam().name == std::string("array"));
		if (!lock)
			return;
		const auto fill_array = [&] { own.free(own.alloc()); };

		run_scheduled(seed, {fill_array, fill_array}); /* on two CPUs */
		auto bodies = all.threads([&] { return begins || schedule_holder_was_stopped(); });
		const auto passer_by = [&] {
			schedule_until([&] { return begins || schedule_holder_was_stopped(); });
			go_by(own, GetParam().is_of_cache);
			waits = !schedule_holder_is_stopped();
		};

		bodies.insert(bodies.end(),
			      {holds(all, lock, nth_of(seed), begins), user(passer_by), callbacks});
		run_scheduled(seed, bodies);
		EXPECT_FALSE(waits) << "a thread waits that needs no such lock";
	});
}

/* The fork waits for the holder, or the child makes up for it. */
TEST_P(HolderScheduleTest, AChildIsBornBesideIt)
{
	for_seeds(4, [](std::uint64_t seed) {
		everything all;
		const void *lock = GetParam().find(all);
		bool begins = false;

		if (!lock)
			return;
		const auto in_child = forks_now([&] {
			flavour_under_schedule::forget_readers();
			all.waiting.lacks = 1;
			for (std::size_t i = 0; i < everything::acts; i++)
				all.act(i);
			return testing::Test::HasFailure() ? 1 : 0;
		});
		const auto parent = user([&] {
			schedule_until([&] { return begins || schedule_holder_was_stopped(); });
			in_child();
		});

		run_scheduled(seed, {holds(all, lock, nth_of(seed), begins), parent, callbacks});
	});
}

} /* namespace */
