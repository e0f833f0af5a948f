/* SPDX-License-Identifier: MIT */
/*
 * The kernel refuses the fence to a thread: what CPUs hold stays there, and everything else works.
 * A process with one thread needs no fence.
 */
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include <sys/single_threaded.h>

#include <slab/debug.h>

#include "../support/lifo_fixture.h"
#include "../support/refuse.h"
#include "../support/reports.h"
#include "../support/without_thread.h"

extern "C" {
#include "inject.h"
}

using namespace slab_test;

namespace
{

void refuse_at_fenced(int point)
{
	if (point == CPU_INJECT_SLOTS_FENCED)
		refuse_fences();
}

class UnfencedTest : public LifoTest
{
protected:
	void SetUp() override
	{
		bool refused = false;

		if (!has_lifo())
			GTEST_SKIP() << "engines with locks need no help of the kernel";
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

	/* Shrink in a thread whose first fence succeeds and whose other fences fail. */
	void shrink_fenced_once()
	{
		cpu_inject_hook = refuse_at_fenced;
		std::thread([this] { slab_cache_shrink(cache_); }).join();
		cpu_inject_hook = nullptr;
	}

	std::vector<void *> slab_with_held_objects()
	{
		std::vector<void *> objs = alloc_full_slab();

		fill_lifo(objs, 2);
		return objs;
	}
};

TEST_F(UnfencedTest, ShrinkLeavesWhatCpusHold)
{
	slab_with_held_objects();
	const struct cpu_slab *current = slot()->current;

	unfenced([this] { EXPECT_EQ(slab_cache_shrink(cache_), 0); });
	EXPECT_EQ(held_by_lifo(), 2u);
	EXPECT_EQ(slot()->current, current);
	EXPECT_EQ(slot()->closed, 0u);
	check();
}

TEST_F(UnfencedTest, DebugFlagsTakeEffect)
{
	const std::vector<void *> objs = slab_with_held_objects();

	unfenced([this] { EXPECT_EQ(slab_cache_debug(cache_, SLAB_RED_ZONE | SLAB_POISON), 0); });
	EXPECT_TRUE(slab_is_tagged(slab_of(alloc()), SLAB_TAG_DEBUG));
	for (void *obj : std::vector<void *>(held_))
		free(obj);
	EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
}

TEST_F(UnfencedTest, DestructionReleasesWhatCpusHold)
{
	struct slab_cache *cache = slab_cache_create("unfenced", 8192, nullptr, SLAB_NO_MERGE);

	slab_free(cache, slab_alloc(cache));
	unfenced([cache] { EXPECT_EQ(slab_cache_destroy(cache), 0); });
}

TEST_F(UnfencedTest, SlabsThatWereTakenBeforeAreListedByTheNextFence)
{
	const std::vector<void *> objs = slab_with_held_objects();
	struct cpu_slab *current = slot()->current;

	shrink_fenced_once();
	EXPECT_EQ(held_by_lifo(), 2u);
	EXPECT_EQ(slot()->current, nullptr);
	EXPECT_EQ(slot()->closed, 0u);
	EXPECT_TRUE(cache_has_taken(cache_));
	EXPECT_EQ(slab_alloc(cache_), objs[1]);
	held_.push_back(objs[1]);

	slab_cache_shrink(cache_);
	EXPECT_FALSE(cache_has_taken(cache_));
	EXPECT_EQ(state(slab_from_cpu(current)), at::node);
	expect_slots_empty();
	check();
}

TEST(OneThreadTest, ShrinksUnderAFilterThatKillsOnMembarrier)
{
	if (!in_environment({"SLAB_CONTROL=off"}))
		return;
	if (!__libc_single_threaded)
		GTEST_SKIP() << "a sanitizer has a thread";
	struct slab_cache *cache = slab_cache_create("alone", 8192, nullptr, SLAB_NO_MERGE);

	slab_free(cache, slab_alloc(cache));
	if (!answer_by(SYS_membarrier, SECCOMP_RET_KILL_PROCESS))
		GTEST_SKIP() << "no seccomp filter here";
	EXPECT_EQ(slab_cache_shrink(cache), 1);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

} /* namespace */
