/* SPDX-License-Identifier: MIT */
/* Revocation: slabs are taken back from CPUs, and allocations return to the fast path. */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/slab_state.h"

extern "C" {
#include "cpu_cache.h"
#include "core/isolated.h"
#include "pages/segment.h"
#include "percpu/refill.h"
}

using namespace slab_test;

namespace
{

TEST_F(SlabStateTest, ShrinkTakesBackEverythingThatCpusHold)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	const std::vector<void *> first = alloc_slab(), second = alloc_slab(), third = alloc_slab();
	void *last = alloc();

	free(first[1]);
	free(second[1]);
	elsewhere([&] { free_all({third[0], third[1], last}); });
	ASSERT_EQ(state(first[2]), at::partial);
	ASSERT_EQ(state(second[2]), at::partial);
	ASSERT_NE(slot()->current, nullptr);
	ASSERT_NE(slot(other_cpu())->remote_batch, 0u);

	EXPECT_GE(slab_cache_shrink(cache_), 0);
	check();
	expect_slots_empty();
	EXPECT_GE(event(SLAB_EVENT_FLUSH), 2u);
	for (void *obj : held_)
		EXPECT_TRUE(state(obj) == at::node || state(obj) == at::full) << state(obj);
	EXPECT_EQ(state(first[2]), at::node);

	/* And the CPUs go on. */
	elsewhere([&] { alloc(2); });
	free_all(alloc(40));
}

TEST_F(SlabStateTest, ShrinkTakesBackSlabsThatWereHandedToACpu)
{
	const std::vector<void *> objs = alloc(2);
	struct slab *slab = slab_of(objs[0]);

	ASSERT_NO_FATAL_FAILURE(hand_to_cpu(slab));
	check();
	EXPECT_EQ(state(slab), at::handed_off);
	EXPECT_EQ(event(SLAB_EVENT_HANDED_OFF), 1u);

	slab_cache_shrink(cache_);
	check();
	EXPECT_EQ(state(slab), at::node);
	expect_slots_empty();
}

TEST_F(SlabStateTest, SlabsThatWereHandedToACpuAreUsedByIt)
{
	const std::vector<void *> objs = alloc(2);
	struct slab *slab = slab_of(objs[0]);

	ASSERT_NO_FATAL_FAILURE(hand_to_cpu(slab));
	while (local(slab))
		alloc();
	EXPECT_EQ(state(slab), at::current);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), 1u);
}

TEST_F(SlabStateTest, ShrinkGivesEmptySlabsToThePageLayerAndTheirMemoryBack)
{
	const std::vector<void *> objs = alloc_full_slab();
	struct slab *slab = slab_of(objs[0]);

	free_all(held_);
	EXPECT_EQ(slab_cache_shrink(cache_), 2);
	check();
	EXPECT_EQ(stats_of(cache_).slabs, 0u);
	EXPECT_EQ(state(slab), at::free);
	EXPECT_EQ(resident_pages(slab->cpu.base, slab_bytes(slab)), 0u);
	EXPECT_EQ(slab_cache_shrink(cache_), 0);
}

/* It takes nothing, and says so. */
TEST_F(SlabStateTest, AFlushWithATimeLimitGivesUpWhereTheLockIsHeld)
{
	unsigned released = 1;
	bool flushed = true;

	alloc();
	flush_lock(cache_);
	std::thread([&] { flushed = cache_flush_as(cache_, FLUSH_LOCK_TIMED, &released); }).join();
	flush_unlock(cache_);
	EXPECT_FALSE(flushed);
	EXPECT_EQ(released, 0u);
	EXPECT_NE(slot()->current, nullptr);
}

TEST_F(SlabStateTest, WhileASlotIsClosedAllocationsGoToTheNode)
{
	slot()->closed = 1;
	const std::vector<void *> objs = alloc(cache_->large.objects + 1);

	EXPECT_EQ(state(objs[0]), at::full);
	EXPECT_EQ(state(objs.back()), at::node);
	EXPECT_EQ(slot()->current, nullptr);
	free_all(objs);
	EXPECT_EQ(slot()->remote_batch, 0u);
	EXPECT_EQ(slot()->partial, 0u);
	slot()->closed = 0;
	check();
}

