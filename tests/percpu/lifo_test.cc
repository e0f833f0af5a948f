/* SPDX-License-Identifier: MIT */
/*
 * A CPU's LIFO in a cache: which frees go there, which allocations come from there, and how
 * its objects get back to their slabs. Engines without a LIFO must not differ in what the
 * caller sees.
 */
#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <slab/debug.h>
#include <slab/stats.h>

#include "../support/reports.h"
#include "../support/slab_state.h"

extern "C" {
#include "percpu/lifo_length.h"
}

using namespace slab_test;

namespace
{

class LifoTest : public SlabStateTest
{
protected:
	explicit LifoTest(std::size_t size = 8192) : SlabStateTest(size)
	{
		set_lifo_max(max);
		without_magazines();
	}

	/* The free objects of a slab, the next to be allocated first. */
	static std::vector<void *> free_objects(struct slab *slab)
	{
		struct walk {
			struct slab *slab;
			std::vector<void *> objs;
		} walk = {slab, {}};

		cpu_slab_each(
			&slab->cpu,
			[](void *arg, std::uint16_t offset8) {
				auto *w = static_cast<struct walk *>(arg);

				w->objs.push_back(cpu_slab_object(&w->slab->cpu, offset8));
			},
			&walk);
		return walk.objs;
	}

	std::uint64_t held_by_lifo(int cpu) const
	{
		return lifo(cpu)->count;
	}

	std::uint64_t held_by_lifo() const
	{
		return held_by_lifo(cpu_);
	}

	/* Free objects of a full slab until n of them are in the LIFO. magazine_test has what a
	 * full LIFO does where the node has room for magazines. */
	void fill_lifo(const std::vector<void *> &objs, unsigned n)
	{
		without_magazines();
		free_first(objs, n);
	}

	void free_first(const std::vector<void *> &objs, unsigned n)
	{
		for (unsigned i = 0; i < n; i++)
			free(objs[i]);
		check();
	}

	/* The test freed these without free(). */
	void forget(std::initializer_list<void *> objs)
	{
		for (void *obj : objs)
			held_.erase(std::find(held_.begin(), held_.end(), obj));
	}

	static constexpr std::uint64_t max = 3;
};

TEST_F(LifoTest, FreesIntoAFullSlabGoThereAndTheSlabStaysFull)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, 2);
	EXPECT_EQ(held_by_lifo(), 2u);
	EXPECT_EQ(state(slab_of(objs[0])), at::full);
	EXPECT_EQ(event(SLAB_EVENT_FREE_SLOWPATH), 0u);
	EXPECT_EQ(stats_of(cache_).cpu_objects, 2u);
}

TEST_F(LifoTest, AFullOneStaysFullAndFurtherFreesGoToTheirSlab)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, max + 2);
	EXPECT_EQ(held_by_lifo(), max);
	EXPECT_EQ(state(slab_of(objs[0])), at::partial);
	EXPECT_EQ(local(slab_of(objs[0])), 2u);
}

TEST_F(LifoTest, BulkFreesPutSingleObjectsOfFullSlabsThere)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab(), others = alloc_full_slab();
	void *const single[] = {objs[0], others[0], objs[1]};

	slab_free_bulk(cache_, std::size(single), single);
	EXPECT_EQ(held_by_lifo(), std::size(single));
	EXPECT_EQ(state(slab_of(objs[0])), at::full);
	EXPECT_EQ(state(slab_of(others[0])), at::full);
	forget({objs[0], objs[1], others[0]});
	check();
}

TEST_F(LifoTest, BulkFreesPutARunOfAFullSlabIntoTheSlab)
{
	const std::vector<void *> objs = alloc_full_slab();

	slab_free_bulk(cache_, 2, objs.data());
	EXPECT_EQ(state(slab_of(objs[0])), at::partial);
	forget({objs[0], objs[1]});
	check();
}

TEST_F(LifoTest, AllocationsTakeTheNewestBeforeTheCurrentSlab)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();
	struct slab *current = slab_of(held_.back());
	const unsigned before = local(current);
	const std::uint64_t slow = event(SLAB_EVENT_ALLOC_SLOWPATH);

	fill_lifo(objs, 2);
	EXPECT_EQ(alloc(), objs[1]);
	EXPECT_EQ(alloc(), objs[0]);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_SLOWPATH), slow);
	EXPECT_EQ(local(current), before);
	EXPECT_EQ(slab_of(alloc()), current);
}

