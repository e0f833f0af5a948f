/* SPDX-License-Identifier: MIT */
/*
 * Memory that goes back to the operating system: when passes of maintenance run and when
 * they do not, and what goes at once. Which memory may go: decay_rule_test.cc.
 */
#include <filesystem>

#include "../support/client.h"
#include "../support/folder.h"
#include "../support/passes.h"

namespace
{

/* --- when ------------------------------------------------------------------------------ */

TEST(DecayTimeTest, PassesEndWhenNothingIsLeftToDo)
{
	test_cache cache(object_size);
	const objects objs = allocate(cache, 100);

	EXPECT_LT(run_all_passes(), 100u);
	EXPECT_EQ(decay_wait(), 0);
	EXPECT_EQ(slab_maintain(), -1);
	const std::uint32_t epoch = decay_epoch();

	run_passes(10);
	EXPECT_EQ(decay_epoch(), epoch);
	free_all(cache, objs);
	EXPECT_GE(slab_maintain(), 0) << "something was freed";
	EXPECT_GT(decay_wait(), 0);
	EXPECT_LT(run_all_passes(), 100u);
	EXPECT_EQ(resident(objs), 0u);
}

/* Whatever path objects are freed by, passes begin again. */
TEST(DecayTimeTest, EachWayToFreeStartsPassesAgain)
{
	test_cache cache(object_size);
	const std::vector<std::function<void(objects &)>> ways = {
		[&](objects &objs) { free_all(cache, objs); },
		[&](objects &objs) { slab_free_bulk(cache, objs.size(), objs.data()); },
		[&](objects &objs) { std::thread([&] { free_all(cache, objs); }).join(); },
		/* Again when passes run already. */
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

/* They are freed off the fast path, all of them. */
TEST(DecayTimeTest, FreesOfAHardenedCacheStartPassesAgain)
{
	test_cache cache(4096, SLAB_HARDEN_FREE);
	std::vector<void *> objs = alloc_many(cache, 161);

	run_all_passes();
	for (unsigned i = 0; i < 48; i++, objs.pop_back())
		slab_free(cache, objs.back());
	EXPECT_GE(slab_maintain(), 0);
	run_all_passes();
	EXPECT_EQ(stats_of(cache).cpu_objects, 0u);
	free_all(cache, objs);
}

TEST(DecayTimeTest, MaintenanceReturnsWhenToCallItNext)
{
	test_cache cache(object_size);

	slab_free(cache, slab_alloc(cache));
	EXPECT_GT(slab_maintain(), 0);
	EXPECT_LE(slab_maintain(), slab_options()->decay_ms);
}

/* A program that sets a timer anew, however often, sets it to the same moment. */
TEST(DecayTimeTest, TheNextPassComesNearerWhileOneWaits)
{
	test_cache cache(object_size);
	const long whole = slab_options()->decay_ms / static_cast<long>(DECAY_EPOCHS);

	run_all_passes();
	slab_free(cache, slab_alloc(cache));
	EXPECT_LE(decay_wait(), whole);
	usleep(20000);
	EXPECT_LE(decay_wait(), whole - 20);
}

/* Passes are as many as there was time for, not as there were calls. */
TEST(DecayTimeTest, CallsInBetweenDoNothing)
{
	test_cache cache(object_size);

	free_all(cache, allocate(cache, 1000));
	run_pass();
	const std::uint32_t epoch = decay_epoch();

	for (unsigned i = 0; i < 1000; i++)
		slab_maintain();
	EXPECT_EQ(decay_epoch(), epoch);
}

TEST(DecayTimeTest, NeverIsNever)
{
	if (!in_environment({"SLAB_DECAY_MS=never"}))
		return;
	test_cache cache(object_size);
	const objects objs = allocate(cache, 20000);
	const std::size_t pages = resident(objs);

	free_all(cache, objs);
	EXPECT_EQ(slab_maintain(), -1);
	run_passes(3 * decay_epochs);
	EXPECT_EQ(resident(objs), pages);
	EXPECT_EQ(decay_epoch(), 0u);
	EXPECT_GE(slab_trim(), pages * page);
	EXPECT_EQ(resident(objs), 0u);
}

TEST(DecayTimeTest, ZeroIsAtOnce)
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
	run_passes(enough_epochs);
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
	static const folder dir;

	return {"SLAB_CONTROL=on", "SLAB_DECAY_MS=40", "SLAB_RUNTIME_DIR=" + dir.path};
}

/* Until the alarm of the second run. */
void wait_until(const std::function<bool()> &is_so)
{
	while (!is_so())
		usleep(5000);
}

TEST(DecayTimeTest, AProcessWithAControlThreadShrinksUntouched)
{
	if (!in_environment(with_thread()))
		return;
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	wait_until([&] { return resident(s.dead) == s.mixed_pages(); });
	free_all(cache, s.live);
	wait_until([&] { return resident(s.dead) == 0; });
	EXPECT_EQ(resident(s.live), 0u);
}

bool has_control_thread()
{
	for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
		std::ifstream comm(task.path() / "comm");
		std::string line;

		std::getline(comm, line);
		if (line == "slab-control")
			return true;
	}
	return false;
}

/* The second run of a test: a child allocates, frees that and what its parent made, and
 * waits until it is gone. maintain() may help. */
void expect_child_to_shrink(const std::function<void()> &maintain, bool has_thread)
{
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);

