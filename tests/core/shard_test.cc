/* SPDX-License-Identifier: MIT */
/* The lists of a shard, the objects that leave their slabs, and in which order. */
#include "../support/shards.h"
#include "../support/limits.h"
#include "../support/without_thread.h"

namespace
{

std::vector<void *> some(const std::vector<void *> &objs, std::size_t from, std::size_t n)
{
	return {objs.begin() + static_cast<long>(from), objs.begin() + static_cast<long>(from + n)};
}

class PlaceTest : public ShardTest
{
};

/* --- lists ------------------------------------------------------------------------------- */

TEST_F(PlaceTest, ACacheBeginsWithoutSlabs)
{
	EXPECT_EQ(shard_->slabs, 0u);
	EXPECT_EQ(cache_count_slabs(cache_), 0u);
	EXPECT_TRUE(take(3, TAKE_PARTIAL | TAKE_OTHERS).empty());
}

TEST_F(PlaceTest, ASlabWithOneObjectInUseIsInTheLastBucket)
{
	const std::vector<void *> objs = take(1);

	EXPECT_EQ(slab(objs[0])->bucket, SHARD_BUCKETS - 1);
	EXPECT_EQ(shard_->buckets, 1u << (SHARD_BUCKETS - 1));
}

TEST_F(PlaceTest, AFullSlabIsOnNoList)
{
	const std::vector<void *> objs = take_slab();

	EXPECT_EQ(slab(objs[0])->bucket, SLAB_FULL);
	EXPECT_EQ(shard_->buckets, 0u);
	EXPECT_EQ(shard_->slabs, 1u);
}

TEST_F(PlaceTest, AFreeListsAFullSlab)
{
	const std::vector<void *> objs = take_slab();

	put_well({objs[5]});
	EXPECT_EQ(slab(objs[5])->bucket, 0);
	EXPECT_EQ(shard_->bucket[0], slab(objs[5]));
}

TEST_F(PlaceTest, FreesLeaveASlabInItsBucket)
{
	const std::vector<void *> objs = take_slab();

	put_well({objs[0]});
	put_well(some(objs, 1, per_slab() - 2));
	EXPECT_EQ(slab(objs[0])->bucket, 0);
	EXPECT_EQ(slab(objs[0])->free, per_slab() - 1);
}

TEST_F(PlaceTest, TheLastFreeMakesASlabEmpty)
{
	const std::vector<void *> objs = take_slab();

	put_well(objs);
	EXPECT_EQ(slab(objs[0])->bucket, SLAB_EMPTY);
	EXPECT_EQ(shard_->empties, 1u);
	EXPECT_EQ(shard_->used, 0u);
}

/* Objects that were never in use do not count. */
TEST_F(PlaceTest, ASlabIsEmptyWhenAllIsFreeThatWasEverInUse)
{
	const std::vector<void *> objs = take(3);

	put_well(objs);
	EXPECT_EQ(slab(objs[0])->bucket, SLAB_EMPTY);
	EXPECT_EQ(slab(objs[0])->initialized, 3u);
}

TEST_F(PlaceTest, AnAllocationMovesASlabThatBecameEmptier)
{
	const std::vector<void *> first = take_slab(), second = take_slab();

	put_well(some(second, 0, 2));
	put_well({first[0]});
	put_well(
		some(first, 1, per_slab() / 2)); /* still in the bucket of the fullest, and first */
	ASSERT_EQ(shard_->bucket[0], slab(first[0]));
	EXPECT_EQ(slab(take(1)[0]), slab(second[0]));
	EXPECT_GE(slab(first[0])->bucket, SHARD_BUCKETS / 2);
}

TEST_F(PlaceTest, ASlabThatIsOffGetsFreesAndServesNobody)
{
	const std::vector<void *> objs = take_slab();
	struct slab *off = slab(objs[0]);

	put_well(some(objs, 0, 10));
	cpu_lock_take(&shard_->lock);
	slab_take_off(shard_, off);
	cpu_lock_drop(&shard_->lock);
	put_well(some(objs, 10, 10));
	EXPECT_EQ(off->bucket, SLAB_OFF);
	EXPECT_EQ(off->free, 20u);
	for (void *obj : take(5))
		EXPECT_NE(slab(obj), off);
	cpu_lock_take(&shard_->lock);
	slab_put_on(shard_, off);
	cpu_lock_drop(&shard_->lock);
	EXPECT_EQ(off->bucket, 20 * SHARD_BUCKETS / per_slab());
	EXPECT_EQ(slab(take(1)[0]), off);
}

TEST_F(PlaceTest, ASlabThatBecameEmptyWhileItWasOffIsListedAsEmpty)
{
	const std::vector<void *> objs = take_slab();
	struct slab *off = slab(objs[0]);

	put_well({objs[0]});
	cpu_lock_take(&shard_->lock);
	slab_take_off(shard_, off);
	cpu_lock_drop(&shard_->lock);
	put_well(some(objs, 1, per_slab() - 1));
	EXPECT_EQ(shard_->empties, 0u);
	cpu_lock_take(&shard_->lock);
	slab_put_on(shard_, off);
	cpu_lock_drop(&shard_->lock);
	EXPECT_EQ(shard_->empty, off);
}

TEST_F(PlaceTest, TheLockOfASlabIsThatOfItsShard)
{
	const std::vector<void *> objs = take(1);

	EXPECT_EQ(shard_lock_of(slab(objs[0])), shard_);
	EXPECT_NE(shard_->lock.word, std::uint32_t{CPU_LOCK_FREE});
	cpu_lock_drop(&shard_->lock);
	EXPECT_EQ(shard_lock_of(&slab_none), nullptr);
}

TEST_F(PlaceTest, ADamagedMapIsFound)
{
	const std::vector<void *> objs = take(4);
	struct slab *slab = slab_of(objs[0]);

	slab->map[0] |= 1;
	EXPECT_NE(slab_check_map(slab), nullptr); /* one bit more than `free` */
	slab->map[0] &= ~UINT64_C(1);
	slab->map[0] |= UINT64_C(1) << 40;
	EXPECT_NE(slab_check_map(slab), nullptr); /* never in use */
	slab->map[0] &= ~(UINT64_C(1) << 40);
	EXPECT_EQ(slab_check_map(slab), nullptr);
}

/* --- taking ------------------------------------------------------------------------------- */

TEST_F(PlaceTest, TheLowestAddressComesFirst)
{
	const std::vector<void *> objs = take_slab();

	EXPECT_TRUE(std::is_sorted(objs.begin(), objs.end()));
	put_well({objs[40], objs[3], objs[50], objs[17]});
	EXPECT_EQ(take(3, TAKE_PARTIAL), (std::vector<void *>{objs[3], objs[17], objs[40]}));
}

TEST_F(PlaceTest, TheFullestSlabComesFirst)
{
	const std::vector<void *> first = take_slab(), second = take_slab(), third = take_slab();

	put_well(some(first, 0, 20));
	put_well(some(second, 0, 4));
	put_well(some(third, 0, 40));
	put_well({});
	std::vector<void *> expected = some(second, 0, 4);
	const std::vector<void *> rest = some(first, 0, 2);

	/* Frees left all three in the bucket of the fullest; the first take sorts them. */
	expected.insert(expected.end(), rest.begin(), rest.end());
	EXPECT_EQ(take(6, TAKE_PARTIAL), expected);
}

TEST_F(PlaceTest, EmptySlabsComeLast)
{
	const std::vector<void *> first = take_slab(), second = take_slab();

	put_well(first);
	put_well(some(second, 0, 3));
	EXPECT_EQ(take(4, TAKE_PARTIAL),
		  (std::vector<void *>{second[0], second[1], second[2], first[0]}));
}

TEST_F(PlaceTest, ObjectsThatWereNeverInUseComeAfterTheOthersOfTheirSlab)
{
	const std::vector<void *> objs = take(10);

	put_well({objs[2], objs[7]});
	const std::vector<void *> again = take(4, TAKE_PARTIAL);

	ASSERT_EQ(again.size(), 4u);
	EXPECT_EQ(some(again, 0, 2), (std::vector<void *>{objs[2], objs[7]}));
	EXPECT_EQ(slab(objs[0])->initialized, 12u);
	EXPECT_EQ(again[2], static_cast<char *>(slab(objs[0])->base) + 10 * cache_->size);
}

TEST_F(PlaceTest, ACallerWithSomeObjectsGetsNoNewSlab)
{
	const std::vector<void *> objs = take_slab();

	put_well(some(objs, 0, 5));
	EXPECT_EQ(take(9).size(), 5u);
	EXPECT_EQ(shard_->slabs, 1u);
	EXPECT_EQ(take(9).size(), 9u);
	EXPECT_EQ(shard_->slabs, 2u);
}

TEST_F(PlaceTest, WithoutNewSlabsThereMayBeNone)
{
	take_slab();
	EXPECT_TRUE(take(1, TAKE_PARTIAL | TAKE_OTHERS).empty());
}

TEST_F(PlaceTest, ALimitIsENOMEM)
{
	__atomic_store_n(&cache_->account.limit, std::size_t{1} << cache_->large.shift,
			 __ATOMIC_RELAXED);
	take_slab();
	errno = 0;
	EXPECT_TRUE(take(1).empty());
	EXPECT_EQ(errno, ENOMEM);
}

/* Objects of more than one word of the map. */
class WordsTest : public ShardTest
{
protected:
	WordsTest() : ShardTest(128) {}
};

TEST_F(WordsTest, OneTakeGetsAsManyAsThereAre)
{
	take_slab();
	take_slab();
	put_well(held_);
	const std::vector<void *> objs = take(OBJECTS_MAX - 1, TAKE_PARTIAL);

	EXPECT_EQ(objs.size(), std::size_t{std::min(OBJECTS_MAX - 1, 2 * per_slab())});
	EXPECT_TRUE(all_distinct(objs));
}

TEST_F(WordsTest, ScatteredObjectsAreFoundInOrder)
{
	const std::vector<void *> objs = take_slab();
	std::vector<void *> freed;

	for (std::size_t i = 5; i < objs.size(); i += 37)
		freed.push_back(objs[i]);
	put_well(freed);
	EXPECT_EQ(take(static_cast<unsigned>(freed.size()), TAKE_PARTIAL), freed);
	EXPECT_EQ(slab(objs[0])->bucket, SLAB_FULL);
}

TEST_F(WordsTest, ATakeEndsWithinAWord)
{
	const std::vector<void *> objs = take_slab();

	put_well(some(objs, 60, 10));
	EXPECT_EQ(take(6, TAKE_PARTIAL), some(objs, 60, 6));
	EXPECT_EQ(take(4, TAKE_PARTIAL), some(objs, 66, 4));
}

/* --- other shards ---------------------------------------------------------------------------- */

class OtherShardTest : public ShardTest
{
protected:
	void SetUp() override
	{
		if (shards_per_node < 2)
			GTEST_SKIP() << "one shard";
		other_ = shard_ + 1;
	}

