/* SPDX-License-Identifier: MIT */
/* Constructors run as objects are first needed, with no lock held. */
#include "../support/shards.h"
#include "../support/without_thread.h"

namespace
{

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
