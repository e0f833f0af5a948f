/* SPDX-License-Identifier: MIT */
/* The entry cache: its limit, and which entries go. */
#include "entry_caches.h"

/* How many buckets the tables get. */
extern "C" std::size_t cache_buckets(std::size_t limit, std::size_t expected);

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
	EXPECT_TRUE(look(7)) << "for nothing, no entry has to go";
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

/* The lock is held meanwhile. A look at all of them would have moved them to the main queue. */
TEST_F(EntryCacheTest, AnAddPassesByFewEntriesThatAreInUse)
{
	constexpr unsigned all = 1000;
	std::vector<struct dirsrv_entry *> held;

	create(all * size_of(6));
	while (stats().bytes + size_of(6) < stats().limit) {
		const auto number = static_cast<unsigned>(held.size()) * 7;

		ASSERT_EQ(add(number), 0);
		held.push_back(get(number));
	}
	for (unsigned i = 0; i < 3; i++)
		ASSERT_EQ(add(100000 + i), 0);
	EXPECT_GE(stats().small_entries, held.size() - 3 * 64);
	for (struct dirsrv_entry *entry : held)
		dirsrv_entry_put(entry);
	ASSERT_EQ(add(200000), 0);
	EXPECT_LE(stats().bytes, stats().limit);
}

/* Main is full of entries in use, and small has less than its part: it goes from there. */
TEST_F(EntryCacheTest, BehindEntriesInUseTheLimitIsKept)
{
	std::vector<struct dirsrv_entry *> held;

	create(400 * size_of(6));
	for (unsigned i = 0; i < 380; i++) {
		ASSERT_EQ(add(i * 7), 0);
		held.push_back(get(i * 7));
		for (int turn = 0; turn < 3; turn++)
			look(i * 7);
	}
	for (unsigned i = 0; i < 2000; i++) {
		ASSERT_EQ(add(10000 + i), 0);
		if (i > 200) {
			ASSERT_LE(stats().bytes, stats().limit) << i;
		}
	}
	for (struct dirsrv_entry *entry : held)
		dirsrv_entry_put(entry);
}

TEST_F(EntryCacheTest, OthersGoForAChange)
{
	struct dirsrv_entry *entry;

	create(100 * size_of(7));
	for (unsigned i = 0; i < 100; i++)
		ASSERT_EQ(add(i), 0);
	entry = get(99);
	ASSERT_EQ(replace(entry, "photo", {std::string(50 * size_of(7), 'p')}), 0);
	EXPECT_LE(stats().bytes, stats().limit);
	EXPECT_GT(stats().evicts, 0u);
	EXPECT_TRUE(look(99));
	dirsrv_entry_put(entry);
}

TEST_F(EntryCacheTest, BucketsFollowWhatIsKnown)
{
	EXPECT_EQ(cache_buckets(1 << 30, 0), 1u << 19);
	EXPECT_EQ(cache_buckets(1 << 30, 5000), 8192u);
	EXPECT_EQ(cache_buckets(1, 0), 1024u);
	EXPECT_EQ(cache_buckets(0, SIZE_MAX), 1u << 24);
	/* Nothing is known. */
	EXPECT_EQ(cache_buckets(0, 0), 1u << 16);
	EXPECT_EQ(cache_buckets(DIRSRV_ENTRY_CACHE_UNLIMITED, 0), 1u << 16);
	EXPECT_EQ(cache_buckets(DIRSRV_ENTRY_CACHE_UNLIMITED, 10), 1024u);
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

/* --- the policy ------------------------------------------------------------------------------- */

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
	void use_last_freed(unsigned first, unsigned last)
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

/* Touching each entry of a search once more while it is new does not make it hot. */
TEST_F(ScanTest, SearchesTimeAndAgainLeaveTheHotSet)
{
	use_last_freed(0, hot);
	for (unsigned turn = 0; turn < 6; turn++) {
		for (unsigned i = 1000; i < 1000 + 10 * capacity; i++) {
			fetch(i);
			EXPECT_TRUE(turn < 5 || look(i));
		}
		ASSERT_EQ(present(0, hot), hot) << turn;
	}
}

TEST_F(ScanTest, AnotherHotSetTakesOver)
{
	use_last_freed(0, hot);
	for (int turn = 0; turn < 20; turn++) {
		use_last_freed(5000, 5000 + hot);
		for (unsigned i = 1000; i < 1000 + capacity; i++)
			fetch(i + static_cast<unsigned>(turn) * 10000);
	}
	EXPECT_GE(present(5000, 5000 + hot), hot * 9 / 10);
}

TEST_F(ScanTest, AnEntryThatComesBackInTimeGoesToTheMainQueue)
{
	use_last_freed(0, hot);
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

/* --- the policy, entry by entry --------------------------------------------------------------- */

class QueueTest : public EntryCacheTest
{
protected:
	/* Entries of one size: their numbers have five digits, and the same rest. */
	static unsigned number(unsigned i) { return 10003 + 7 * i; }

	const std::size_t size = size_of(number(0));

	void use(unsigned first, unsigned last, int times)
	{
		for (unsigned i = first; i < last; i++)
			for (int turn = 0; turn < times; turn++)
				EXPECT_TRUE(look(number(i))) << i;
	}

	/* All in the main queue, none used; the first has gone for it, and those with which the
	 * small queue had less than its part. */
	void fill_main(unsigned all)
	{
		const unsigned more = all + all / 9 + 1;

		for (unsigned i = 0; i < more; i++)
			ASSERT_EQ(add(number(i)), 0);
		use(0, more, 2);
		ASSERT_EQ(dirsrv_entry_cache_evict(cache, 1), 1u);
		for (unsigned i = all; i < more; i++)
			ASSERT_TRUE(remove(number(i)));
		ASSERT_EQ(stats().small_entries, 0u);
		ASSERT_EQ(stats().entries, all - 1);
	}
};

TEST_F(QueueTest, TheSmallQueueHasATenth)
{
	constexpr unsigned all = 400;

	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	fill_main(all);
	dirsrv_entry_cache_set_limit(cache, all * size);
	for (unsigned i = all; i < all + 1000; i++) {
		ASSERT_EQ(add(number(i)), 0);
		if (i < all + all / 10)
			continue;
		ASSERT_LE(stats().small_bytes, stats().limit / 10 + size) << i;
		ASSERT_GE(stats().small_bytes, stats().limit / 10 - size) << i;
	}
}

/* Each use lets an entry pass once, and is gone. */
TEST_F(QueueTest, InTheMainQueueEntriesPassAsOftenAsTheyWereUsed)
{
	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	fill_main(30);
	use(1, 10, 3);
	use(10, 20, 1);
	EXPECT_EQ(dirsrv_entry_cache_evict(cache, 10 * size), 10u); /* from 20 on */
	EXPECT_EQ(dirsrv_entry_cache_evict(cache, 10 * size), 10u); /* from 10 on */
	use(1, 10, 1);
	for (unsigned i = 10; i < 30; i++)
		EXPECT_FALSE(look(number(i))) << i;
}

/* There is a place for each hash, so no other hash takes its own. */
TEST_F(QueueTest, AnEntryThatComesBackTooLateIsNew)
{
	create(100 * size, 1 << 20);
	for (unsigned i = 0; i < 1000; i++)
		ASSERT_EQ(add(number(i)), 0);
	fetch(number(0));
	EXPECT_EQ(stats().returns, 0u);
	fetch(number(890));
	EXPECT_EQ(stats().returns, 1u);
}

} // namespace
