/* SPDX-License-Identifier: MIT */
/*
 * A program that has its flavour's hooks called by pthread_atfork(), registered before it
 * uses libslab at all. Hooks that are registered later come earlier on the way to fork():
 * libslab's must nevertheless be the last, or liburcu waits for a thread that wants a lock
 * which libslab holds already.
 */
#include "../support/debugging.h"
#include "../support/flavours.h"

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
	join_all(producers);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	alarm(0);
}

/* Two threads that free objects of their own, and count them. */
struct freeing {
	static constexpr std::size_t each = 25000;

	explicit freeing(struct slab_cache *cache) : cache_(cache)
	{
		for (std::vector<void *> &objects : objects_)
			for (std::size_t i = 0; i < each; i++)
				objects.push_back(slab_alloc(cache));
		for (int t = 0; t < 2; t++)
			threads_.emplace_back([this, t] {
				for (std::size_t i = 0; i < each; i++) {
					slab_free_rcu(cache_, objects_[t][i * 7919 % each]);
					freed_[t]++;
				}
			});
	}

	~freeing() { join_all(threads_); }

	std::size_t left() const { return 2 * each - freed_[0] - freed_[1]; }

	struct slab_cache *cache_;
	std::vector<void *> objects_[2];
	std::atomic<std::size_t> freed_[2] = {};
	std::vector<std::thread> threads_;
};

TEST(RcuFork, AChildHasWhatOtherThreadsFreed)
{
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;

	struct slab_cache *cache = slab_cache_create("freed", 64, &args, 0);

	ASSERT_NE(cache, nullptr);
	for (int i = 0; i < 30; i++) {
		cache->rcu->armed = 1; /* no callback: nothing is recycled before the barrier */
		{
			freeing both(cache);

			while (both.left() > (i + 1) * 2 * freeing::each / 32)
				std::this_thread::yield();
			EXPECT_EQ(run_in_child_now([&] {
					  const std::size_t left = both.left();

					  if (slab_rcu_barrier(cache) != 0)
						  return 1;
					  /* Each thread may have been in the middle of a free. */
					  const std::size_t objects = stats_of(cache).objects;

					  return objects + 2 >= left && objects <= left + 2 ? 0 : 2;
				  }),
				  "");
		}
		cache->rcu->armed = 0;
		ASSERT_EQ(slab_rcu_barrier(cache), 0);
		ASSERT_EQ(stats_of(cache).objects, 0u);
	}
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

} /* namespace */
