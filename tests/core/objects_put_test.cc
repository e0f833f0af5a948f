/* SPDX-License-Identifier: MIT */
/* Objects that return to their slabs: runs, bits of one word, and pointers that are no free
 * object. */
#include "../support/reports.h"
#include "../support/shards.h"
#include "../support/without_thread.h"
#include "../support/limits.h"

namespace
{

class PutTest : public ShardTest
{
protected:
	PutTest() : ShardTest(128) {}

	/* Free these and no others: what is taken next is just these. */
	void expect_freed(std::vector<void *> objs)
	{
		put_well(objs);
		std::sort(objs.begin(), objs.end());
		EXPECT_EQ(slab(objs[0])->free, objs.size());
		for (void *obj : objs)
			EXPECT_TRUE(slab_bit(slab(obj), slab_index(cache_, slab(obj), obj)));
		EXPECT_EQ(take(static_cast<unsigned>(objs.size()), TAKE_PARTIAL), objs);
	}

	/* The bad objects of one put, and the good ones are free. */
	void expect_bad(const std::vector<void *> &objs, const std::vector<void *> &bad,
			enum put_what what)
	{
		const struct put_bad found = put(objs);

		ASSERT_EQ(found.n, bad.size());
		for (unsigned i = 0; i < found.n; i++) {
			EXPECT_EQ(found.bad[i].obj, bad[i]);
			EXPECT_EQ(found.bad[i].what, what);
		}
	}
};

TEST_F(PutTest, ARunOfNeighboursUpwards)
{
	const std::vector<void *> objs = take_slab();

	expect_freed({objs.begin() + 10, objs.begin() + 200});
}

TEST_F(PutTest, ARunOfNeighboursDownwards)
{
	const std::vector<void *> objs = take_slab();
	std::vector<void *> run(objs.begin() + 10, objs.begin() + 200);

	std::reverse(run.begin(), run.end());
	expect_freed(run);
}

TEST_F(PutTest, RunsOfEveryLengthFromEveryPlaceInAWord)
{
	const std::vector<void *> objs = take_slab();

	for (long from = 56; from < 72; from++)
		for (long n = 1; n < 20; n++) {
			std::vector<void *> run(objs.begin() + from, objs.begin() + from + n);

			expect_freed(run);
			std::reverse(run.begin(), run.end());
			expect_freed(run);
		}
}

TEST_F(PutTest, ARunToTheEndsOfASlab)
{
	const std::vector<void *> objs = take_slab();
	std::vector<void *> run(objs);

	expect_freed(run);
	std::reverse(run.begin(), run.end());
	expect_freed(run);
}

/* The neighbour behind the last object is the first one of the next slab. */
TEST_F(PutTest, ARunOverTwoSlabs)
{
	const std::vector<void *> first = take_slab(), second = take_slab();
	std::vector<void *> run(first.end() - 5, first.end());

	run.insert(run.end(), second.begin(), second.begin() + 5);
	put_well(run);
	EXPECT_EQ(slab(first[0])->free, 5u);
	EXPECT_EQ(slab(second[0])->free, 5u);
}

TEST_F(PutTest, ScatteredObjectsOfOneWord)
{
	const std::vector<void *> objs = take_slab();

	expect_freed({objs[70], objs[65], objs[127], objs[100], objs[64]});
}

TEST_F(PutTest, ObjectsAtRandom)
{
	std::vector<void *> objs = take_slab(), more = take_slab();

	objs.insert(objs.end(), more.begin(), more.end());
	shuffle(objs);
	objs.resize(700);
	put_well(objs);
	EXPECT_EQ(used_in_slabs(cache_), 2u * per_slab() - 700);
}

TEST_F(PutTest, ObjectsOfTwoShardsInOneCall)
{
	if (shards_per_node < 2)
		GTEST_SKIP() << "one shard";
	const std::vector<void *> here = take_slab(), there = take(20, take_anywhere, shard_ + 1);

	put_well({here[0], there[0], there[1], here[1], there[5], here[9]});
	EXPECT_EQ(slab(here[0])->free, 3u);
	EXPECT_EQ(slab(there[0])->free, 3u);
}

/* --- double frees -------------------------------------------------------------------------- */

TEST_F(PutTest, AnObjectThatIsFreeAlready)
{
	const std::vector<void *> objs = take_slab();

	put_well({objs[7]});
	expect_bad({objs[3], objs[7], objs[100]}, {objs[7]}, PUT_FREE_ALREADY);
	EXPECT_EQ(slab(objs[0])->free, 3u);
}

TEST_F(PutTest, AnObjectTwiceInOneCall)
{
	const std::vector<void *> objs = take_slab();

	expect_bad({objs[7], objs[7]}, {objs[7]}, PUT_FREE_ALREADY);
	expect_bad({objs[70], objs[90], objs[70]}, {objs[70]}, PUT_FREE_ALREADY);
	expect_bad({objs[10], objs[200], objs[10]}, {objs[10]}, PUT_FREE_ALREADY);
	EXPECT_EQ(slab(objs[0])->free, 5u);
}

TEST_F(PutTest, AFreeObjectWithinARun)
{
	const std::vector<void *> objs = take_slab();
	const std::vector<void *> run(objs.begin() + 50, objs.begin() + 80);

	put_well({objs[63], objs[64]});
	expect_bad(run, {objs[63], objs[64]}, PUT_FREE_ALREADY);
	EXPECT_EQ(slab(objs[0])->free, 30u);
}

TEST_F(PutTest, BadOnesBeyondTheRoomForThemAreCounted)
{
	const std::vector<void *> objs = take_slab();
	const std::vector<void *> run(objs.begin(), objs.begin() + 50);

	put_well(run);
	const struct put_bad bad = put(run);
	const report_capture reports;
	struct slab_cache *cache = cache_;

	EXPECT_EQ(bad.n, 50u);
	objects_report(cache_, &bad, nullptr);
	EXPECT_EQ(reports.count(), PUT_BAD_MAX);
	EXPECT_EQ(cache->errors, 50u);
	EXPECT_EQ(slab(objs[0])->free, 50u);
}

TEST_F(PutTest, AnObjectWhoseSlabIsGone)
{
	const std::vector<void *> objs = take_slab();

	put_well(objs);
	EXPECT_EQ(shard_release(cache_, shard_, 0), 1u);
	EXPECT_EQ(put({objs[0]}).n, 1u);
}

TEST_F(PutTest, AnObjectWhoseSlabIsAnotherCaches)
{
	const std::vector<void *> objs = take_slab();
	test_cache twin(128);

	one_order(twin);
	put_well(objs);
	EXPECT_EQ(shard_release(cache_, shard_, 0), 1u);
	std::vector<void *> theirs = alloc_many(twin, 500);

	EXPECT_EQ(put({theirs[0], objs[300]}).n, 2u);
	EXPECT_TRUE(all_distinct(theirs));
	EXPECT_EQ(slab_cache_validate(twin), 0);
	free_many(twin, theirs);
}

/* --- pointers that are no objects ------------------------------------------------------------- */

TEST_F(PutTest, APointerIntoAnObject)
{
	const std::vector<void *> objs = take_slab();
	char *inside = static_cast<char *>(objs[9]) + 8;

	expect_bad({objs[1], inside, objs[20]}, {inside}, PUT_NO_OBJECT);
	EXPECT_EQ(slab(objs[0])->free, 2u);
}

/* The distance from one to the next is the size of an object. */
TEST_F(PutTest, ARunOfPointersIntoObjects)
{
	const std::vector<void *> objs = take_slab();
	std::vector<void *> inside;

	for (long i = 0; i < 5; i++)
		inside.push_back(static_cast<char *>(objs[9]) + 16 + i * 128);
	expect_bad(inside, inside, PUT_NO_OBJECT);
	EXPECT_EQ(slab(objs[0])->free, 0u);
}

TEST_F(PutTest, AnObjectThatWasNeverInUse)
{
	const std::vector<void *> objs = take(10);
	char *never = static_cast<char *>(objs[9]) + 128;

	expect_bad({objs[9], never}, {never}, PUT_NO_OBJECT);
	EXPECT_EQ(slab(objs[0])->free, 1u);
}

TEST_F(PutTest, ReportsNameThem)
{
	const std::vector<void *> objs = take_slab();
	report_capture reports;
	void *again[2] = {objs[4], nullptr};

	put_well({objs[4]});
	objects_free(cache_, 1, again, nullptr);
	ASSERT_EQ(reports.count(), 1u);
	EXPECT_TRUE(reports.contains("already free")) << reports.text();
}

/* --- bits ------------------------------------------------------------------------------------- */

TEST_F(PutTest, BitsOfAWord)
{
	const std::vector<void *> objs = take_slab();

	put_well({objs[66]});
	EXPECT_EQ(objects_put_bits(cache_, slab(objs[0]), 1, 0x0d), 0x04u); /* objects 64, 66, 67 */
	EXPECT_EQ(slab(objs[0])->free, 3u);
	for (std::size_t i : {64, 67})
		held_.erase(std::find(held_.begin(), held_.end(), objs[i]));
	expect_shards_right(cache_);
}

TEST_F(PutTest, BitsThatEmptyASlab)
{
	const std::vector<void *> objs = take(3);

	EXPECT_EQ(objects_put_bits(cache_, slab(objs[0]), 0, 7), 0u);
	held_.clear();
	EXPECT_EQ(shard_->empties, 1u);
	expect_shards_right(cache_);
}

/* Empty slabs stay with their shard until nobody needed them for a tick, or others need memory. */

class EmptiesTest : public ShardTest
{
protected:
	EmptiesTest() { cache_->min_partial = 0; }

