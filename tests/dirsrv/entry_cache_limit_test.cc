/* SPDX-License-Identifier: MIT */
/* The entry cache: its limit, and which entries go. */
#include "entry_caches.h"

using namespace dirsrv_test;

namespace
{

/* --- the limit ------------------------------------------------------------------------------ */

TEST_F(EntryCacheTest, TheLimitIsKept)
{
	create(100 * size_of(7));
	for (unsigned i = 0; i < 2000; i++) {
		ASSERT_EQ(add(i), 0);
		ASSERT_LE(stats().bytes, stats().limit);
	}
	EXPECT_GT(stats().entries, 50u);
	EXPECT_EQ(stats().inserts - stats().evicts, stats().entries);
}

TEST_F(EntryCacheTest, WithLimitZeroNothingIsEvicted)
{
	create(0);
	for (unsigned i = 0; i < 2000; i++)
		ASSERT_EQ(add(i), 0);
	EXPECT_EQ(dirsrv_entry_cache_evict(cache, SIZE_MAX), 0u);
	slab_reclaim(SIZE_MAX);
	EXPECT_EQ(stats().entries, 2000u);
}

TEST_F(EntryCacheTest, AnEntryLargerThanTheLimitIsRefused)
{
	create(10000);
	ASSERT_EQ(add(7), 0);
	EXPECT_EQ(add(make(pool, "cn=x", {{"photo", std::string(20000, 'x')}})), -E2BIG);
	EXPECT_TRUE(look(7)) << "for nothing, nobody has to go";
}

TEST_F(EntryCacheTest, EntriesInUseAreNotEvicted)
{
	std::vector<struct dirsrv_entry *> held;

	create(50 * size_of(7));
	for (unsigned i = 0; i < 30; i++) {
		ASSERT_EQ(add(i), 0);
		held.push_back(get(i));
	}
	for (unsigned i = 100; i < 1000; i++)
		ASSERT_EQ(add(i), 0);
	for (unsigned i = 0; i < 30; i++)
		EXPECT_TRUE(look(i)) << i;
	dirsrv_entry_cache_evict(cache, SIZE_MAX);
	EXPECT_EQ(stats().entries, 30u);
	for (struct dirsrv_entry *entry : held)
		dirsrv_entry_put(entry);
	EXPECT_EQ(dirsrv_entry_cache_evict(cache, SIZE_MAX), 30u);
	EXPECT_EQ(stats().entries, 0u);
	EXPECT_EQ(stats().bytes, 0u);
}

TEST_F(EntryCacheTest, EvictTakesAsMuchAsIsAskedFor)
{
	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	for (unsigned i = 0; i < 500; i++)
		ASSERT_EQ(add(i), 0);

	const std::uint64_t before = stats().bytes;
	const std::size_t gone = dirsrv_entry_cache_evict(cache, before / 5);

	EXPECT_EQ(stats().entries, 500 - gone);
	EXPECT_LE(stats().bytes, before - before / 5);
	EXPECT_GT(stats().bytes, before - before / 5 - 2000);
	EXPECT_EQ(stats().evicts, gone);
}

TEST_F(EntryCacheTest, ASmallerLimitHoldsAtOnce)
{
	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	for (unsigned i = 0; i < 500; i++)
		ASSERT_EQ(add(i), 0);
	dirsrv_entry_cache_set_limit(cache, 50000);
	EXPECT_LE(stats().bytes, 50000u);
	EXPECT_EQ(stats().limit, 50000u);
	ASSERT_EQ(add(1000), 0);
	EXPECT_LE(stats().bytes, 50000u);
}

/* --- the policy --------------------------------------------------------------------------------- */

class ScanTest : public EntryCacheTest
{
protected:
	static constexpr unsigned capacity = 400, hot = 200;

	void SetUp() override
	{
		create(capacity * 1900);
		ASSERT_GE(stats().limit, hot * size_of(6) + 10000);
	}

	/* All that is in constant use, a few times over, while others pass by. */
	void use_hot(unsigned first, unsigned last)
	{
		for (int turn = 0; turn < 4; turn++)
			for (unsigned i = first; i < last; i++)
				fetch(i);
	}

	unsigned present(unsigned first, unsigned last)
	{
		unsigned found = 0;

		for (unsigned i = first; i < last; i++)
			found += look(i);
		return found;
	}
};

TEST_F(ScanTest, ASearchThroughTenTimesTheCacheLeavesTheHotSet)
{
	use_hot(0, hot);
	for (unsigned i = 1000; i < 1000 + 10 * capacity; i++)
		fetch(i);
	EXPECT_EQ(present(0, hot), hot);
}

TEST_F(ScanTest, SearchesTimeAndAgainLeaveTheHotSet)
{
	use_hot(0, hot);
	for (unsigned turn = 0; turn < 5; turn++) {
		for (unsigned i = 1000; i < 1000 + 10 * capacity; i++)
			fetch(i);
		ASSERT_EQ(present(0, hot), hot) << turn;
	}
}

/* Who touches each entry of a search once more while it is new does not make it hot. */
TEST_F(ScanTest, ASearchThatLooksAtWhatItAddedIsASearch)
{
	use_hot(0, hot);
	for (unsigned i = 1000; i < 1000 + 10 * capacity; i++) {
		fetch(i);
		EXPECT_TRUE(look(i));
	}
	EXPECT_EQ(present(0, hot), hot);
}

TEST_F(ScanTest, AnotherHotSetTakesOver)
{
	use_hot(0, hot);
	for (int turn = 0; turn < 20; turn++) {
		use_hot(5000, 5000 + hot);
		for (unsigned i = 1000; i < 1000 + capacity; i++)
			fetch(i + static_cast<unsigned>(turn) * 10000);
	}
	EXPECT_GE(present(5000, 5000 + hot), hot * 9 / 10);
}

TEST_F(ScanTest, WhoComesBackInTimeGoesToTheMainQueue)
{
	use_hot(0, hot);
	for (unsigned i = 1000; i < 1000 + capacity; i++)
		fetch(i);
	ASSERT_EQ(stats().returns, 0u);

	unsigned gone = 1000 + capacity - 1;

	while (look(gone))
		gone--;
	fetch(gone);
	EXPECT_EQ(stats().returns, 1u);
	for (unsigned i = 20000; i < 20000 + capacity; i++)
		fetch(i);
	EXPECT_TRUE(look(gone)) << "it is in the main queue";
}

TEST_F(ScanTest, TheSmallQueueHasATenth)
{
	use_hot(0, hot);
	for (unsigned i = 1000; i < 1000 + 3 * capacity; i++)
		fetch(i);
	for (unsigned i = 0; i < 1000; i++) {
		fetch(50000 + i);
		/* Beside what came while the main queue was not full. */
		ASSERT_LE(stats().bytes, stats().limit);
	}
	EXPECT_LE(stats().small_bytes, stats().limit - hot * 1000);
}

} // namespace
