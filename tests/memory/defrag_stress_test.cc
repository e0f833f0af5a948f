/* SPDX-License-Identifier: MIT */
/*
 * Objects that move while others allocate, free, use and read them: with locks, under
 * RCU, in type-safe caches, and over a fork. The work is counted, not timed.
 */
#include "../support/flavours.h"
#include "../support/movable.h"
#include "../support/process.h"

namespace
{

const struct rcu_flavor_struct *const rcu = &urcu_memb_flavor;

/* Known to liburcu as long as it lives. */
struct registered {
	registered() { rcu->register_thread(); }
	~registered() { rcu->unregister_thread(); }
};

/* Objects are moved over and over while threads work in a directory. */
class DefragStressTest : public testing::Test
{
protected:
	static constexpr unsigned steps = 60000;
	static constexpr long enough = 500; /* objects that have to move meanwhile */

	void add(std::function<void(std::mt19937 &)> step)
	{
		const unsigned seed = static_cast<unsigned>(threads_.size());

		working_++;
		threads_.emplace_back([this, step, seed] {
			registered here;
			std::mt19937 random(seed);

			for (unsigned n = 0; n < steps || moved_ < enough; n++)
				step(random);
			working_--;
		});
	}

	/* Until all are done, which is not before enough was moved. */
	void move_meanwhile(directory &dir)
	{
		while (working_) {
			const long n = slab_cache_defrag(dir.cache());

			EXPECT_GE(n, 0);
			moved_ += n;
		}
		join_all(threads_);
	}

