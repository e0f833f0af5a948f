/* SPDX-License-Identifier: MIT */
/*
 * Frees that wait for a grace period, and type-safe caches, with each of liburcu's
 * flavours. A reader is a thread of its own that does what it is told.
 */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/memory.h>
#include <slab/rcu.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "../support/debugging.h"
#include "../support/flavours.h"
#include "../support/process.h"
#include "../support/whitebox.h"

using namespace slab_test;

namespace
{

constexpr std::size_t object_size = 96;

struct flavour {
	const char *name;
	const struct rcu_flavor_struct *rcu;
};

const flavour flavours[] = {
	{"memb", &urcu_memb_flavor},
	{"mb", &urcu_mb_flavor},
	{"qsbr", &urcu_qsbr_flavor},
	{"bp", &urcu_bp_flavor},
};

/* Known to the flavour as long as it lives; in qsbr offline, unless it reads. */
class registered
{
public:
	explicit registered(const struct rcu_flavor_struct *flavor) : rcu(flavor)
	{
		rcu->register_thread();
		rcu->thread_offline();
	}
	~registered()
	{
		rcu->thread_online();
		rcu->unregister_thread();
	}
	registered(const registered &) = delete;
	registered &operator=(const registered &) = delete;

private:
	const struct rcu_flavor_struct *rcu;
};

/* A read-side critical section, as long as it lives. */
class section
{
public:
	explicit section(const struct rcu_flavor_struct *flavor) : rcu(flavor)
	{
		rcu->thread_online();
		rcu->read_lock();
	}
	~section()
	{
		rcu->read_unlock();
		rcu->thread_offline();
	}
	section(const section &) = delete;
	section &operator=(const section &) = delete;

private:
	const struct rcu_flavor_struct *rcu;
};

/* A thread that is in a section from its construction until leave(). */
class reader
{
public:
	explicit reader(const struct rcu_flavor_struct *flavor)
		: thread([this, flavor] {
			  registered here(flavor);
			  section reading(flavor);
			  std::unique_lock<std::mutex> lock(mutex);

			  inside = true;
			  changed.notify_all();
			  changed.wait(lock, [this] { return !inside; });
		  })
	{
		std::unique_lock<std::mutex> lock(mutex);

		changed.wait(lock, [this] { return inside; });
	}
	~reader()
	{
		if (thread.joinable())
			leave();
	}
	void leave()
	{
		{
			std::lock_guard<std::mutex> lock(mutex);

			inside = false;
		}
		changed.notify_all();
		thread.join();
	}

private:
	std::mutex mutex;
	std::condition_variable changed;
	bool inside = false;
	std::thread thread;
};

struct slab_stats stats(struct slab_cache *cache)
{
	struct slab_stats stats = {};

	stats.struct_size = sizeof(stats);
	EXPECT_EQ(slab_cache_stats(cache, &stats), 0);
	return stats;
}

class RcuTest : public testing::TestWithParam<flavour>
{
protected:
	const struct rcu_flavor_struct *rcu = GetParam().rcu;
	registered here{rcu};
	struct slab_cache_args args = {};

	struct slab_cache *create(std::uint64_t flags = 0, const char *name = "entry")
	{
		args.rcu = rcu;

		struct slab_cache *cache = slab_cache_create(name, object_size, &args, flags);

