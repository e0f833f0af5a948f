/* SPDX-License-Identifier: MIT */
/* Magazines: which frees fill them, which allocations empty them, and how their objects get back to
 * their slabs. */
#include "../support/process.h"
#include "percpu.h"

namespace
{

constexpr unsigned length = 40, half = length / 2;

class MagazineTest : public PerCpuTest
{
protected:
	MagazineTest() : PerCpuTest(length, 512)
	{
		alloc(20 * length);
		slab_cache_shrink(cache_);
		EXPECT_TRUE(cache_has_long_arrays(cache_));
	}

	struct depot &depot() const { return cache_->node[topology_node_of_cpu(cpu_)].depot; }

	/* Free n of the objects that the test holds. */
	std::vector<void *> free_some(unsigned n)
	{
		const std::vector<void *> objs(held_.begin(), held_.begin() + n);

		free(objs);
		return objs;
	}

	/* The array is full, and so are n magazines. */
	void fill(unsigned n)
	{
		free_some(length + n * half);
		EXPECT_EQ(depot().full, n);
		EXPECT_EQ(magazines_objects(cache_), n * half);
	}

	/* Allocate until the array is empty. */
	void exhaust()
	{
		while (count())
			alloc();
	}
};

TEST_F(MagazineTest, AFreeIntoAFullArrayMovesItsNewerHalfThere)
{
	const std::vector<void *> objs = free_some(length + 1);

	ASSERT_EQ(depot().full, 1u);
	EXPECT_EQ(depot().magazine[0]->count, half);
	EXPECT_EQ(depot().magazine[0]->obj[0], objs[half]);
	EXPECT_EQ(depot().magazine[0]->obj[half - 1], objs[length - 1]);
	EXPECT_EQ(count(), half + 1);
	EXPECT_EQ(event(SLAB_EVENT_FREE_MAGAZINE), 1u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_FLUSH), 0u);
	expect_counted();
}

TEST_F(MagazineTest, TheirObjectsAreFreeInTheStatistics)
{
	fill(2);
	const struct slab_stats stats = stats_of(cache_);

	EXPECT_EQ(stats.objects, held_.size());
	EXPECT_EQ(stats.cpu_objects, arrays_objects(cache_) + 2 * half);
}

TEST_F(MagazineTest, WhenAllAreFullObjectsGoToTheirSlabs)
{
	fill(MAGAZINES_MAX);
	free_some(1);
	EXPECT_EQ(event(SLAB_EVENT_FREE_FLUSH), 1u);
	EXPECT_EQ(depot().full, MAGAZINES_MAX);
	expect_counted();
}

TEST_F(MagazineTest, WhileTheLockIsTakenObjectsGoToTheirSlabs)
{
	free_some(length);
	cpu_lock_take(&depot().lock);
	free_some(1);
	cpu_lock_drop(&depot().lock);
	EXPECT_EQ(depot().full, 0u);
	EXPECT_EQ(event(SLAB_EVENT_FREE_FLUSH), 1u);
}

/* Few objects are not worth one. */
TEST_F(MagazineTest, ShortArraysFillNone)
{
	test_cache cache(512);

	set_array_length(cache, 20);
	free_many(cache, alloc_many(cache, 200));
	EXPECT_EQ(magazines_objects(cache), 0u);
}

TEST_F(MagazineTest, AnAllocationThatFindsTheArrayEmptyTakesOne)
{
	fill(2);
	exhaust();
	const std::uint64_t used = used_in_slabs(cache_);

	alloc();
	EXPECT_EQ(depot().full, 1u);
	EXPECT_EQ(count(), half - 1);
	EXPECT_EQ(used_in_slabs(cache_), used);
	EXPECT_EQ(event(SLAB_EVENT_ALLOC_MAGAZINE), 1u);
	expect_counted();
}

TEST_F(MagazineTest, AnAllocationGetsObjectsThatAnotherCpuFreed)
{
	if (one_cpu())
		GTEST_SKIP() << "one CPU";
	if (topology_node_of_cpu(allowed_cpus()[0]) != topology_node_of_cpu(allowed_cpus()[1]))
		GTEST_SKIP() << "two nodes";
	std::vector<void *> objs;

	elsewhere([&] { objs = free_some(length + half); });
	const std::set<void *> freed(objs.begin(), objs.end());

	exhaust();
	EXPECT_EQ(freed.count(alloc()), 1u);
}

TEST_F(MagazineTest, AnArrayWithLessRoomTakesAPart)
{
	fill(1);
	exhaust();
	set_array_length(cache_, 10);
	alloc();
	EXPECT_EQ(depot().full, 1u);
	EXPECT_LT(depot().magazine[0]->count, std::uint64_t{half});
	expect_counted();
}

TEST_F(MagazineTest, ABulkAllocationFromTheCpuAloneLeavesThem)
{
	void *objs[2 * length];

	fill(2);
	const std::size_t n = slab_alloc_bulk(cache_, SLAB_ALLOC_LOCAL, 2 * length, objs);

	held_.insert(held_.end(), objs, objs + n);
	EXPECT_EQ(n, length);
	EXPECT_EQ(depot().full, 2u);
}

