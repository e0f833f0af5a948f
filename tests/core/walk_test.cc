/* SPDX-License-Identifier: MIT */
/* Walks over the listed slabs of a shard, piece by piece, while slabs come, go and move. */
#include "../support/shards.h"
#include "../support/without_thread.h"

namespace
{

constexpr unsigned many = 200;
std::function<void()> between; /* at each end of a hold of the lock; not nested */

class WalkTest : public ShardTest
{
protected:
	WalkTest() : ShardTest(2048) { one_small_order(); }

	~WalkTest() override
	{
		cpu_inject_hook = nullptr;
		between = nullptr;
	}

	/* Slabs with one free object each, and full ones. */
	void list_many(unsigned slabs = many, unsigned full = 0)
	{
		for (unsigned i = 0; i < slabs + full; i++)
			slabs_.push_back(take_slab());
		for (unsigned i = 0; i < slabs; i++)
			put_well({slabs_[i][0]});
	}

	/* How often each slab was visited. */
	void walk()
	{
		cpu_inject_hook = at_unlocked;
		shard_walk(shard_, visit, this);
		cpu_inject_hook = nullptr;
		expect_shards_right(cache_);
	}

	static bool visit(struct shard *shard, struct slab *slab, void *arg)
	{
		auto *self = static_cast<WalkTest *>(arg);

		EXPECT_EQ(shard, self->shard_);
		EXPECT_NE(shard->lock.word, std::uint32_t{CPU_LOCK_FREE});
		self->visits_++;
		self->visited_.insert(slab);
		if (self->on_visit)
			return self->on_visit(slab);
		return true;
	}

	static void at_unlocked(int point)
	{
		void (*hook)(int) = cpu_inject_hook;

		if (point != CPU_INJECT_UNLOCKED || !between)
			return;
		cpu_inject_hook = nullptr;
		between();
		cpu_inject_hook = hook;
	}

	std::vector<std::vector<void *>> slabs_;
	std::set<struct slab *> visited_;
	unsigned visits_ = 0;
	std::function<bool(struct slab *)> on_visit;

private:
	void one_small_order() { cache_->large = cache_->small; }
};

TEST_F(WalkTest, VisitsEachListedSlabOnce)
{
	list_many();
	put_well({slabs_[0].begin() + 1, slabs_[0].end()}); /* an empty one */
	take(1, TAKE_PARTIAL);                              /* a full one */
	walk();
	EXPECT_EQ(visits_, many - 1);
	EXPECT_EQ(visited_.size(), many - 1);
}

TEST_F(WalkTest, FullSlabsAndOthersOffTheListsAreNotVisited)
{
	take_slab();
	walk();
	EXPECT_EQ(visits_, 0u);
}

TEST_F(WalkTest, TheLockIsDroppedAfterEachPiece)
{
	unsigned drops = 0;

	list_many();
	between = [&] { drops++; };
	walk();
	EXPECT_EQ(drops, many / WALK_PIECE + 1);
}

TEST_F(WalkTest, TheVisitorMayEndIt)
{
	list_many(10);
	on_visit = [this](struct slab *) { return visits_ < 4; };
	walk();
	EXPECT_EQ(visits_, 4u);
	EXPECT_EQ(shard_->walks, nullptr);
}

TEST_F(WalkTest, TheVisitorMayTakeSlabsOff)
{
	list_many();
	on_visit = [this](struct slab *slab) {
		slab_take_off(shard_, slab);
		return true;
	};
	walk();
	EXPECT_EQ(visited_.size(), many);
	EXPECT_EQ(shard_->partial, 0u);
	cpu_lock_take(&shard_->lock);
	for (struct slab *slab : visited_)
		slab_put_on(shard_, slab);
	cpu_lock_drop(&shard_->lock);
}

TEST_F(WalkTest, SlabsThatBecomeFullMeanwhileDoNotEndIt)
{
	list_many();
	between = [this] { take(20, TAKE_PARTIAL); };
	walk();
	EXPECT_GE(visits_, many - 100);
}

TEST_F(WalkTest, SlabsThatBecomeEmptyMeanwhileDoNotEndIt)
{
	std::size_t next = 0;

	list_many();
	between = [&] {
		for (std::size_t end = next + 20; next < end && next < slabs_.size(); next++) {
			slabs_[next].erase(slabs_[next].begin());
			put_well(slabs_[next]);
		}
	};
	walk();
	EXPECT_GE(visited_.size(), many - 100);
}

/* The walk has a bound, also if slabs come as fast as it goes. */
TEST_F(WalkTest, SlabsThatComeMeanwhileDoNotMakeItEndless)
{
	std::size_t next = many;

	list_many(many, 4 * many);
	between = [&] {
		for (unsigned i = 0; i < 2 * WALK_PIECE && next < slabs_.size(); i++)
			put_well({slabs_[next++][0]});
	};
	walk();
	EXPECT_GE(visits_, many);
	EXPECT_LT(visits_, 3 * many);
}

TEST_F(WalkTest, EmptySlabsMayBeReleasedMeanwhile)
{
	list_many();
	for (auto &objs : slabs_) {
		objs.erase(objs.begin());
		put_well(objs);
	}
	between = [this] { shard_release(cache_, shard_, shard_->empties / 2); };
	walk();
	EXPECT_GT(visits_, 0u);
}

TEST_F(WalkTest, TheSumsAreThoseOfAllShards)
{
	list_many(5);
	take(1, take_anywhere, shards_end(cache_) - 1);

	const struct shard_sums all = cache_sums(cache_);

	EXPECT_EQ(all.slabs, cache_count_slabs(cache_));
	EXPECT_EQ(all.used, held_.size());
	EXPECT_EQ(all.room, all.slabs * per_slab());
}

} /* namespace */
