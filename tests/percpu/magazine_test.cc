/* SPDX-License-Identifier: MIT */
/*
 * Magazines: which frees fill them, which allocations empty them, and how their objects get back
 * to their slabs. Engines without a LIFO have no magazines; they must not differ in what the
 * caller sees.
 */
#include <algorithm>
#include <set>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <slab/debug.h>
#include <slab/memory.h>
#include <slab/stats.h>

#include "../support/passes.h"
#include "../support/slab_state.h"

extern "C" {
#include "base/maintenance.h"
#include "pages/idle.h"
#include "percpu/magazines.h"
}

using namespace slab_test;

namespace
{

class MagazineTest : public SlabStateTest
{
protected:
	MagazineTest() : SlabStateTest(8192)
	{
		set_lifo_max(lifo_max);
	}

	static bool has_magazines()
	{
		return has_lifo();
	}

	unsigned full(unsigned node = 0) const
	{
		return cache_->node[node].magazines;
	}

	/* Free objects of a full slab: into the LIFO, and with n > lifo_max into magazines. */
	void free_first(const std::vector<void *> &objs, unsigned n)
	{
		for (unsigned i = 0; i < n; i++)
			free(objs[i]);
		check();
	}

	/* Allocate until the CPU has no object in its LIFO or its current slab. */
	void exhaust()
	{
		const struct cpu_slab *current = slot()->current;

		while (lifo(cpu_)->count || cpu_slab_free_count(current) > 0)
			alloc();
	}

	static constexpr unsigned lifo_max = 4, room = 2;
	/* So many objects fill the LIFO and all magazines. */
	static constexpr unsigned held_at_most = lifo_max + MAGAZINES_MAX * room;
};

TEST_F(MagazineTest, AFreeIntoAFullLifoMovesItsNewerHalfThere)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, lifo_max + 1);
	ASSERT_EQ(full(), 1u);
	EXPECT_EQ(cache_->node[0].rest->magazine[0].obj[0], objs[2]);
	EXPECT_EQ(cache_->node[0].rest->magazine[0].obj[1], objs[3]);
	EXPECT_EQ(lifo(cpu_)->count, 3u);
	EXPECT_EQ(lifo(cpu_)->obj[2], objs[4]);
	EXPECT_EQ(state(objs[0]), at::full);
	EXPECT_EQ(event(SLAB_EVENT_FREE_SLOWPATH), 0u);
}

unsigned polls;

/* In a process without the maintenance thread. */
TEST_F(MagazineTest, AFreeThatFillsOneDoesTheWorkThatIsDue)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	EXPECT_EQ(run_in_child([&] {
			  static const struct maintenance_driver driver = {[] {}, [] { polls++; }};
			  const std::vector<void *> objs = alloc_full_slab();

			  free_first(objs, lifo_max);
			  maintenance_set_driver(&driver);
			  maintenance_polls = true;
			  slab_free(cache_, objs[lifo_max]);
			  return full() != 1 ? 1 : polls != 1 ? 2 : 0;
		  }),
		  "");
}

TEST_F(MagazineTest, AFreeThatFillsOneLetsDecayPassesGoOn)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, lifo_max);
	idle_active = 0;
	free(objs[lifo_max]);
	EXPECT_EQ(full(), 1u);
	EXPECT_EQ(idle_active, 1u);
}

TEST_F(MagazineTest, TheirObjectsAreFreeInTheStatistics)
{
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, held_at_most);
	EXPECT_EQ(stats_of(cache_).objects, held_.size());
	if (has_magazines()) {
		EXPECT_EQ(magazine_objects(cache_), MAGAZINES_MAX * room);
		EXPECT_EQ(stats_of(cache_).cpu_objects, held_at_most);
	}
}

TEST_F(MagazineTest, WhenAllAreFullFreesGoToTheirSlab)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, held_at_most + 2);
	EXPECT_EQ(full(), MAGAZINES_MAX);
	EXPECT_EQ(lifo(cpu_)->count, lifo_max);
	EXPECT_EQ(state(objs[0]), at::partial);
	EXPECT_EQ(local(slab_of(objs[0])), 2u);
}