		EXPECT_NE(cache, nullptr) << std::strerror(errno);
		return cache;
	}
};

INSTANTIATE_TEST_SUITE_P(Flavours, RcuTest, testing::ValuesIn(flavours),
			 [](const auto &info) { return info.param.name; });

/* All objects that a cache hands out until it takes another slab. */
std::set<void *> drain_slabs(struct slab_cache *cache)
{
	const std::uint64_t slabs = stats(cache).slabs;
	std::set<void *> objects;

	while (stats(cache).slabs == slabs)
		objects.insert(slab_alloc(cache));
	return objects;
}

/* On one CPU as long as it lives: a slab's free objects are its owner's. */
class on_one_cpu
{
public:
	on_one_cpu()
	{
		pin(0);
	}
	~on_one_cpu()
	{
		unpin();
	}
	on_one_cpu(const on_one_cpu &) = delete;
	on_one_cpu &operator=(const on_one_cpu &) = delete;
};

void free_all(struct slab_cache *cache, const std::set<void *> &objects)
{
	for (void *object : objects)
		slab_free(cache, hidden(object));
}

/* --- slab_free_rcu() -------------------------------------------------------------- */

TEST_P(RcuTest, ObjectIsFreeAfterTheBarrier)
{
	struct slab_cache *cache = create();

	slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats(cache).objects, 0u);
	EXPECT_EQ(stats(cache).rcu_pending, 0u);
	EXPECT_EQ(stats(cache).rcu_freed, 1u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, ObjectIsNotHandedOutWhileAReaderMayLook)
{
	on_one_cpu here_only;
	struct slab_cache *cache = create();
	void *object = slab_alloc(cache);
	reader other(rcu);

	slab_free_rcu(cache, object);

	const std::set<void *> objects = drain_slabs(cache);

	EXPECT_EQ(objects.count(object), 0u);
	EXPECT_EQ(stats(cache).objects, objects.size() + 1);
	other.leave();
	free_all(cache, objects);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, ObjectIsHandedOutAgainLater)
{
	on_one_cpu here_only;
	struct slab_cache *cache = create();
	void *object = slab_alloc(cache);

	slab_free_rcu(cache, object);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);

	const std::set<void *> objects = drain_slabs(cache);

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

TEST_P(RcuTest, WhatWaitsIsRecycledWithoutAnybodysDoing)
{
	struct slab_cache *cache = create();

	slab_free_rcu(cache, slab_alloc(cache));
	while (stats(cache).objects)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	EXPECT_EQ(stats(cache).rcu_freed, 1u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(RcuTest, ManyObjectsInAnyOrderAreAllFreed)
{
	struct slab_cache *cache = create();
	std::vector<void *> objects(20000);

	for (void *&object : objects)
		object = slab_alloc(cache);
	for (std::size_t i = 0; i < objects.size(); i++)
		slab_free_rcu(cache, objects[i * 7919 % objects.size()]);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats(cache).objects, 0u);
	EXPECT_EQ(stats(cache).rcu_freed, objects.size());
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
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

	do
		EXPECT_LE(most_pending(cache, 300000), backlog + slack);
	while (!stats(cache).rcu_helped);
	leaver.join();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
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

	for (int i = 0; i < 10000; i++) {
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

	for (int i = 0; i < 5; i++) {
		most_pending(cache, 400000);
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
	for (std::thread &producer : producers)
		producer.join();
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
	struct slab_cache *cache = slab_cache_create("plain", 64, nullptr, SLAB_NO_MERGE);

	EXPECT_EQ(slab_rcu_barrier(cache), -EINVAL);
	EXPECT_EQ(slab_rcu_barrier(nullptr), -EINVAL);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(Rcu, TypeSafetyNeedsAFlavour)
{
	EXPECT_EQ(slab_cache_create("entry", 64, nullptr, SLAB_TYPESAFE_BY_RCU), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

TEST_P(RcuTest, CachesWithAFlavourAreNotMerged)
{
	struct slab_cache *one = create(0, "one"), *two = create(0, "two");
	struct slab_cache *plain = slab_cache_create("plain", object_size, nullptr, 0);

	EXPECT_NE(one, two);
	EXPECT_NE(plain, one);
	EXPECT_NE(plain, two);
	for (struct slab_cache *cache : {one, two, plain})
		EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* --- type-safe caches ---------------------------------------------------------------------- */

struct typed {
	std::uint64_t magic;
	char rest[object_size - sizeof(std::uint64_t)];
};

constexpr std::uint64_t typed_magic = 0x7479706573616665;

int construct(void *object, void *)
{
	static_cast<typed *>(object)->magic = typed_magic;
	return 0;
}

std::atomic<unsigned> destroyed;

void destruct(void *object, void *)
{
	static_cast<typed *>(object)->magic = 0;
	destroyed++;
}

class TypesafeTest : public RcuTest
{
protected:
	void SetUp() override
	{
		args.ctor = construct;
		args.dtor = destruct;
		destroyed = 0;
	}
};

INSTANTIATE_TEST_SUITE_P(Flavours, TypesafeTest, testing::ValuesIn(flavours),
			 [](const auto &info) { return info.param.name; });

TEST_P(TypesafeTest, SlabsStayWhatTheyAreWhileAReaderMayLook)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU);
	std::vector<typed *> objects(10000);
	reader other(rcu);

	for (typed *&object : objects)
		object = static_cast<typed *>(slab_alloc(cache));
	for (typed *object : objects)
		slab_free(cache, hidden(object));
	slab_cache_shrink(cache);
	EXPECT_EQ(destroyed, 0u);
	for (const typed *object : objects)
		ASSERT_EQ(object->magic, typed_magic);
	other.leave();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, SlabsGoAfterTheGracePeriod)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU);
	std::vector<void *> objects(10000);

	for (void *&object : objects)
		object = slab_alloc(cache);
	for (void *object : objects)
		slab_free(cache, hidden(object));
	slab_cache_shrink(cache);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats(cache).slabs, 0u);
	EXPECT_GE(destroyed, objects.size());
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, ObjectsAreReusedAtOnce)
{
	on_one_cpu here_only;
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU);
	reader other(rcu);
	void *object = slab_alloc(cache);

	slab_free(cache, hidden(object));

	const std::set<void *> objects = drain_slabs(cache);

	EXPECT_EQ(objects.count(object), 1u);
	free_all(cache, objects);
	other.leave();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, FreeObjectsAreNeverPoisoned)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU | SLAB_DEBUG_DEFAULT);
	auto *object = static_cast<typed *>(slab_alloc(cache));