	EXPECT_IN_CHILD([&] {
		std::vector<void *> more = alloc_many(cache, 20000);
		const std::vector<void *> own = more;

		free_all(cache, more);
		free_all(cache, s.live);
		wait_until([&] {
			maintain();
			return resident(s.dead) + resident(s.live) + resident(own) == 0;
		});
		return has_control_thread() == has_thread ? 0 : 1;
	});
	free_all(cache, s.live);
}

TEST(DecayTimeTest, AChildShrinksUntouchedWhereItsParentHasAControlThread)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	if (!in_environment(with_thread()))
		return;
	expect_child_to_shrink([] {}, true);
}

TEST(DecayTimeTest, AChildsChildDoesToo)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	if (!in_environment(with_thread()))
		return;
	test_cache cache(object_size);

	slab_free(cache, slab_alloc(cache));
	EXPECT_IN_CHILD([&] {
		if (has_control_thread())
			return 1;
		expect_child_to_shrink([] {}, true);
		return HasFailure() ? 2 : 0;
	});
}

/* Passes were over when it forked: the child begins them anew. */
TEST(DecayTimeTest, AChildOfAnIdleProcessShrinksUntouched)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	if (!in_environment(with_thread()))
		return;
	wait_until([] { return decay_wait() == 0; });
	expect_child_to_shrink([] {}, true);
}

TEST(DecayTimeTest, WithoutAControlThreadAChildHasNoneAndIsMaintainedByCalls)
{
	if (!in_environment({"SLAB_CONTROL=off", "SLAB_DECAY_MS=40"}))
		return;
	expect_child_to_shrink([] { slab_maintain(); }, false);
}

/* The last timer may run out yet. */
bool comes_to_rest()
{
	for (int tries = 0; tries < 50; tries++) {
		const unsigned long before = wakeups();

		usleep(300000);
		if (wakeups() == before)
			return true;
	}
	return false;
}

TEST(DecayTimeTest, AnIdleProcessIsNotWoken)
{
	const runtime_dir dir; /* no slabinfo of the machine looks here */

	if (!in_environment(with_thread()))
		return;
	test_cache cache(object_size);

	for (unsigned round = 0; round < 3; round++) {
		const objects objs = allocate(cache, 2000);

		free_all(cache, objs);
		wait_until([] { return decay_wait() == 0; });
		EXPECT_EQ(resident(objs), 0u);
		EXPECT_TRUE(comes_to_rest());
	}
}

/* --- at once ---------------------------------------------------------------------------- */

TEST(TrimTest, EverythingUnusedGoesAtOnce)
{
	test_cache cache(object_size);
	const survivors s = thin_out(cache, 20000, 10 * objects_per_page);
	const std::size_t gone = pages_of(s.dead).size() - s.mixed_pages();

	EXPECT_GE(slab_trim(), gone * page);
	EXPECT_EQ(resident(s.dead), s.mixed_pages());
	EXPECT_EQ(slab_trim(), 0u) << "nothing is left to give";
	for (std::size_t i = 0; i < s.live.size(); i++)
		EXPECT_TRUE(intact(s.live[i], object_size, i * 10 * objects_per_page));
	free_all(cache, s.live);
	EXPECT_GE(slab_trim(), pages_of(s.live).size() * page);
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

/* A child that only frees, and only into its CPU's array. */
TEST(DecayTimeTest, AChildThatFreesAFewObjectsStartsItsThread)
{
	if (std::string(slab_engine()) != "rseq")
		GTEST_SKIP() << "the child's first free is no slow path";
	if (!in_environment({"SLAB_CONTROL=on", "SLAB_DECAY_MS=200"}))
		return;
	test_cache cache(4096);
	std::vector<void *> objs = alloc_many(cache, 161);

	EXPECT_IN_CHILD([&] {
		for (unsigned i = 0; i < 48; i++)
			slab_free(cache, objs[i]);
		wait_until([&] { return stats_of(cache).cpu_objects == 0; });
		return has_control_thread() ? 0 : 1;
	});
	free_all(cache, objs);
}

} /* namespace */