TEST_F(MagazineTest, WhileTheNodesLockIsTakenFreesGoToTheirSlab)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, lifo_max);
	pthread_mutex_lock(&cache_->node[0].lock);
	free(objs[lifo_max]);
	pthread_mutex_unlock(&cache_->node[0].lock);
	EXPECT_EQ(full(), 0u);
	EXPECT_EQ(state(objs[0]), at::partial);
}

TEST_F(MagazineTest, AnAllocationTakesOneWhenTheCurrentSlabAndTheLifoAreExhausted)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	const std::vector<void *> objs = alloc_full_slab();
	struct cpu_slab *current = slot()->current;

	free_first(objs, lifo_max + 1);
	exhaust();
	ASSERT_EQ(full(), 1u);
	EXPECT_EQ(alloc(), objs[3]);
	EXPECT_EQ(full(), 0u);
	EXPECT_EQ(alloc(), objs[2]);
	EXPECT_EQ(slot()->current, current);
	check();
}

TEST_F(MagazineTest, AnAllocationGetsObjectsThatAnotherCpuFreed)
{
	if (!has_magazines() || one_cpu())
		GTEST_SKIP() << "no magazines, or one CPU";
	const std::vector<void *> objs = alloc_full_slab();
	const std::uint64_t slabs = stats_of(cache_).slabs;

	elsewhere([&] {
		for (unsigned i = 0; i < held_at_most + 1; i++)
			free(objs[i]);
	});
	exhaust();
	for (unsigned i = 0; i < MAGAZINES_MAX * room; i++)
		EXPECT_NE(std::find(objs.begin(), objs.end(), alloc()), objs.end());
	EXPECT_EQ(stats_of(cache_).slabs, slabs);
	EXPECT_EQ(full(), 0u);
	check();
}

/* The CPU has no current slab. */
TEST_F(MagazineTest, SamplingCountsObjectsThatACpuGetsFromOne)
{
	if (!has_magazines() || one_cpu())
		GTEST_SKIP() << "no magazines, or one CPU";
	const std::vector<void *> objs = alloc_full_slab();
	constexpr long interval = 1 << 20;

	free_first(objs, lifo_max + 1);
	cache_->sample.left = interval;
	cache_->sample.interval = interval; /* without ticks, which count, too */
	elsewhere([&] { alloc(); });
	cache_->sample.interval = 0;
	EXPECT_EQ(full(), 0u);
	EXPECT_EQ(slot(other_cpu())->current, nullptr);
	EXPECT_EQ(interval - cache_->sample.left, static_cast<long>(room));
	check();
}

TEST_F(MagazineTest, ABulkAllocationFromTheCpuAloneLeavesThem)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	const std::vector<void *> objs = alloc_full_slab();
	void *got = nullptr;

	free_first(objs, lifo_max + 1);
	exhaust();
	while (slab_alloc_bulk(cache_, SLAB_ALLOC_LOCAL, 1, &got))
		held_.push_back(got);
	EXPECT_EQ(full(), 1u);
	check();
}

TEST_F(MagazineTest, ABulkAllocationFromTheNodeTakesThem)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	const std::vector<void *> objs = alloc_full_slab();
	void *got = nullptr;

	free_first(objs, lifo_max + 1);
	exhaust();
	ASSERT_EQ(slab_alloc_bulk(cache_, SLAB_ALLOC_PARTIAL, 1, &got), 1u);
	held_.push_back(got);
	EXPECT_EQ(got, objs[3]);
	EXPECT_EQ(full(), 0u);
	check();
}

TEST_F(MagazineTest, AShrinkReturnsTheirObjectsToTheirSlab)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, held_at_most);
	EXPECT_GE(slab_cache_shrink(cache_), 0);
	check();
	expect_slots_empty();
	EXPECT_EQ(full(), 0u);
	EXPECT_EQ(magazine_objects(cache_), 0u);
	EXPECT_EQ(local(slab_of(objs[0])) + remote(slab_of(objs[0])), held_at_most);
}

TEST_F(MagazineTest, SwitchingDebugFlagsOnReturnsTheirObjects)
{
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, held_at_most);
	ASSERT_EQ(slab_cache_debug(cache_, SLAB_POISON), 0);
	EXPECT_EQ(full(), 0u);
	EXPECT_EQ(stats_of(cache_).objects, held_.size());
	ASSERT_EQ(slab_cache_debug(cache_, 0), 0);
}

