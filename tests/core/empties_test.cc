/* SPDX-License-Identifier: MIT */
/* Empty slabs stay with their shard until nobody needed them for a tick, or others need memory. */
#include "../support/limits.h"
#include "../support/shards.h"
#include "../support/without_thread.h"

namespace
{

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