/* An empty LIFO gets half of its length. */
TEST_F(LifoTest, ARefillMovesObjectsOfTheCurrentSlabInItsOrder)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	set_lifo_max(7);
	struct slab *slab = slab_of(alloc());

	slab_cache_shrink(cache_); /* so that all of its free objects are in one place */
	ASSERT_EQ(slab_of(alloc()), slab);
	const std::vector<void *> order = free_objects(slab);

	ASSERT_GE(order.size(), 8u);
	EXPECT_EQ(held_by_lifo(), 0u);
	EXPECT_EQ(alloc(), order[0]);
	EXPECT_EQ(held_by_lifo(), 3u);
	EXPECT_EQ(local(slab), order.size() - 4);
	for (unsigned i = 1; i < 8; i++)
		EXPECT_EQ(alloc(), order[i]) << i;
	check();
}

TEST_F(LifoTest, ALifoOfOneObjectIsNotRefilled)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	set_lifo_max(1);
	alloc(4);
	EXPECT_EQ(held_by_lifo(), 0u);
}

/* Objects beyond its length are used first, one at a time. The current slab is left alone. */
TEST_F(LifoTest, AllocationsUseUpALifoThatBecameShorter)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();
	struct slab *current = slab_of(held_.back());
	const unsigned before = local(current);

	fill_lifo(objs, max);
	set_lifo_max(1);
	free(objs[max]); /* lowers the limit */
	ASSERT_EQ(held_by_lifo(), max);
	for (unsigned i = max; i-- > 0;)
		EXPECT_EQ(alloc(), objs[i]);
	EXPECT_EQ(local(current), before);
	check();
}

TEST_F(LifoTest, ALifoThatBecameLongerTakesMore)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, max);
	set_lifo_max(max + 2);
	for (unsigned i = 0; i < 2; i++)
		free(objs[max + i]);
	EXPECT_EQ(held_by_lifo(), max + 2);
}

TEST_F(LifoTest, WhenItIsFullObjectsOfAnOwnedSlabGoThere)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc(max + 4);
	struct slab *slab = slab_of(objs[0]);

	ASSERT_EQ(state(slab), at::current);
	ASSERT_EQ(held_by_lifo(), 0u);
	const unsigned before = local(slab);

	cache_->node[0].magazines = 0; /* there would be room */
	free_first(objs, max + 4);
	EXPECT_EQ(held_by_lifo(), max);
	EXPECT_EQ(local(slab), before + 4);
	EXPECT_EQ(cache_->node[0].magazines, 0u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_SLOWPATH), 0u);
}

TEST_F(LifoTest, WhenItIsFullASecondFreeOfItsNewestIsReported)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc(max);
	const report_capture reports;

	fill_lifo(objs, max);
	slab_free(cache_, objs[max - 1]);
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_TRUE(reports.contains("Object already free")) << reports.text();
	EXPECT_EQ(held_by_lifo(), max);
	check();
}

TEST_F(LifoTest, WhenItIsFullASecondFreeOfTheTopOfAnOwnedSlabIsReported)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc(max + 2);
	const report_capture reports;

	fill_lifo(objs, max + 2);
	ASSERT_EQ(state(objs[0]), at::current);
	const unsigned before = local(slab_of(objs[0]));

	slab_free(cache_, objs[max + 1]);
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_TRUE(reports.contains("Object already free")) << reports.text();
	EXPECT_EQ(local(slab_of(objs[0])), before);
	check();
}

TEST_F(LifoTest, ObjectsThatAnotherCpuAllocatedGoThereToo)
{
	if (!has_lifo() || one_cpu())
		GTEST_SKIP() << "no LIFO, or one CPU";
	const std::vector<void *> objs = alloc(max);

	elsewhere([&] {
		for (void *obj : objs)
			free(obj);
	});
	EXPECT_EQ(held_by_lifo(other_cpu()), max);
	EXPECT_EQ(slot(other_cpu())->remote_batch, 0u);
	EXPECT_EQ(stats_of(cache_).cpu_objects, max);
}

TEST_F(LifoTest, WhenItIsFullObjectsOfAnotherCpuAreGathered)
{
	if (!has_lifo() || one_cpu())
		GTEST_SKIP() << "no LIFO, or one CPU";
	const std::vector<void *> objs = alloc(max + 4);

	without_magazines();
	elsewhere([&] {
		for (void *obj : objs)
			free(obj);
	});
	EXPECT_EQ(held_by_lifo(other_cpu()), max);
	EXPECT_EQ(cpu_word_count(slot(other_cpu())->remote_batch), 4u);
	EXPECT_EQ(slot(other_cpu())->event[SLAB_EVENT_FREE_SLOWPATH], 4u);
	EXPECT_EQ(stats_of(cache_).cpu_objects, objs.size());
}