	/* Entries come and go, so that most slabs are sparse most of the time. */
	static void change(directory &dir, std::mt19937 &random)
	{
		const std::size_t key = random() % dir.keys();

		if (random() % 4 == 0)
			dir.insert(key);
		else
			dir.remove(key);
	}

private:
	std::atomic<unsigned> working_{0};
	std::atomic<long> moved_{0};
	std::vector<std::thread> threads_;
};

TEST_F(DefragStressTest, EntriesAreUsedMeanwhile)
{
	directory dir(4000);

	dir.thin_out(4);
	add([&](std::mt19937 &random) { change(dir, random); });
	for (int n = 0; n < 2; n++)
		add([&](std::mt19937 &random) {
			const std::size_t key = random() % dir.keys();
			entry *here = dir.get(key);

			if (!here)
				return;
			dir.verify(here, key);
			if (random() % 64 == 0)
				std::this_thread::yield();
			dir.verify(here, key);
			dir.put(here);
		});
	move_meanwhile(dir);
	dir.verify_all();
}

TEST_F(DefragStressTest, ShrinkingAndValidatingMeanwhile)
{
	directory dir(3000);

	dir.thin_out(4);
	add([&](std::mt19937 &random) {
		change(dir, random);
		switch (random() % 500) {
		case 0:
			slab_cache_shrink(dir.cache());
			break;
		case 1:
			dir.damaged += slab_cache_validate(dir.cache()) != 0;
			break;
		case 2:
			slab_cache_debug(dir.cache(), SLAB_RED_ZONE);
			break;
		case 3:
			slab_cache_debug(dir.cache(), 0);
			break;
		default:
			break;
		}
	});
	add([&](std::mt19937 &random) { change(dir, random); });
	move_meanwhile(dir);
	slab_cache_debug(dir.cache(), 0);
	dir.verify_all();
}

/* --- readers without locks ------------------------------------------------------------ */

TEST_F(DefragStressTest, ReadersSeeWholeEntriesUntilTheGracePeriodIsOver)
{
	registered here;
	directory dir(3000, 0, rcu);

	dir.thin_out(4);
	for (int n = 0; n < 2; n++)
		add([&](std::mt19937 &random) {
			const std::size_t key = random() % dir.keys();

			rcu->read_lock();
			if (const entry *seen = dir.at(key)) {
				dir.verify(seen, key);
				if (random() % 256 == 0)
					std::this_thread::sleep_for(std::chrono::microseconds(100));
				dir.verify(seen, key);
			}
			dir.end_section();
			rcu->read_unlock();
		});
	add([&](std::mt19937 &random) { change(dir, random); });
	move_meanwhile(dir);
	dir.verify_all();
}

TEST(DefragRcuTest, SlabsAreBackWhenTheGracePeriodIsOver)
{
	registered here;
	directory dir(10000, 0, rcu);
	const std::size_t left = dir.thin_out(10);

	ASSERT_EQ(slab_rcu_barrier(dir.cache()), 0);
	const long moved = slab_cache_defrag(dir.cache());

	EXPECT_GT(moved, 0);
	EXPECT_EQ(stats_of(dir.cache()).rcu_pending, 0u);
	dir.expect_dense(left);
	dir.verify_all();
}

TEST(DefragRcuTest, WithinASectionItDoesNotWait)
{
	registered here;
	directory dir(5000, 0, rcu);
	const std::size_t left = dir.thin_out(10);

	ASSERT_EQ(slab_rcu_barrier(dir.cache()), 0);
	slab_cache_shrink(dir.cache());
	rcu->read_lock();
	const std::vector<entry *> before = dir.places();
	const long moved = slab_cache_defrag(dir.cache());

	EXPECT_GT(moved, 0);
	EXPECT_EQ(stats_of(dir.cache()).objects, left + static_cast<std::size_t>(moved));
	for (std::size_t key = 0; key < dir.keys(); key++)
		if (before[key]) {
			EXPECT_TRUE(dir.is_whole(before[key], key)) << key;
		}
	rcu->read_unlock();
	ASSERT_EQ(slab_rcu_barrier(dir.cache()), 0);
	slab_cache_shrink(dir.cache());
	dir.expect_dense(left);
}

/* Readers of a type-safe cache find objects that are free, or another entry: they take
 * a reference unless there is none left, and look again. */
TEST_F(DefragStressTest, ReadersOfATypeSafeCacheRevalidate)
{
	registered here;
	directory dir(3000, SLAB_TYPESAFE_BY_RCU, rcu);

	dir.thin_out(4);
	for (int n = 0; n < 2; n++)
		add([&](std::mt19937 &random) {
			const std::size_t key = random() % dir.keys();
			entry *seen;
			unsigned refs;

			rcu->read_lock();
			seen = dir.at(key);
			refs = seen ? seen->refs.load(std::memory_order_relaxed) : 0;
			while (refs && !seen->refs.compare_exchange_weak(refs, refs + 1,
									 std::memory_order_acquire))
				;
			if (refs) {
				if (seen->key.load(std::memory_order_relaxed) == key &&
				    dir.at(key) == seen)
					dir.verify(seen, key);
				dir.put(seen);
			}
			rcu->read_unlock();
		});
	add([&](std::mt19937 &random) { change(dir, random); });
	move_meanwhile(dir);
	dir.verify_all();
}

TEST(DefragRcuTest, SlabsOfATypeSafeCacheWaitForTheirReaders)
{
	registered here;
	directory dir(5000, SLAB_TYPESAFE_BY_RCU, rcu);
	const std::size_t left = dir.thin_out(10);

	ASSERT_EQ(slab_rcu_barrier(dir.cache()), 0);
	rcu->read_lock();
	const std::vector<entry *> before = dir.places();

	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	EXPECT_GT(stats_of(dir.cache()).rcu_pending, 0u);
	for (std::size_t key = 0; key < dir.keys(); key++)
		if (before[key]) {
			EXPECT_EQ(before[key]->refs.load(), dir.at(key) == before[key] ? 1u : 0u);
		}
	rcu->read_unlock();
	ASSERT_EQ(slab_rcu_barrier(dir.cache()), 0);
	dir.expect_dense(left);
}

/* --- fork ---------------------------------------------------------------------------------- */

/* The child has none of the threads; the table's locks may be theirs. */
int use_in_child(directory &dir)
{
	dir.before = [] {};
	for (int n = 0; n < 1000; n++) {
		void *obj = slab_alloc(dir.cache());

		if (!obj)
			return 2;
		slab_free(dir.cache(), obj);
	}
	if (slab_cache_validate(dir.cache()) != 0)
		return 3;
	return slab_cache_shrink(dir.cache()) < 0 ? 4 : 0;
}

TEST(DefragForkTest, AChildMayBeMadeWhileObjectsMove)
{
	directory dir(3000);
	std::atomic<bool> stop{false};

	dir.thin_out(4);
	std::thread mover([&] {
		while (!stop)
			slab_cache_defrag(dir.cache());
	});
	std::thread changer([&] {
		std::mt19937 random(1);

		while (!stop)
			if (random() % 4)
				dir.remove(random() % dir.keys());
			else
				dir.insert(random() % dir.keys());
	});

	for (int n = 0; n < 20; n++)
		EXPECT_IN_CHILD([&] { return use_in_child(dir); }) << n;
	stop = true;
	mover.join();
	changer.join();
}

TEST(DefragForkTest, AChildMovesObjectsItself)
{
	directory dir(5000);
	bool forked = false;

	dir.thin_out(10);
	dir.before = [&] {
		if (forked)
			return;
		forked = true;
		/* Another thread forks in the middle of it. */
		std::thread([&] {
			EXPECT_IN_CHILD([&] { return slab_cache_defrag(dir.cache()) > 0 ? 0 : 1; });
		}).join();
	};
	EXPECT_GT(slab_cache_defrag(dir.cache()), 0);
	EXPECT_TRUE(forked);
	dir.verify_all();
}

} /* namespace */
