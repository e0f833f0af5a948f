/* SPDX-License-Identifier: MIT */
/* Closing: how a thread gets at what CPUs hold, with and without a fence. */
#include <sys/single_threaded.h>

#include "../support/process.h"
#include "../support/refuse.h"
#include "../support/once.h"
#include "percpu.h"

namespace
{

class ClosingTest : public PerCpuTest
{
protected:
	/* body() while the cache is closed and fenced. */
	void closed(const std::function<void()> &body)
	{
		close_begin(cache_);
		EXPECT_TRUE(close_fence());
		body();
		close_end(cache_);
	}
};

TEST_F(ClosingTest, SectionsMissWhileItIsClosed)
{
	alloc();
	closed([&] {
		EXPECT_EQ(cpu_pop(cache_), nullptr);
		EXPECT_EQ(cpu_engine->push(&cache_->arrays, held_[0]), CPU_MISS);
	});
	void *obj = cpu_pop(cache_);

	ASSERT_NE(obj, nullptr);
	held_.push_back(obj);
}

TEST_F(ClosingTest, AllocationsAndFreesGoToTheSlabs)
{
	const std::vector<void *> objs = alloc(12);

	closed([&] {
		struct put_bad bad = {};
		std::uint64_t used;

		close_drain(cache_, &bad);
		used = used_in_slabs(cache_);
		free(objs[3]);
		EXPECT_EQ(used_in_slabs(cache_), used - 1);
		alloc();
		EXPECT_EQ(used_in_slabs(cache_), used);
		EXPECT_EQ(arrays_objects(cache_), 0u);
	});
	expect_counted();
}

TEST_F(ClosingTest, ADrainReturnsAllThatCpusHold)
{
	const std::vector<void *> objs = alloc(30);

	free({objs.begin(), objs.begin() + 10});
	closed([&] {
		struct put_bad bad = {};
		const std::size_t held = arrays_objects(cache_);

		EXPECT_GE(held, 10u);
		EXPECT_EQ(close_drain(cache_, &bad), held);
		EXPECT_EQ(bad.n, 0u);
		EXPECT_EQ(arrays_objects(cache_), 0u);
	});
	EXPECT_EQ(used_in_slabs(cache_), held_.size());
}

TEST_F(ClosingTest, ADrainOfOneCpuLeavesTheOthers)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	alloc();
	elsewhere([&] { alloc(); });
	const std::size_t there = cpu_array_count(array(allowed_cpus()[1]));

	closed([&] {
		struct put_bad bad = {};

		EXPECT_GT(close_drain_cpu(cache_, cpu_, &bad), 0u);
	});
	EXPECT_EQ(arrays_objects(cache_), there);
	expect_counted();
}

TEST_F(ClosingTest, ItsArraysAreUsedAgainAfterwards)
{
	alloc();
	slab_cache_shrink(cache_);
	alloc();
	EXPECT_GT(count(), 0u);
	const std::uint64_t refills = event(SLAB_EVENT_ALLOC_REFILL);

	for (int i = 0; i < 100; i++) {
		void *obj = alloc();

		free(obj);
	}
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_REFILL), refills);
}

TEST_F(ClosingTest, BadObjectsOfADrainAreNoted)
{
	const std::vector<void *> objs = alloc(2);
	struct put_bad bad = {};

	free(objs);
	slab_free(cache_, objs[0]);
	closed([&] { close_drain(cache_, &bad); });
	ASSERT_EQ(bad.n, 1u);
	EXPECT_EQ(bad.bad[0].obj, objs[0]);
	EXPECT_EQ(bad.bad[0].what, PUT_FREE_ALREADY);
}

/* The last of the threads that close a cache opens it. */
TEST_F(ClosingTest, TwoThreadsMayCloseIt)
{
	free(alloc(10));
	closed([&] {
		std::thread([&] {
			const std::size_t held = arrays_objects(cache_);

			EXPECT_EQ(cache_drain(cache_, nullptr, nullptr), static_cast<long>(held));
		}).join();
		EXPECT_EQ(cpu_pop(cache_), nullptr);
		EXPECT_NE(cache_->arrays, cache_->own_arrays);
	});
	EXPECT_EQ(cache_->arrays, cache_->own_arrays);
	EXPECT_EQ(arrays_objects(cache_), 0u);
	expect_counted();
}

TEST_F(ClosingTest, SwitchingDebugFlagsOnEmptiesThem)
{
	alloc(3);
	EXPECT_EQ(slab_cache_debug(cache_, SLAB_CONSISTENCY_CHECKS), 0);
	EXPECT_EQ(arrays_objects(cache_), 0u);
	free(std::vector<void *>(held_));
	EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
}

TEST_F(ClosingTest, AValidationFindsNothing)
{
	free(alloc(50));
	EXPECT_EQ(slab_cache_validate(cache_), 0);
	expect_counted();
}

/* A set gate keeps allocations off the arrays, whether the cache is closed meanwhile or not. */
TEST_F(ClosingTest, AGateStaysSet)
{
	slab_cache_shrink(cache_);
	EXPECT_EQ(cache_->alloc_arrays, cache_->arrays);
	flush_lock(cache_);
	cache_gate_set(cache_, GATE_COUNT, true);
	flush_unlock(cache_);
	slab_cache_shrink(cache_);
	EXPECT_NE(cache_->alloc_arrays, cache_->arrays);
	flush_lock(cache_);
	cache_gate_set(cache_, GATE_COUNT, false);
	flush_unlock(cache_);
	EXPECT_EQ(cache_->alloc_arrays, cache_->arrays);
}

/* --- signals --------------------------------------------------------------------------------- */