	void make_empty(unsigned slabs)
	{
		std::vector<void *> objs;

		for (unsigned i = 0; i < slabs; i++) {
			const std::vector<void *> more = take_slab();

			objs.insert(objs.end(), more.begin(), more.end());
		}
		put_well(objs);
		ASSERT_EQ(shard_->empties, slabs);
	}
};

TEST_F(EmptiesTest, AReleaseLeavesAsManyAsItIsTold)
{
	make_empty(5);
	EXPECT_EQ(shard_release(cache_, shard_, 2), 3u);
	EXPECT_EQ(shard_->empties, 2u);
	EXPECT_EQ(cache_count_slabs(cache_), 2u);
	EXPECT_EQ(cache_release(cache_, 0), 2u);
	EXPECT_EQ(cache_count_slabs(cache_), 0u);
	EXPECT_EQ(cache_->account.used, 0u);
}

TEST_F(EmptiesTest, AReleaseOfManyTakesSeveralHoldsOfTheLock)
{
	make_empty(100);
	EXPECT_EQ(cache_release(cache_, 0), 100u);
	expect_shards_right(cache_);
}

TEST_F(EmptiesTest, ATickReleasesWhatNobodyNeededSinceTheLastOne)
{
	make_empty(5);
	cache_tick(cache_);
	ASSERT_EQ(shard_->empties, 5u);
	put_well(take(2 * per_slab(), TAKE_PARTIAL));
	EXPECT_EQ(cache_tick(cache_), 3u);
	EXPECT_EQ(shard_->empties, 2u);
	EXPECT_EQ(cache_tick(cache_), 2u);
}

TEST_F(EmptiesTest, ATickLeavesMinPartial)
{
	make_empty(5);
	cache_->min_partial = 4;
	cache_tick(cache_);
	EXPECT_EQ(cache_tick(cache_), 1u);
	EXPECT_EQ(cache_tick(cache_), 0u);
	cache_->min_partial = 0;
}

TEST_F(EmptiesTest, ATrimLeavesMinPartial)
{
	make_empty(5);
	cache_->min_partial = 3;
	shard_trim(cache_, shard_);
	EXPECT_EQ(shard_->empties, 3u);
	cache_->min_partial = 0;
}

TEST_F(EmptiesTest, OtherCachesMayHaveTheirMemory)
{
	test_cache other(64);

	make_empty(6);
	const std::size_t bytes = 6 * (std::size_t{1} << cache_->large.shift);

	EXPECT_GE(caches_reap(other), std::min(bytes, std::size_t{256} << 10));
	EXPECT_LT(shard_->empties, 6u);
}

TEST_F(EmptiesTest, ACacheThatNeedsMemoryKeepsItsOwn)
{
	make_empty(3);
	caches_reap(cache_);
	EXPECT_EQ(shard_->empties, 3u);
}

/* The process does not grow while another cache has empty slabs. */
TEST_F(EmptiesTest, ANewSlabTakesTheMemoryOfAnotherCachesEmptyOne)
{
	test_cache other(1024);

	segment_trim();
	one_order(other);
	make_empty(3);
	slab_free(other, slab_alloc(other));
	EXPECT_LT(shard_->empties, 3u);
}

TEST_F(EmptiesTest, ReleasedSlabsBelongToNobody)
{
	const std::vector<void *> objs = take_slab();
	struct slab *slab = slab_of(objs[0]);

	put_well(objs);
	cache_release(cache_, 0);
	EXPECT_EQ(slab->shard, nullptr);
	EXPECT_EQ(segment_user(objs[0]), 0u);
}

} /* namespace */
