/* SPDX-License-Identifier: MIT */
/*
 * A program that has its flavour's hooks called by pthread_atfork(), registered before it
 * uses libslab at all. Hooks that are registered later come earlier on the way to fork():
 * libslab's must nevertheless be the last, or liburcu waits for a thread that wants a lock
 * which libslab holds already.
 */
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <slab/rcu.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "../support/debugging.h"
#include "../support/flavours.h"
#include "../support/process.h"

using namespace slab_test;

namespace
{

/* The order that liburcu wants. */
const bool registered =
	(pthread_atfork(urcu_bp_before_fork, urcu_bp_after_fork_parent, urcu_bp_after_fork_child),
	 pthread_atfork(urcu_bp_call_rcu_before_fork, urcu_bp_call_rcu_after_fork_parent,
			urcu_bp_call_rcu_after_fork_child),
	 true);

int free_many_in_child(struct slab_cache *cache)
{
	for (int n = 0; n < 5000; n++)
		slab_free_rcu(cache, slab_alloc(cache));
	if (slab_rcu_barrier(cache) != 0)
		return 1;
	if (stats_of(cache).rcu_pending != 0)
		return 2;
	return slab_cache_validate(cache) == 0 ? 0 : 3;
}

TEST(RcuFork, HooksThatWereRegisteredBeforeFirstUseDoNotWaitForEver)
{
	struct slab_cache_args args = {};
	std::atomic<bool> stop{false};
	std::vector<std::thread> producers;

	ASSERT_TRUE(registered);
	args.rcu = &urcu_bp_flavor;

	struct slab_cache *cache = slab_cache_create("forked", 2048, &args, 0);

	ASSERT_NE(cache, nullptr);
	alarm(child_seconds);
	for (int i = 0; i < 2; i++)
		producers.emplace_back([&] {
			while (!stop)
				slab_free_rcu(cache, slab_alloc(cache));
		});
	for (int i = 0; i < 100; i++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(i % 5));
		EXPECT_EQ(run_in_child_now([&] { return free_many_in_child(cache); }), "");
	}
	stop = true;
	for (std::thread &producer : producers)
		producer.join();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	alarm(0);
}

} /* namespace */
