/* SPDX-License-Identifier: MIT */
/*
 * Frees that wait for a grace period, with each of liburcu's flavours: what readers
 * see, how much may wait, and that nothing is lost without memory. Type-safe
 * caches, threads and forks: rcu_thread_test.cc.
 */
#include "../support/rcu_caches.h"

namespace
{

INSTANTIATE_TEST_SUITE_P(Flavours, RcuTest, testing::ValuesIn(flavours),
			 [](const auto &info) { return info.param.name; });

/* --- slab_free_rcu() -------------------------------------------------------------- */

/* Meanwhile a CPU holds them. */
TEST_P(RcuTest, ObjectsAreFreeAfterTheBarrier)
{
	struct slab_cache *cache = create();
	reader other(rcu);

	for (int i = 0; i < 3; i++)
		slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(stats(cache).rcu_pending, 3u);
	other.leave();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats(cache).objects, 0u);
	EXPECT_EQ(stats(cache).rcu_pending, 0u);
	EXPECT_EQ(stats(cache).rcu_freed, 3u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, NoCallbackIsQueuedWhenNothingWaits)
{
	struct slab_cache *cache = create();

	alarm(child_seconds);
	slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	while (__atomic_load_n(&cache->rcu->armed, __ATOMIC_ACQUIRE))
		usleep(1000);
	alarm(0);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, ObjectIsNotHandedOutWhileAReaderMayLookAndLaterItIs)
{
	on_one_cpu here_only;
	struct slab_cache *cache = create();
	void *object = slab_alloc(cache);
	reader other(rcu);

	slab_free_rcu(cache, object);

	std::set<void *> objects = drain_slabs(cache);

	EXPECT_EQ(objects.count(object), 0u);
	EXPECT_EQ(stats(cache).objects, objects.size() + 1);
	other.leave();
	free_all(cache, objects);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	objects = drain_slabs(cache);
	EXPECT_EQ(objects.count(object), 1u);
	free_all(cache, objects);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, NothingIsWrittenToAnObjectThatWaits)
{
	struct slab_cache *cache = create();
	auto *object = static_cast<unsigned char *>(slab_alloc(cache));
	reader other(rcu);

	std::memset(object, 0x42, object_size);
	slab_free_rcu(cache, object);
	for (std::size_t i = 0; i < object_size; i++)
		ASSERT_EQ(object[i], 0x42) << i;
	other.leave();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, WhatWaitsIsRecycledWithoutAFurtherCall)
{
	struct slab_cache *cache = create();

	slab_free_rcu(cache, slab_alloc(cache));
	/* The object is free before it is counted. */
	while (stats(cache).objects || stats(cache).rcu_pending)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	EXPECT_EQ(stats(cache).rcu_freed, 1u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* A decay pass that moves free objects from an array to their slabs counts them as used
 * meanwhile. */
void wait_until_unused(struct slab_cache *cache)
{
	while (stats(cache).objects)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/* Also of more slabs than are linked at the same time, in a CPU's array. */
TEST_P(RcuTest, ManyObjectsInAnyOrderAreAllFreed)
{
	args.rcu = rcu;
	for (const auto &[size, count] :
	     {std::pair<std::size_t, std::size_t>{64, 20000}, {4096, 6000}}) {
		struct slab_cache *cache = slab_cache_create("many", size, &args, 0);
		std::vector<void *> objects(count);

		ASSERT_NE(cache, nullptr);
		for (void *&object : objects)
			object = slab_alloc(cache);
		for (std::size_t i = 0; i < objects.size(); i++)
			slab_free_rcu(cache, objects[i * 7919 % objects.size()]);
		EXPECT_EQ(slab_rcu_barrier(cache), 0);
		wait_until_unused(cache);
		EXPECT_EQ(stats(cache).rcu_freed, objects.size());
		EXPECT_EQ(slab_cache_validate(cache), 0);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
}

TEST_P(RcuTest, NullIsAllowed)
{
	struct slab_cache *cache = create();

	slab_free_rcu(cache, nullptr);
	EXPECT_EQ(stats(cache).rcu_pending, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, DestroyWaitsForWhatWaits)
{
	struct slab_cache *cache = create();
	void *object = slab_alloc(cache);
	std::atomic<bool> left{false};
	reader other(rcu);
	std::thread leaver([&] {
		std::this_thread::sleep_for(std::chrono::milliseconds(30));
		left = true;
		other.leave();
	});

	slab_free_rcu(cache, object);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_TRUE(left);
	leaver.join();
}

TEST_P(RcuTest, DestroyReportsWhatWasNeverFreed)
{
	struct slab_cache *cache = create();
	void *kept = slab_alloc(cache);

	slab_free_rcu(cache, slab_alloc(cache));
	slab_set_report_handler([](const struct slab_report *, void *) {}, nullptr);
	EXPECT_EQ(slab_cache_destroy(cache), -EBUSY);
	slab_set_report_handler(nullptr, nullptr);
	slab_free(cache, kept);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, ManyCachesComeAndGoWithCallbacksUnderWay)
{
	for (int i = 0; i < 50; i++) {
		struct slab_cache *cache = create();

		slab_free_rcu(cache, slab_alloc(cache));
		ASSERT_EQ(slab_cache_destroy(cache), 0);
	}
}

/* The callback that was pending at the destruction gives it back. */
TEST_P(RcuTest, TheStateOfADestroyedCacheIsReused)
{
	struct slab_cache *cache = create();
	const struct cache_rcu *state = cache->rcu;
	std::vector<struct slab_cache *> later;

	slab_free_rcu(cache, slab_alloc(cache));
	ASSERT_EQ(slab_cache_destroy(cache), 0);
	alarm(child_seconds);
	do {
		usleep(1000);
		later.push_back(create(0, std::to_string(later.size()).c_str()));
	} while (later.back() && later.back()->rcu != state);
	alarm(0);
	ASSERT_NE(later.back(), nullptr);
	for (struct slab_cache *each : later)
		EXPECT_EQ(slab_cache_destroy(each), 0);
}

/* --- the backlog ---------------------------------------------------------------------- */

/* 96 bytes: 174762 objects may wait; each turn and each CPU may have some more. */
constexpr std::uint64_t backlog = (16u << 20) / object_size, slack = backlog / 2;

std::uint64_t most_pending(struct slab_cache *cache, std::size_t frees)
{
	std::uint64_t most = 0;

	for (std::size_t i = 0; i < frees; i++) {
		slab_free_rcu(cache, slab_alloc(cache));
		if (i % 256 == 0)
			most = std::max(most, stats(cache).rcu_pending);
	}
	return most;
}

TEST_P(RcuTest, AProducerThatOutrunsGracePeriodsHelps)
{
	struct slab_cache *cache = create();
	reader slow(rcu); /* so that something waits, however slow we are */
	std::thread leaver([&] {
		while (stats(cache).rcu_pending < backlog / 4)
			std::this_thread::yield();
		slow.leave();
	});

	int rounds = 0;

	do
		EXPECT_LE(most_pending(cache, 300000), backlog + slack);
	while (!stats(cache).rcu_helped && ++rounds < 10);
	leaver.join();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	if (rounds == 10)
		GTEST_SKIP() << "grace periods outrun this producer";
}

/* No grace period can end meanwhile, so all of it waits. */
TEST_P(RcuTest, AProducerWithinASectionIsHeldUp)
{
	struct slab_cache *cache = create();

	{
		section reading(rcu);

		EXPECT_GT(most_pending(cache, backlog + 10000), backlog);
	}
	EXPECT_GT(stats(cache).rcu_helped, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, ProducersWithinShortSectionsStayBounded)
{
	struct slab_cache *cache = create();
	std::uint64_t most = 0;

	for (int i = 0; i < 4000; i++) {
		section reading(rcu);

		most = std::max(most, most_pending(cache, 100));
	}
	EXPECT_LE(most, backlog + slack);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, ChurnTakesNoMoreSlabsThanMayWait)
{
	struct slab_cache *cache = create();
	const unsigned per_slab = stats(cache).objects_per_slab;

	for (int i = 0; i < 3; i++) {
		most_pending(cache, 200000);
		EXPECT_LE(stats(cache).slabs, (backlog + slack) / per_slab + 16);
	}
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, ProducersWaitForAReaderThatTakesItsTime)
{
	struct slab_cache *cache = create();
	reader slow(rcu);
	std::atomic<bool> stop{false};
	std::vector<std::thread> producers;
	std::uint64_t most = 0;

	for (int i = 0; i < 2; i++)
		producers.emplace_back([&] {
			registered there(rcu);

			while (!stop)
				slab_free_rcu(cache, slab_alloc(cache));
		});
	while (most <= backlog)
		most = std::max(most, stats(cache).rcu_pending);
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	most = std::max(most, stats(cache).rcu_pending);
	stop = true;
	slow.leave();
	join_all(producers);
	EXPECT_LE(most, backlog + slack);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* --- bad input -------------------------------------------------------------------------- */

TEST_P(RcuTest, BarrierWithinASectionIsRefused)
{
	if (rcu == &urcu_qsbr_flavor)
		GTEST_SKIP() << "there, the barrier is a quiescent state";

	struct slab_cache *cache = create();

	{
		section reading(rcu);

		EXPECT_EQ(slab_rcu_barrier(cache), -EDEADLK);
		EXPECT_EQ(slab_cache_destroy(cache), -EDEADLK);
	}
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(Rcu, BarrierOfACacheWithoutRcuIsRefused)
{
	struct slab_cache *cache = slab_cache_create("plain", 64, nullptr, 0);

	EXPECT_EQ(slab_rcu_barrier(cache), -EINVAL);
	EXPECT_EQ(slab_rcu_barrier(nullptr), -EINVAL);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(Rcu, TypeSafetyNeedsAFlavour)
{
	EXPECT_EQ(slab_cache_create("entry", 64, nullptr, SLAB_TYPESAFE_BY_RCU), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

/* --- objects in the arrays of CPUs ----------------------------------------------------------- */

/* A reader keeps the callback, which would empty the array, too. */
TEST_P(RcuTest, AFullArrayIsPassedOnAsAWhole)
{
	const on_one_cpu here_only;
	struct slab_cache *cache = create();
	reader other(rcu);
	const struct cpu_array *array =
		cpu_array(cache->rcu->arrays, static_cast<unsigned>(cpu_engine->cpu()));

	for (std::uint64_t n = 0; n < cache->rcu_max; n++)
		slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(cpu_array_count(array), cache->rcu_max);
	slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(cpu_array_count(array), 1u);
	other.leave();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* --- sampled objects ----------------------------------------------------------------------- */

TEST_P(RcuTest, AGuardedObjectWaitsToo)
{
	struct slab_cache *cache = create();
	reader other(rcu);
	unsigned char *object;

	ASSERT_EQ(slab_cache_sample(cache, 1), 0);
	object = static_cast<unsigned char *>(slab_alloc(cache));
	ASSERT_EQ(stats(cache).guarded_slabs, 1u);
	object[0] = 0x42;
	slab_free_rcu(cache, object);
	EXPECT_EQ(object[0], 0x42);
	other.leave();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats(cache).objects, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* --- out of memory ------------------------------------------------------------------------ */

TEST_P(RcuTest, NothingIsLostWhereverMemoryRunsOut)
{
	std::vector<struct slab_cache *> caches;
	unsigned failed = 0;

	args.rcu = rcu;
	/* None is destroyed before the end, so that each kind of memory is needed. */
	for (unsigned i = 0; i < 64; i++) {
		const std::string name = "entry" + std::to_string(i);
		const std::string spec = "times=1,interval=" + std::to_string(1 + i / 4 % 5);

		ASSERT_EQ(slab_set_fail(spec.c_str()), 0);

		struct slab_cache *cache = slab_cache_create(name.c_str(), object_size, &args,
							     i % 2 ? 0 : SLAB_TYPESAFE_BY_RCU);

		if (cache) {
			caches.push_back(cache);
			slab_free_rcu(cache, slab_alloc(cache));
		} else {
			failed++;
			EXPECT_EQ(errno, ENOMEM);
		}
		ASSERT_EQ(slab_set_fail(nullptr), 0);
	}
	EXPECT_GT(failed, 0u);
	for (struct slab_cache *cache : caches) {
		slab_free_rcu(cache, slab_alloc(cache));
		EXPECT_EQ(slab_rcu_barrier(cache), 0);
		EXPECT_EQ(stats(cache).objects, 0u);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
}

} /* namespace */