TEST_F(SlabStateTest, ValidateIsolatesSlabsAndPutsThemBack)
{
	const std::vector<void *> objs = alloc_full_slab();

	free(objs[1]);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
	check();
	expect_slots_empty();
	EXPECT_EQ(state(objs[2]), at::node);
	EXPECT_EQ(state(held_.back()), at::node);
}

/* A CPU lists slabs with free objects, and another one needs a slab. */
class Stealing : public SlabStateTest
{
protected:
	void SetUp() override
	{
		if (one_cpu())
			GTEST_SKIP() << "one CPU";
		elsewhere([&] { list_slabs(4); });
		ASSERT_GT(listed(other_cpu()), 1u);
		ASSERT_LE(listed(other_cpu()), cache_->cpu_partial);
	}

	/* Let this CPU own and list n slabs, each with one free object. */
	void list_slabs(unsigned n)
	{
		std::vector<void *> one_of_each;

		for (unsigned i = 0; i < n; i++)
			one_of_each.push_back(alloc_slab()[0]);
		free_all(one_of_each);
	}

	std::uint32_t listed(int cpu) const
	{
		return cpu_word_count(slot(cpu)->partial);
	}

	/* Allocate until the cache has a fresh slab; returns the number of objects. */
	unsigned until_fresh()
	{
		const std::uint64_t before = event(SLAB_EVENT_ALLOC_SLAB);
		unsigned n = 0;

		for (; event(SLAB_EVENT_ALLOC_SLAB) == before; n++)
			alloc();
		return n;
	}

	/* The same while another thread holds the lock for a moment: set(1) after it took the
	 * lock, set(0) before it releases it. */
	unsigned until_fresh_beside_a_holder(const std::function<void(unsigned)> &set)
	{
		std::atomic<bool> holds{false};
		std::thread holder([&] {
			flush_lock(cache_);
			set(1);
			holds = true;
			std::this_thread::sleep_for(std::chrono::milliseconds(2));
			set(0);
			flush_unlock(cache_);
		});

		while (!holds)
			std::this_thread::yield();
		cache_->stolen = long_ago;
		const unsigned n = until_fresh();
		holder.join();
		return n;
	}

	/* How often this thread has waited. */
	static long sleeps()
	{
		struct rusage usage;

		getrusage(RUSAGE_THREAD, &usage);
		return usage.ru_nvcsw;
	}

	static constexpr std::uint64_t long_ago = 0, in_the_future = ~UINT64_C(0) / 2;
};

TEST_F(Stealing, TakesSlabsOfACpuBeforeTheCacheGrows)
{
	cache_->stolen = long_ago;
	EXPECT_GT(until_fresh(), 2u);
	EXPECT_EQ(listed(other_cpu()), 0u);
	EXPECT_NE(cache_->stolen, long_ago);
}

/* Another thread may be preempted while it holds the lock. */
TEST_F(Stealing, WaitsForAThreadThatHoldsTheLock)
{
	EXPECT_GT(until_fresh_beside_a_holder([](unsigned) {}), 2u);
}

/* The thread that takes slabs from this CPU has not listed them yet. */
TEST_F(Stealing, WaitsWhileTheSlotIsClosed)
{
	const auto close = [this](unsigned closed) {
		__atomic_store_n(&slot()->closed, closed, __ATOMIC_RELEASE);
	};

	EXPECT_GT(until_fresh_beside_a_holder(close), 2u);
}

TEST_F(Stealing, DoesNotWaitForItsOwnLock)
{
	cache_->stolen = long_ago;
	flush_lock(cache_);
	const long before = sleeps();
	EXPECT_EQ(until_fresh(), 1u);
	EXPECT_EQ(sleeps(), before);
	flush_unlock(cache_);
}