TEST_F(LifoTest, WhenItIsFullASecondFreeOfAnotherCpusObjectIsReported)
{
	if (!has_lifo() || one_cpu())
		GTEST_SKIP() << "no LIFO, or one CPU";
	const std::vector<void *> objs = alloc(max + 2);
	const report_capture reports;

	without_magazines();
	elsewhere([&] {
		for (void *obj : objs) { /* LIFO, remote batch */
			free(obj);
			slab_free(cache_, obj);
		}
	});
	EXPECT_EQ(reports.count(), objs.size());
	EXPECT_TRUE(reports.contains("Object already free")) << reports.text();
	check();
}

TEST_F(LifoTest, AShrinkEmptiesIt)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, 2);
	EXPECT_GE(slab_cache_shrink(cache_), 0);
	check();
	expect_slots_empty();
	EXPECT_EQ(local(slab_of(objs[0])) + remote(slab_of(objs[0])), 2u);
}

TEST_F(LifoTest, AValidationFindsNothingAndEmptiesIt)
{
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, 2);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
	check();
	EXPECT_EQ(held_by_lifo(), 0u);
}

/* With neither LIFO nor current slab. The first free opens the LIFO. */
TEST_F(LifoTest, AfterARevocationAllocationsGetWhatWasFreedSince)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();

	slab_cache_shrink(cache_);
	free(objs[0]);
	free(objs[1]);
	EXPECT_EQ(held_by_lifo(), 2u);
	EXPECT_EQ(alloc(), objs[1]);
	EXPECT_EQ(alloc(), objs[0]);
	EXPECT_EQ(slot()->current, nullptr);
	alloc();
	EXPECT_NE(slot()->current, nullptr);
}

TEST_F(LifoTest, ARevocationClosesIt)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, 2);
	ASSERT_EQ(lifo(cpu_)->limit, max);
	slab_cache_shrink(cache_);
	EXPECT_EQ(lifo(cpu_)->limit, 0u);
	free(objs[2]);
	EXPECT_EQ(lifo(cpu_)->limit, max);
}

TEST_F(LifoTest, SwitchingDebugFlagsOnEmptiesIt)
{
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, 2);
	ASSERT_EQ(slab_cache_debug(cache_, SLAB_POISON), 0);
	EXPECT_EQ(held_by_lifo(), 0u);
	ASSERT_EQ(slab_cache_debug(cache_, 0), 0);
}

TEST_F(LifoTest, ABulkAllocationOfWhatTheCpuHoldsTakesThem)
{
	const std::vector<void *> objs = alloc_full_slab();
	std::vector<void *> got(cache_->large.objects + 3);

	fill_lifo(objs, 2);
	const std::size_t n = slab_alloc_bulk(cache_, SLAB_ALLOC_LOCAL, got.size(), got.data());

	held_.insert(held_.end(), got.begin(), got.begin() + static_cast<std::ptrdiff_t>(n));
	check();
	EXPECT_EQ(
		std::set<void *>(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(n)).size(),
		n);
	EXPECT_EQ(held_by_lifo(), 0u);
	EXPECT_EQ(stats_of(cache_).cpu_objects, 0u);
}

TEST_F(LifoTest, AnAllocationAtItsLimitGetsThem)
{
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, 2);
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

TEST_F(LifoTest, TheChildOfAForkAllocatesThem)
{
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, 2);
	const pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child) {
		std::set<void *> got;

		for (unsigned i = 0; i < 2 * cache_->large.objects; i++)
			got.insert(slab_alloc(cache_));
		_exit(got.count(objs[0]) && got.count(objs[1]) ? 0 : 1);
	}
	int status;

	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
}