struct slab_cache *handled;
unsigned popped, handled_signals;

void pop_and_push(int)
{
	void *obj = cpu_pop(handled);

	handled_signals++;
	popped += obj != nullptr;
	if (obj && cpu_engine->push(&handled->arrays, obj) != CPU_DONE)
		popped += 1000;
}

void raise_at(int point)
{
	if (point >= CPU_INJECT_SECTIONS && point != CPU_INJECT_LOCKING &&
	    point != CPU_INJECT_UNLOCKED)
		raise(SIGUSR1);
}

/* A handler's sections miss from the moment on in which the pointer is changed. */
TEST_F(ClosingTest, AHandlerFindsAClosedCacheEmpty)
{
	struct sigaction action = {}, before;

	free(alloc(10));
	handled = cache_;
	popped = handled_signals = 0;
	action.sa_handler = pop_and_push;
	sigaction(SIGUSR1, &action, &before);
	cpu_inject_hook = raise_at;
	closed([&] {
		struct put_bad bad = {};

		close_drain(cache_, &bad);
	});
	cpu_inject_hook = nullptr;
	sigaction(SIGUSR1, &before, nullptr);
	EXPECT_GE(handled_signals, 3u);
	EXPECT_EQ(popped, 0u);
	expect_counted();
}

/* --- other caches ----------------------------------------------------------------------------- */

/* A thread that empties an array has objects of its cache in its hands. */
TEST_F(ClosingTest, ADrainOfShortArraysWaitsForNoOtherCache)
{
	const test_cache other(64);
	std::atomic<bool> done{false};
	std::thread drains;

	slab_free(other, slab_alloc(other));
	free(alloc(10));
	once_at(CPU_INJECT_ARRAY_EMPTIED, [&] {
		drains = std::thread([&] {
			cache_drain(other, nullptr, nullptr);
			done = true;
		});
		for (int ms = 0; ms < 200 && !done; ms++)
			usleep(1000);
		EXPECT_TRUE(done);
	});
	cache_drain(cache_, nullptr, nullptr);
	ASSERT_TRUE(drains.joinable());
	drains.join();
}

/* --- fork ------------------------------------------------------------------------------------- */

TEST_F(ClosingTest, AChildFindsTheCacheOpen)
{
	free(alloc(10));
	close_begin(cache_);
	EXPECT_IN_CHILD([&] {
		return cache_->closers || cache_->arrays != cache_->own_arrays ||
				       !slab_alloc(cache_)
			       ? 1
			       : 0;
	});
	EXPECT_TRUE(close_fence());
	close_end(cache_);
}

/* --- without a fence -------------------------------------------------------------------------- */

class UnfencedTest : public PerCpuTest
{
protected:
	void SetUp() override
	{
		bool refused = false;

		if (!has_rseq())
			GTEST_SKIP() << "the other engines need no help of the kernel";
		std::thread([&refused] { refused = refuse_fences(); }).join();
		if (!refused)
			GTEST_SKIP() << "no seccomp filter here";
	}

	/* Do something in a thread whose fences fail. */
	static void unfenced(const std::function<void()> &act)
	{
		std::thread([&act] {
			EXPECT_TRUE(refuse_fences());
			act();
		}).join();
	}
};

TEST_F(UnfencedTest, AShrinkLeavesWhatCpusHold)
{
	free(alloc(10));
	const unsigned before = count();

	unfenced([this] { EXPECT_EQ(slab_cache_shrink(cache_), 0); });
	EXPECT_EQ(count(), before);
	expect_counted();
	void *obj = cpu_pop(cache_);

	ASSERT_NE(obj, nullptr) << "the cache is closed";
	held_.push_back(obj);
}

TEST_F(UnfencedTest, ADrainSaysSo)
{
	alloc();
	unfenced([this] { EXPECT_EQ(cache_drain(cache_, nullptr, nullptr), -1); });
}

TEST_F(UnfencedTest, DebugFlagsTakeEffect)
{
	alloc(3);
	unfenced([this] { EXPECT_EQ(slab_cache_debug(cache_, SLAB_RED_ZONE | SLAB_POISON), 0); });
	EXPECT_TRUE(slab_is_tagged(slab_of(alloc()), SLAB_TAG_DEBUG));
	free(std::vector<void *>(held_));
	EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
}

TEST_F(UnfencedTest, ADestructionReleasesWhatCpusHold)
{
	struct slab_cache *cache = slab_cache_create("unfenced", 8192, nullptr, 0);

	slab_free(cache, slab_alloc(cache));
	unfenced([cache] { EXPECT_EQ(slab_cache_destroy(cache), 0); });
}

TEST_F(UnfencedTest, ArraysStayShort)
{
	set_array_length(cache_, 200);
	unfenced([this] {
		pin(0);
		for (void *obj : alloc_many(cache_, 500))
			slab_free(cache_, obj);
	});
	EXPECT_FALSE(cache_has_long_arrays(cache_));
	expect_counted();
}

TEST(OneThreadTest, ShrinksUnderAFilterThatKillsOnMembarrier)
{
	if (!in_environment({"SLAB_CONTROL=off"}))
		return;
	if (!__libc_single_threaded)
		GTEST_SKIP() << "a sanitizer has a thread";
	struct slab_cache *cache = slab_cache_create("alone", 8192, nullptr, 0);

	slab_free(cache, slab_alloc(cache));
	if (!answer_by(SYS_membarrier, SECCOMP_RET_KILL_PROCESS))
		GTEST_SKIP() << "no seccomp filter here";
	EXPECT_EQ(slab_cache_shrink(cache), 1);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

} /* namespace */
