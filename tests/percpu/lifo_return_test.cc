/* SPDX-License-Identifier: MIT */
/* How the objects of a CPU's LIFO get back to their slabs, how long LIFOs are, and which frees are
 * reported. */
#include <set>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <slab/debug.h>
#include <slab/stats.h>

#include "../support/lifo_fixture.h"
#include "../support/reports.h"

extern "C" {
#include "percpu/lifo_length.h"
}

using namespace slab_test;

namespace
{

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

TEST(Lifo, BeginsWith32KibibytesOr16ObjectsOf64)
{
	for (const std::size_t size : {8, 64, 240, 4096, 8192, 32768}) {
		test_cache cache(size);
		struct slab_cache *c = cache;
		const std::size_t least = (32 << 10) / c->size, twice = (64 << 10) / c->size;

		EXPECT_EQ(c->lifo_max,
			  std::clamp<std::size_t>(least, std::min<std::size_t>(16, twice),
						  CPU_LIFO_MAX));
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

	while (c->lifo_max < 128) {
		const std::uint64_t doubled = 2 * c->lifo_max;

		miss_until_longer(c);
		EXPECT_EQ(c->lifo_max, std::min<std::uint64_t>(doubled, 128));
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
	EXPECT_EQ(c->lifo_max, c->lifo_least);
}

TEST(Lifo, IsHalvedByAPassWithOneMissLessThanKeepsIt)
{
	test_cache cache(4096);
	struct slab_cache *c = cache;

	miss_until_longer(c);
	const std::uint64_t length = c->lifo_max;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		cpu_slot(c->cpu_slots, static_cast<int>(cpu))->event[SLAB_EVENT_FREE_SLOWPATH] = 0;
	cpu_slot(c->cpu_slots, 0)->event[SLAB_EVENT_FREE_SLOWPATH] = LIFO_KEEP_AFTER - 1;
	lifo_review(c);
	EXPECT_EQ(c->lifo_max, length / 2);
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
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
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