TEST_F(MagazineTest, AShrinkReturnsTheirObjectsToTheirSlabs)
{
	fill(3);
	slab_cache_shrink(cache_);
	EXPECT_EQ(magazines_objects(cache_), 0u);
	EXPECT_EQ(used_in_slabs(cache_), held_.size());
}

TEST_F(MagazineTest, SwitchingDebugFlagsOnReturnsTheirObjects)
{
	fill(3);
	EXPECT_EQ(slab_cache_debug(cache_, SLAB_CONSISTENCY_CHECKS), 0);
	EXPECT_EQ(magazines_objects(cache_), 0u);
	free(std::vector<void *>(held_));
	EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
}

TEST_F(MagazineTest, AClosedCacheGetsNone)
{
	free_some(length);
	close_begin(cache_);
	EXPECT_TRUE(close_fence());
	EXPECT_FALSE(magazine_put(cache_, topology_node_of_cpu(cpu_)));
	EXPECT_FALSE(magazine_get(cache_, topology_node_of_cpu(cpu_)));
	close_end(cache_);
	EXPECT_EQ(magazines_objects(cache_), 0u);
}

struct slab_cache *closed_meanwhile;
std::atomic<bool> drained, looked;
std::thread closer;

/* The thread that fills the magazine has the depot's lock and the objects; `full` is as before. The
 * engine mutex has a mark there. */
void close_where_a_magazine_is_filled(int point)
{
	struct slab_cache *cache = closed_meanwhile;

	if (point != CPU_INJECT_UNLOCKED || cache->node[0].depot.lock.word == CPU_LOCK_FREE)
		return;
	__atomic_store_n(&cpu_inject_hook, nullptr, __ATOMIC_RELAXED);
	closer = std::thread([cache] {
		struct put_bad bad = {};

		close_begin(cache);
		EXPECT_TRUE(close_fence());
		close_drain(cache, &bad);
		drained = true;
		while (!looked)
			usleep(100);
		close_end(cache);
	});
	/* It waits for the depot's lock, or else it has drained too early. */
	for (int ms = 0; ms < 100 && !drained; ms++)
		usleep(1000);
}

TEST_F(MagazineTest, OneThatIsJustBeingFilledIsDrainedToo)
{
	if (std::string(slab_engine()) != "mutex" || topology_nodes() > 1)
		GTEST_SKIP() << "no mark between the array and the magazine";
	free_some(length);
	closed_meanwhile = cache_;
	drained = looked = false;
	__atomic_store_n(&cpu_inject_hook, &close_where_a_magazine_is_filled, __ATOMIC_RELAXED);
	free_some(1);
	__atomic_store_n(&cpu_inject_hook, nullptr, __ATOMIC_RELAXED);
	ASSERT_TRUE(closer.joinable());
	while (!drained)
		usleep(100);
	EXPECT_EQ(magazines_objects(cache_), 0u) << "and the cache is closed";
	looked = true;
	closer.join();
	expect_counted();
}

TEST_F(MagazineTest, AnAllocationAtItsLimitGetsTheirObjects)
{
	fill(MAGAZINES_MAX);
	__atomic_store_n(&cache_->account.limit, cache_->account.used, __ATOMIC_RELAXED);
	const std::uint64_t room = stats_of(cache_).total_objects;

	while (held_.size() < room)
		ASSERT_NE(alloc(), nullptr);
	EXPECT_EQ(slab_alloc(cache_), nullptr);
}

TEST_F(MagazineTest, TheChildOfAForkAllocatesTheirObjects)
{
	fill(2);
	const std::uint64_t made = event(SLAB_EVENT_ALLOC_SLAB);

	EXPECT_IN_CHILD([&] {
		for (unsigned i = 0; i < length + 2 * half; i++)
			if (!slab_alloc(cache_))
				return 1;
		return event(SLAB_EVENT_ALLOC_SLAB) != made ? 2
		       : magazines_objects(cache_)          ? 3
		       : slab_cache_validate(cache_)        ? 4
							    : 0;
	});
}

TEST_F(MagazineTest, ASecondFreeOfAnObjectInOneIsReportedByTheDrain)
{
	const report_capture reports;
	const std::vector<void *> objs = free_some(length + 1);

	slab_free(cache_, objs[length - 1]); /* in the magazine, and not the array's newest */
	slab_cache_shrink(cache_);
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_EQ(used_in_slabs(cache_), held_.size());
}

TEST(Magazine, ACacheIsDestroyedWhileTheyHoldObjects)
{
	struct slab_cache *cache = slab_cache_create("magazines", 64, nullptr, 0);

	pin(0);
	set_array_length(cache, length);
	free_many(cache, alloc_many(cache, 10 * length));
	EXPECT_GT(magazines_objects(cache), 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	unpin();
}

TEST(Magazine, HasRoomForHalfOfTheLongestArray)
{
	EXPECT_GE(MAGAZINE_OBJECTS, cpu_array_room(true) / 2);
}

} /* namespace */