/* Another thread has stored its time since this one read the clock. */
TEST_F(Stealing, IsNotRepeatedAtOnce)
{
	cache_->stolen = in_the_future;
	EXPECT_EQ(until_fresh(), 1u);
	EXPECT_GT(listed(other_cpu()), 1u);
}

TEST_F(Stealing, LeavesItsTurnToTheNextOneIfItFindsNothing)
{
	slab_cache_shrink(cache_);
	cache_->stolen = long_ago;
	until_fresh();
	EXPECT_EQ(cache_->stolen, long_ago);
}

/* CPUs on which no thread runs here. Each lists two slabs. */
TEST(StealingFromMany, RevokesFourCpusAtMost)
{
	EXPECT_EQ(run_in_child([] {
			  constexpr int first = 3, last = 8;
			  struct slab_cache *cache = one_order(
				  slab_cache_create("many", 8192, nullptr, SLAB_NO_MERGE));
			  std::vector<void *> objs = alloc_many(cache, 20 * cache->large.objects);
			  unsigned revoked = 0;

			  for (std::size_t i = 0; i < objs.size(); i += cache->large.objects)
				  slab_free(cache, objs[i]);
			  slab_cache_shrink(cache);
			  cpu_possible_is_wrong(); /* more CPUs than threads may run on */
			  for (int cpu = first; cpu <= last; cpu++) {
				  struct slab *pair = node_take(cache, 0, 2);

				  for (struct slab *slab = pair; slab; slab = slab->next) {
					  cpu_slab_set_owner(&slab->cpu,
							     static_cast<std::uint32_t>(cpu));
					  slab->cpu.next =
						  slab->next ? cpu_word(&slab->next->cpu, 1) : 0;
				  }
				  cpu_slot(cache->cpu_slots, cpu)->partial =
					  cpu_word(&pair->cpu, 2);
			  }
			  cache->stolen = 0;
			  if (!cache_steal(cache))
				  return 1;
			  for (int cpu = first; cpu <= last; cpu++)
				  revoked += !cpu_slot(cache->cpu_slots, cpu)->partial;
			  return revoked == 4 ? 0 : 2;
		  }),
		  "");
}

/* A shrink, a validation or a decay pass while one object of a steady load is in use. */
class FastAgain : public SlabStateTest
{
protected:
	FastAgain()
	{
		set_lifo_max(3);
	}

	void expect_fast_after(const std::function<void()> &act)
	{
		alloc();
		act();
		free(held_.back());
		for (int i = 0; i < 2; i++)
			free(alloc());
		if (!has_lifo()) {
			EXPECT_NE(slot()->current, nullptr);
			return; /* the other engines know no fast path */
		}
		const std::uint64_t before = event(SLAB_EVENT_ALLOC_SLOWPATH);

		for (int i = 0; i < 1000; i++)
			free(alloc());
		/* Some may have been interrupted. */
		EXPECT_LT(event(SLAB_EVENT_ALLOC_SLOWPATH) - before, 100u);
	}
};

TEST_F(FastAgain, AfterAShrink)
{
	expect_fast_after([&] { slab_cache_shrink(cache_); });
}

TEST_F(FastAgain, AfterAValidation)
{
	expect_fast_after([&] { slab_cache_validate(cache_); });
}

TEST_F(FastAgain, AfterARevocationAsOfADecayPass)
{
	expect_fast_after([&] { cache_revoke(cache_, 1); });
}

TEST_F(FastAgain, WhenTheFreedObjectsSlabIsFull)
{
	const std::vector<void *> objs = alloc_full_slab();
	const std::uint64_t slabs = event(SLAB_EVENT_ALLOC_SLAB);

	slab_cache_shrink(cache_);
	free(objs[0]);
	EXPECT_EQ(lifo(cpu_)->count, has_lifo() ? 1u : 0u);
	EXPECT_EQ(alloc(), objs[0]);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLAB), slabs);
	EXPECT_EQ(state(objs[0]), has_lifo() ? at::full : at::current);
}

} /* namespace */