TEST_F(MagazineTest, TheyAreEmptyAfterADecayTimeWithoutUse)
{
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, held_at_most);
	run_passes(enough_epochs);
	EXPECT_EQ(full(), 0u);
	check();
}

TEST_F(MagazineTest, AnAllocationAtItsLimitGetsTheirObjects)
{
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, held_at_most);
	ASSERT_EQ(slab_stat_write(cache_, "limit", stats_of(cache_).slabs << cache_->large.shift),
		  0);
	while (stats_of(cache_).objects < stats_of(cache_).slabs * cache_->large.objects) {
		void *obj = slab_alloc(cache_);

		ASSERT_NE(obj, nullptr);
		held_.push_back(obj);
	}
	EXPECT_EQ(slab_alloc(cache_), nullptr);
	ASSERT_EQ(slab_stat_write(cache_, "limit", 0), 0);
}

TEST_F(MagazineTest, TheChildOfAForkAllocatesTheirObjects)
{
	const std::vector<void *> objs = alloc_full_slab();

	free_first(objs, held_at_most);
	const pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child) {
		std::set<void *> got;

		for (unsigned i = 0; i < 2 * cache_->large.objects; i++)
			got.insert(slab_alloc(cache_));
		for (unsigned i = 0; i < held_at_most; i++)
			if (!got.count(objs[i]))
				_exit(1);
		_exit(0);
	}
	int status;

	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
}

TEST_F(MagazineTest, EachNodeHasItsOwn)
{
	if (!has_magazines())
		GTEST_SKIP() << "no magazines";
	if (!running_again()) {
		const second_run run = run_again({"SLAB_FAKE_NODES=2"});

		EXPECT_EQ(run.failure, "") << run.output;
		return;
	}
	const unsigned here = topology_node_of_cpu(cpu_);
	const std::vector<void *> near = alloc_full_slab();
	void *far = slab_alloc_node(cache_, static_cast<int>((1 - here) | SLAB_NODE_STRICT));

	ASSERT_NE(far, nullptr);
	held_.push_back(far);
	free_first(near, lifo_max + 1);
	EXPECT_EQ(full(here), 1u);
	EXPECT_EQ(full(1 - here), 0u);
	for (unsigned i = 0; i < room; i++)
		EXPECT_EQ(slab_of(cache_->node[here].rest->magazine[0].obj[i])->node, here);
	free(near[lifo_max + 1]); /* the LIFO is full again */
	const std::uint64_t held = lifo(cpu_)->count;

	free(far);
	EXPECT_EQ(lifo(cpu_)->count, held);
	EXPECT_EQ(full(here), 1u);
}

/* Also slabs that become empty when their objects return from the magazines. */
TEST(Magazine, AShrinkCountsAllSlabsThatItReleases)
{
	pin(0);
	for (const std::size_t size : {4096, 8192, 16384}) {
		test_cache cache(size);
		std::vector<void *> objs(1576);

		for (void *&obj : objs)
			obj = slab_alloc(cache);
		for (void *obj : objs)
			slab_free(cache, obj);
		const std::uint64_t slabs = stats_of(cache).slabs;
		const int released = slab_cache_shrink(cache);

		EXPECT_EQ(stats_of(cache).slabs + static_cast<unsigned>(released), slabs) << size;
	}
}

/* The handle of a destroyed cache is reused, with the memory of its magazines. */
TEST(Magazine, ACacheIsDestroyedWhileTheyHoldObjects)
{
	for (unsigned i = 0; i < 2 * FREE_CACHES_KEPT; i++) {
		struct slab_cache *cache = slab_cache_create("held", 8192, nullptr, SLAB_NO_MERGE);
		std::vector<void *> objs(cache->large.objects * 8);

		for (void *&obj : objs)
			obj = slab_alloc(cache);
		for (void *obj : objs)
			slab_free(cache, obj);
		ASSERT_EQ(slab_cache_destroy(cache), 0);
	}
}

TEST(Magazine, HasRoomForHalfOfTheLongestLifo)
{
	EXPECT_GE(sizeof(magazine::obj) / sizeof(magazine::obj[0]), CPU_LIFO_MAX / 2);
}

} /* namespace */