TEST(Lifo, ACacheIsDestroyedWhileItHoldsObjects)
{
	struct slab_cache *cache = slab_cache_create("held", 8192, nullptr, SLAB_NO_MERGE);
	std::vector<void *> objs(cache->large.objects * 3);

	for (void *&obj : objs)
		obj = slab_alloc(cache);
	for (void *obj : objs)
		slab_free(cache, obj);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(Lifo, BeginsWith32Kibibytes)
{
	for (const std::size_t size : {8, 64, 240, 4096, 8192, 32768}) {
		test_cache cache(size);
		struct slab_cache *c = cache;

		EXPECT_EQ(c->lifo_max, std::min<std::size_t>(CPU_LIFO_MAX, (32 << 10) / c->size));
	}
}

/* As many misses in a row as make the LIFOs longer; on a busy machine that may take several times
 * that number. */
void miss_until_longer(struct slab_cache *cache)
{
	const std::uint64_t before = cache->lifo_max;

	while (cache->lifo_max == before)
		lifo_count_miss(cache, 0);
}

TEST(Lifo, DoublesWithManyMissesUpTo512Kibibytes)
{
	test_cache cache(4096);
	struct slab_cache *c = cache;

	for (const std::uint64_t length : {16, 32, 64, 128}) {
		miss_until_longer(c);
		EXPECT_EQ(c->lifo_max, length);
	}
	for (unsigned n = 0; n < 100 * LIFO_GROW_AFTER; n++)
		lifo_count_miss(c, 0);
	EXPECT_EQ(c->lifo_max, 128u);
}

TEST(Lifo, IsHalvedByAPassAfterFewMisses)
{
	test_cache cache(4096);
	struct slab_cache *c = cache;

	miss_until_longer(c);
	miss_until_longer(c);
	for (unsigned n = 0; n < LIFO_KEEP_AFTER; n++)
		lifo_count_miss(c, 0);
	const std::uint64_t length = c->lifo_max;

	lifo_review(c);
	EXPECT_EQ(c->lifo_max, length);
	lifo_count_miss(c, 0);
	lifo_review(c);
	EXPECT_EQ(c->lifo_max, length / 2);
	for (unsigned n = 0; n < 10; n++)
		lifo_review(c);
	EXPECT_EQ(c->lifo_max, 8u);
}

TEST_F(LifoTest, ASecondFreeOfTheNewestIsReported)
{
	const std::vector<void *> objs = alloc_full_slab();
	const report_capture reports;

	fill_lifo(objs, 2);
	slab_free(cache_, objs[1]);
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_TRUE(reports.contains("Object already free")) << reports.text();
	check();
}

TEST_F(LifoTest, WhenItIsFullAPointerIntoAnObjectOfAFullSlabIsReported)
{
	const std::vector<void *> objs = alloc_full_slab();
	const report_capture reports;

	fill_lifo(objs, max);
	void *volatile inside = static_cast<char *>(objs[max]) + 8; /* hidden from the compiler */

	slab_free(cache_, inside);
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_TRUE(reports.contains("Invalid object pointer")) << reports.text();
	check();
}

TEST_F(LifoTest, ObjectsOfAnotherNodeGoToTheirSlabs)
{
	if (!running_again()) {
		const second_run run = run_again({"SLAB_FAKE_NODES=2"});

		EXPECT_EQ(run.failure, "") << run.output;
		return;
	}
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const unsigned here = topology_node_of_cpu(cpu_);
	const std::vector<void *> near = alloc_full_slab();
	void *far = slab_alloc_node(cache_, static_cast<int>((1 - here) | SLAB_NODE_STRICT));

	ASSERT_NE(far, nullptr);
	held_.push_back(far);
	ASSERT_EQ(slab_of(near[0])->node, here);
	ASSERT_NE(slab_of(far)->node, here);
	free(far);
	EXPECT_EQ(held_by_lifo(), 0u);
	free(near[0]);
	EXPECT_EQ(held_by_lifo(), 1u);
}

TEST_F(LifoTest, ObjectsOfAnotherNodeDoNotMakeItLonger)
{
	if (!running_again()) {
		const second_run run = run_again({"SLAB_FAKE_NODES=2"});

		EXPECT_EQ(run.failure, "") << run.output;
		return;
	}
	const int far = static_cast<int>(1 - topology_node_of_cpu(cpu_));
	const std::uint64_t before = event(SLAB_EVENT_FREE_SLOWPATH);

	cache_->lifo_most = CPU_LIFO_MAX;
	for (unsigned n = 0; n < 20 * LIFO_GROW_AFTER; n++) {
		void *obj = slab_alloc_node(cache_, far | SLAB_NODE_STRICT);

		ASSERT_NE(obj, nullptr);
		slab_free(cache_, obj);
	}
	EXPECT_GE(event(SLAB_EVENT_FREE_SLOWPATH) - before, 10 * LIFO_GROW_AFTER);
	EXPECT_EQ(lifo_length(cache_), max);
}

/* Two objects of a full slab, freed in turns: more than the slab has. The handler of the report
 * forks, which it may: libslab holds no lock. */
TEST(Lifo, WhatItsSlabHasNoRoomForIsReportedWithNoLockHeld)
{
	if (std::string(slab_engine()) != "rseq")
		GTEST_SKIP() << "no LIFO";
	EXPECT_EQ(run_in_child([] {
			  struct slab_cache *cache = one_order(
				  slab_cache_create("twice", 8192, nullptr, SLAB_NO_MERGE));
			  std::vector<void *> objs =
				  alloc_many(cache, 2 * cache->large.objects + 1);
			  static unsigned reports;

			  slab_set_report_handler(
				  [](const struct slab_report *, void *) {
					  reports += run_in_child([] { return 0; }) == "";
				  },
				  nullptr);
			  slab_free(cache, objs.back());
			  for (unsigned i = 0; i < 40; i++)
				  slab_free(cache, objs[i % 2]);
			  slab_cache_shrink(cache);
			  return reports ? 0 : 1;
		  }),
		  "");
}

} /* namespace */