	struct shard *other_ = nullptr;
};

TEST_F(OtherShardTest, SlabsMoveToTheShardThatNeedsObjects)
{
	const std::vector<void *> objs = take_slab();

	put_well(some(objs, 0, 5));
	EXPECT_TRUE(take(1, TAKE_PARTIAL, other_).empty());
	EXPECT_EQ(take(3, TAKE_PARTIAL | TAKE_OTHERS, other_), some(objs, 0, 3));
	EXPECT_EQ(slab(objs[0])->shard, other_);
	EXPECT_EQ(shard_->slabs, 0u);
	EXPECT_EQ(other_->slabs, 1u);
	EXPECT_EQ(other_->used, per_slab() - 2);
}

TEST_F(OtherShardTest, NoMoreSlabsMoveThanAreNeeded)
{
	const std::vector<void *> first = take_slab(), second = take_slab(), third = take_slab();

	put_well({first[0], second[0], third[0]});
	EXPECT_EQ(take(2, TAKE_PARTIAL | TAKE_OTHERS, other_).size(), 2u);
	EXPECT_EQ(other_->slabs, 2u);
	EXPECT_EQ(shard_->slabs, 1u);
	EXPECT_EQ(cache_events(cache_, SLAB_EVENT_ALLOC_OTHER_SHARD), 2u);
}

TEST_F(OtherShardTest, OneTakeGetsObjectsOfItsOwnAndOfOtherSlabs)
{
	const std::vector<void *> here = take_slab(), there = take_slab();

	put_well(some(here, 0, 2));
	ASSERT_EQ(take(2, TAKE_PARTIAL | TAKE_OTHERS, other_).size(), 2u);
	put_well(some(here, 0, 2)); /* of the other shard by now */
	put_well(some(there, 0, 2));
	EXPECT_EQ(take(4, TAKE_PARTIAL | TAKE_OTHERS, other_).size(), 4u);
}

TEST_F(OtherShardTest, ASlabThatIsOffDoesNotMove)
{
	const std::vector<void *> objs = take_slab();

	put_well(some(objs, 0, 5));
	cpu_lock_take(&shard_->lock);
	slab_take_off(shard_, slab(objs[0]));
	cpu_lock_drop(&shard_->lock);
	EXPECT_TRUE(take(1, TAKE_PARTIAL | TAKE_OTHERS, other_).empty());
	cpu_lock_take(&shard_->lock);
	slab_put_on(shard_, slab(objs[0]));
	cpu_lock_drop(&shard_->lock);
}

TEST_F(OtherShardTest, ANewSlabIsOfTheShardThatAskedForIt)
{
	EXPECT_EQ(slab(take(1, take_anywhere, other_)[0])->shard, other_);
}

/* Constructors run as objects are first needed, with no lock held. */

std::set<void *> constructed;
std::function<int(void *)> on_construct;

const struct slab_cache_args *arguments()
{
	static struct slab_cache_args args = {};

	args.ctor = [](void *obj, void *) {
		const int result = on_construct ? on_construct(obj) : 0;

		if (result == 0) {
			EXPECT_TRUE(constructed.insert(obj).second) << "constructed twice";
		}
		return result;
	};
	return &args;
}

class ConstructTest : public ShardTest
{
protected:
	ConstructTest() : ShardTest(1024, arguments()) { constructed.clear(); }

