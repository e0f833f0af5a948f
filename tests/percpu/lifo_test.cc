/* SPDX-License-Identifier: MIT */
/*
 * A CPU's LIFO in a cache: which frees go there, and which allocations come from there. Engines
 * without a LIFO must not differ in what the caller sees.
 */
#include <iterator>

#include <slab/stats.h>

#include "../support/lifo_fixture.h"
#include "../support/passes.h"
#include "../support/reports.h"

using namespace slab_test;

namespace
{

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

TEST_F(LifoTest, BulkFreesPutObjectsOfFullSlabsThere)
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

TEST_F(LifoTest, BulkFreesFillItAndPutTheRestOfARunIntoTheSlab)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();

	slab_free_bulk(cache_, max + 2, objs.data());
	EXPECT_EQ(held_by_lifo(), max);
	EXPECT_EQ(state(slab_of(objs[0])), at::partial);
	EXPECT_EQ(local(slab_of(objs[0])), 2u);
	forget({objs[0], objs[1], objs[2], objs[3], objs[4]});
	check();
}

TEST_F(LifoTest, BulkFreesFillTheRoomThatIsLeft)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();

	fill_lifo(objs, 1);
	slab_free_bulk(cache_, max, objs.data() + 1);
	EXPECT_EQ(held_by_lifo(), max);
	EXPECT_EQ(local(slab_of(objs[0])), 1u);
	forget({objs[1], objs[2], objs[3]});
	check();
}

TEST_F(LifoTest, BulkAllocationsTakeItsNewestBeforeTheCurrentSlab)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	const std::vector<void *> objs = alloc_full_slab();
	struct slab *current = slab_of(held_.back());
	const unsigned before = local(current);
	void *got[2];

	fill_lifo(objs, 3);
	ASSERT_EQ(slab_alloc_bulk(cache_, SLAB_ALLOC_LOCAL, 2, got), 2u);
	EXPECT_EQ(got[0], objs[1]);
	EXPECT_EQ(got[1], objs[2]);
	EXPECT_EQ(held_by_lifo(), 1u);
	EXPECT_EQ(local(current), before);
	slab_free_bulk(cache_, 2, got);
	check();
}

TEST_F(LifoTest, ABulkFreeReportsAnObjectThatStandsThereTwiceInARow)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	report_capture reports;
	const std::vector<void *> objs = alloc_full_slab();
	void *const twice[] = {objs[0], objs[1], objs[1]};

	slab_free_bulk(cache_, std::size(twice), twice);
	EXPECT_EQ(reports.count(), 1u) << reports.text();
	EXPECT_EQ(held_by_lifo(), 2u);
	forget({objs[0], objs[1]});
	check();
}

TEST_F(LifoTest, ABulkFreeReportsTheNewestObjectOfTheLifo)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	report_capture reports;
	const std::vector<void *> objs = alloc_full_slab();
	void *const newest[] = {objs[1], objs[2]};

	fill_lifo(objs, 2);
	slab_free_bulk(cache_, std::size(newest), newest);
	EXPECT_EQ(reports.count(), 1u) << reports.text();
	EXPECT_EQ(held_by_lifo(), 3u);
	forget({objs[2]});
	check();
}

TEST_F(LifoTest, ABulkFreeReportsAPointerIntoAnObject)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	report_capture reports;
	const std::vector<void *> objs = alloc_full_slab();
	void *const inside[] = {objs[0], static_cast<char *>(objs[1]) + 8, objs[2]};

	slab_free_bulk(cache_, std::size(inside), inside);
	EXPECT_EQ(reports.count(), 1u) << reports.text();
	EXPECT_EQ(held_by_lifo(), 2u);
	forget({objs[0], objs[2]});
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
	struct slab *slab = current_slab_alone();
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

/* A refill would take more off the slab and put it back, the other way round. */
TEST_F(LifoTest, WhileTheSlotIsClosedAllocationsTakeOneObjectEach)
{
	if (!has_lifo())
		GTEST_SKIP() << "no LIFO";
	set_lifo_max(7);
	struct slab *slab = current_slab_alone();
	const std::vector<void *> order = free_objects(slab);

	ASSERT_GE(order.size(), 8u);
	slot()->closed = 1;
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(alloc(), order[i]) << i;
	slot()->closed = 0;
	EXPECT_EQ(held_by_lifo(), 0u);
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

TEST_F(LifoTest, WhenItIsFullFreesOfAnotherCpusObjectsLetDecayPassesGoOn)
{
	if (!has_lifo() || one_cpu())
		GTEST_SKIP() << "no LIFO, or one CPU";
	const std::vector<void *> objs = alloc(max + 3);

	without_magazines();
	elsewhere([&] {
		for (unsigned i = 0; i < objs.size(); i++) {
			__atomic_store_n(&idle_active, 0, __ATOMIC_RELAXED);
			free(objs[i]);
			EXPECT_TRUE(__atomic_load_n(&idle_active, __ATOMIC_RELAXED) || i < max)
				<< i;
		}
	});
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

} /* namespace */