	slab_free(cache, hidden(object));
	EXPECT_EQ(object->magic, typed_magic);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, DebugSlabsGoAfterTheGracePeriod)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU | SLAB_DEBUG_DEFAULT);
	auto *object = static_cast<typed *>(slab_alloc(cache));
	reader other(rcu);

	slab_free(cache, hidden(object));
	slab_cache_shrink(cache);
	EXPECT_EQ(destroyed, 0u);
	EXPECT_EQ(object->magic, typed_magic);
	other.leave();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_GT(destroyed, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_P(TypesafeTest, NoneIsSampled)
{
	struct slab_cache *cache = create(SLAB_TYPESAFE_BY_RCU);

	slab_cache_sample(cache, 1);
	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(stats(cache).guarded_slabs, 0u);
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

/* --- libslab's own thread -------------------------------------------------------------------- */

thread_local int times_known;
thread_local bool called, called_unknown;

/* The flavour, with a count of how often the calling thread is registered. */
const struct rcu_flavor_struct *counting()
{
	static const struct rcu_flavor_struct flavour = [] {
		struct rcu_flavor_struct copy = urcu_memb_flavor;

		copy.register_thread = [] {
			times_known++;
			urcu_memb_flavor.register_thread();
		};
		copy.unregister_thread = [] {
			times_known--;
			urcu_memb_flavor.unregister_thread();
		};
		return copy;
	}();

	return &flavour;
}

void note_whether_known()
{
	called = true;
	called_unknown |= times_known != 1;
}

struct slab_cache *create_with_callbacks()
{
	struct slab_cache_args args = {};

	args.rcu = counting();
	args.ctor = [](void *, void *) { return 0; };
	args.reclaim = [](struct slab_cache *, void *) -> std::size_t {
		note_whether_known();
		return 0;
	};
	args.isolate = [](void *, void *) {
		note_whether_known();
		return 0;
	};
	args.migrate = [](void *, void *, void *) {
		note_whether_known();
		return 1;
	};
	return slab_cache_create("called", 512, &args, 0);
}

TEST(Rcu, CallbacksInOurThreadFindItRegistered)
{
	struct slab_cache *cache = create_with_callbacks();
	std::vector<void *> objects(1000);

	ASSERT_NE(cache, nullptr);
	for (void *&object : objects)
		object = slab_alloc(cache);
	for (std::size_t i = 0; i < objects.size(); i++)
		if (i % 8)
			slab_free(cache, objects[i]);
	std::thread([&] {
		rcu_this_thread_is_ours();
		EXPECT_EQ(slab_cache_defrag(cache), 0);
		slab_reclaim(SIZE_MAX);
		EXPECT_TRUE(called);
		EXPECT_FALSE(called_unknown);
		EXPECT_EQ(times_known, 0);
	}).join();
	EXPECT_GT(stats(cache).reclaims, 0u);
	for (std::size_t i = 0; i < objects.size(); i += 8)
		slab_free(cache, objects[i]);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* --- out of memory ------------------------------------------------------------------------ */

TEST_P(RcuTest, NothingIsLostWhereverMemoryRunsOut)
{
	std::vector<struct slab_cache *> caches;
	unsigned failed = 0;

	args.rcu = rcu;
	/* None is destroyed before the end, so that each kind of memory is asked for. */
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

/* --- fork --------------------------------------------------------------------------------------- */

/* No hooks are called, so there may never be a grace period in the child. */
TEST_P(RcuTest, AChildFreesWithoutWaiting)
{
	struct slab_cache *cache = create();
	std::atomic<bool> stop{false};
	std::thread producer([&] {
		registered there(rcu);

		while (!stop)
			slab_free_rcu(cache, slab_alloc(cache));
	});

	for (int i = 0; i < 5; i++)
		EXPECT_EQ(run_in_child([&] {
				  for (int n = 0; n < 1000; n++)
					  slab_free_rcu(cache, slab_alloc(cache));
				  return slab_cache_validate(cache) == 0 ? 0 : 1;
			  }),
			  "");
	stop = true;
	producer.join();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* Who was waiting for a grace period when the parent forked is not there; nor is memory
 * for fresh structs, of which 16 share a page. */
TEST(Rcu, AChildWithoutMemoryFreesWithoutWaiting)
{
	struct slab_cache_args args = {};
	std::vector<struct slab_cache *> caches;

	args.rcu = &urcu_bp_flavor;
	for (unsigned i = 0; i < 80; i++) {
		const std::string name = "forked" + std::to_string(i);

		caches.push_back(slab_cache_create(name.c_str(), object_size, &args, 0));
		ASSERT_NE(caches.back(), nullptr);
		caches.back()->rcu->driving = 1;
	}
	ASSERT_EQ(slab_set_fail("interval=1"), 0);
	EXPECT_EQ(run_in_child([&] {
			  slab_set_fail(nullptr);
			  alarm(10);
			  for (struct slab_cache *cache : caches)
				  for (int n = 0; n < 10000; n++)
					  slab_free_rcu(cache, slab_alloc(cache));
			  return 0;
		  }),
		  "");
	ASSERT_EQ(slab_set_fail(nullptr), 0);
	for (struct slab_cache *cache : caches) {
		cache->rcu->driving = 0;
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
}

/* A callback of one cache may lead to those of another, with another flavour. */
TEST(Rcu, OurThreadRegistersWithEachFlavourOnce)
{
	static thread_local int first, other;
	static struct rcu_flavor_struct one = {}, two = {};

	one.register_thread = [] { first++; };
	one.unregister_thread = [] { first--; };
	two.register_thread = [] { other++; };
	two.unregister_thread = [] { other--; };
	std::thread([] {
		rcu_this_thread_is_ours();

		const auto *outer = rcu_enter_flavor(&one), *inner = rcu_enter_flavor(&two);

		rcu_leave(rcu_enter_flavor(&one));
		EXPECT_EQ(first, 1);
		EXPECT_EQ(other, 1);
		rcu_leave(inner);
		EXPECT_EQ(other, 0);
		rcu_leave(outer);
		EXPECT_EQ(first, 0);
	}).join();
}

/* With the hooks of the flavour, a child has a callback thread of its own. */
TEST(Rcu, NothingWaitsForEverInAChild)
{
	struct slab_cache_args args = {};
	std::atomic<bool> stop{false};
	std::vector<std::thread> producers;

	args.rcu = &urcu_bp_flavor;

	struct slab_cache *cache = slab_cache_create("forked", 2048, &args, 0);

	for (int i = 0; i < 2; i++)
		producers.emplace_back([&] {
			while (!stop)
				slab_free_rcu(cache, slab_alloc(cache));
		});
	for (int i = 0; i < 20; i++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(1 + i % 5));
		urcu_bp_call_rcu_before_fork();
		urcu_bp_before_fork();

		const pid_t child = fork();

		if (child == 0) {
			urcu_bp_after_fork_child();
			urcu_bp_call_rcu_after_fork_child();
			alarm(child_seconds);
			for (int n = 0; n < 20000; n++)
				slab_free_rcu(cache, slab_alloc(cache));
			_exit(slab_rcu_barrier(cache) != 0      ? 1
			      : stats(cache).rcu_pending != 0   ? 2
			      : slab_cache_validate(cache) != 0 ? 3
								: 0);
		}
		urcu_bp_after_fork_parent();
		urcu_bp_call_rcu_after_fork_parent();
		EXPECT_EQ(child_failure(child), "");
	}
	stop = true;
	for (std::thread &producer : producers)
		producer.join();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

} // namespace