	~ConstructTest() override { on_construct = nullptr; }

	/* The constructor number n from now on fails, and all later ones. */
	static void fail_from(unsigned n)
	{
		on_construct = [n, calls = 0u](void *) mutable { return ++calls >= n ? -1 : 0; };
	}
};

TEST_F(ConstructTest, OnlyObjectsThatAreNeededAreConstructed)
{
	const std::vector<void *> objs = take(5);

	EXPECT_EQ(constructed, std::set<void *>(objs.begin(), objs.end()));
	EXPECT_EQ(slab(objs[0])->initialized, 5u);
}

TEST_F(ConstructTest, FreedObjectsComeBeforeNewOnes)
{
	const std::vector<void *> objs = take(5);

	put_well({objs[1], objs[3]});
	take(3);
	EXPECT_EQ(constructed.size(), 6u);
}

TEST_F(ConstructTest, TheSlabIsOffTheListsMeanwhile)
{
	take(2);
	on_construct = [this](void *obj) {
		EXPECT_EQ(slab(obj)->bucket, SLAB_OFF);
		EXPECT_EQ(shard_->lock.word, std::uint32_t{CPU_LOCK_FREE});
		return 0;
	};
	take(4);
	EXPECT_LT(slab(held_[0])->bucket, SHARD_BUCKETS);
}

TEST_F(ConstructTest, AFailureLeavesTheObjectsBeforeIt)
{
	fail_from(4);
	EXPECT_EQ(take(10).size(), 3u);
	EXPECT_EQ(slab(held_[0])->initialized, 3u);
	on_construct = nullptr;
	EXPECT_EQ(take(2).size(), 2u);
	EXPECT_EQ(constructed.size(), 5u);
}

TEST_F(ConstructTest, AFailureOfTheFirstIsENOMEM)
{
	fail_from(1);
	errno = 0;
	EXPECT_TRUE(take(10).empty());
	EXPECT_EQ(errno, ENOMEM);
	on_construct = nullptr;
	EXPECT_EQ(take(10).size(), 10u);
	EXPECT_EQ(shard_->slabs, 1u);
}

TEST_F(ConstructTest, AFailureKeepsWhatWasFree)
{
	const std::vector<void *> objs = take(5);

	put_well({objs[2]});
	fail_from(1);
	EXPECT_EQ(take(3), std::vector<void *>{objs[2]});
}

TEST_F(ConstructTest, AConstructorMayAllocateFromItsCache)
{
	std::vector<void *> inner;
	unsigned depth = 0;

	on_construct = [&](void *) {
		void *obj[2];

		if (depth++ == 0 && objects_take(cache_, shard_, 1, obj, take_anywhere))
			inner.push_back(obj[0]);
		depth--;
		return 0;
	};
	take(3);
	EXPECT_EQ(inner.size(), 3u);
	held_.insert(held_.end(), inner.begin(), inner.end());
	EXPECT_TRUE(all_distinct(held_));
}

/* A second thread that needs objects meanwhile does not wait for the constructor. */
TEST_F(ConstructTest, AFreeIntoTheSlabMeanwhileIsFound)
{
	const std::vector<void *> objs = take(4);
	bool done = false;

	on_construct = [&](void *) {
		void *freed[2] = {objs[0], nullptr};
		struct put_bad bad = {};

		if (!done)
			objects_put(cache_, 1, freed, &bad);
		done = true;
		return 0;
	};
	take(2);
	held_.erase(held_.begin());
	EXPECT_EQ(slab(objs[1])->free, 1u);
	EXPECT_EQ(take(1), std::vector<void *>{objs[0]});
}

TEST_F(ConstructTest, AReleasedSlabIsConstructedAnew)
{
	const std::vector<void *> objs = take(4);

	put_well(objs);
	constructed.clear(); /* there is no destructor */
	EXPECT_EQ(cache_release(cache_, 0), 1u);
	EXPECT_EQ(take(6).size(), 6u);
	EXPECT_EQ(constructed.size(), 6u);
}

} /* namespace */
