/* SPDX-License-Identifier: MIT */
/* The entry cache: memory that is short, comes back, or is moved together. */
#include "entry_caches.h"

/* What libslab calls when it moves entries, and parts of entries that no caller sees. */
extern "C" {
#include "entry/internal.h"
}

using namespace dirsrv_test;

namespace
{

/* --- memory ----------------------------------------------------------------------------------- */

TEST_F(EntryCacheTest, LibslabHasItEvict)
{
	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	for (unsigned i = 0; i < 5000; i++)
		ASSERT_EQ(add(i), 0);
	/* An eighth at a time, and their memory is back when readers have left. */
	for (std::uint64_t before = 5000; before; before = stats().entries) {
		slab_reclaim(SIZE_MAX);
		ASSERT_LT(stats().entries, before);
		ASSERT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	}
	EXPECT_EQ(stats().reclaims, 5000u);
	EXPECT_EQ(stats().evicts, 5000u);
	EXPECT_EQ(objects(), 0u);
}

/* Names of tests that count bytes of the process: no other cache is at work meanwhile. */
TEST_F(EntryCacheTest, FillingAndEvictingAHundredTimesLeavesMemoryFlat)
{
	std::uint64_t first = 0, resident = 0;

	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	for (unsigned turn = 0; turn < (under_tsan ? 20 : 100); turn++) {
		for (unsigned i = 0; i < 300; i++)
			ASSERT_EQ(add(turn * 300 + i), 0);
		dirsrv_entry_cache_evict(cache, SIZE_MAX);
		ASSERT_EQ(objects(), 0u);
		slab_trim();
		if (turn == 4) {
			first = bytes_in_use();
			resident = resident_memory();
		}
	}
	EXPECT_LE(bytes_in_use(), first);
	/* What is not libslab's: the hash tables stay as they are, gtest and libc move a bit. */
	if (!under_asan && !under_tsan) {
		EXPECT_LE(resident_memory(), resident + (2u << 20));
	}
}

TEST_F(EntryCacheTest, EvictingMuchGivesEmptySlabsBack)
{
	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	for (unsigned i = 0; stats().bytes < (2u << 20); i++)
		ASSERT_EQ(add(i), 0);
	dirsrv_entry_cache_evict(cache, SIZE_MAX);
	ASSERT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	for (const char *kind : {"test.entry", "test.attribute", "test.value", "test.dn"})
		EXPECT_EQ(stat(kind, "slabs"), 0u) << kind;
}

TEST_F(EntryCacheTest, TheBarrierWaitsForMemoryThatIsGivenBackTwice)
{
	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	pool->rcu->read_lock(); /* so that the first waits for the second */
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; stats().bytes < (2u << 20); i++)
			ASSERT_EQ(add(i), 0);
		dirsrv_entry_cache_evict(cache, SIZE_MAX);
	}
	EXPECT_EQ(pool->trims, 2u);
	pool->rcu->read_unlock();
	ASSERT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	EXPECT_EQ(pool->trims, 0u);
}

TEST_F(EntryCacheTest, AProducerWaitsForReadersBeforeTooMuchWaits)
{
	std::uint64_t most = 0;

	create(100000);
	for (unsigned i = 0; i < 20000; i++) {
		ASSERT_EQ(add(i), 0);
		most = std::max(most, stats().pending);
	}
	EXPECT_LE(most, (1u << 20) + 10000u);
}

/* --- moving ----------------------------------------------------------------------------------- */

class MoveTest : public EntryCacheTest
{
protected:
	static constexpr unsigned all = 4000;

	void SetUp() override
	{
		create(0, all);
		for (unsigned i = 0; i < all; i++)
			ASSERT_EQ(add(i), 0);
		for (unsigned i = 0; i < all; i++)
			if (!stays(i)) {
				ASSERT_TRUE(remove(i));
			}
		ASSERT_EQ(dirsrv_entry_pool_barrier(pool), 0);
		slab_cache_shrink(cache_called("test.entry"));
	}

	static bool stays(unsigned number) { return number % 10 == 0; }

	long defrag() { return slab_cache_defrag(cache_called("test.entry")); }
};

TEST_F(MoveTest, EntriesMoveTogetherAndAreFoundAsBefore)
{
	const std::uint64_t slabs = stat("test.entry", "slabs"), bytes = stats().bytes;
	const long moved = defrag();

	EXPECT_GT(moved, 0);
	EXPECT_EQ(stats().moves, static_cast<std::uint64_t>(moved));
	EXPECT_LT(stat("test.entry", "slabs"), slabs);
	EXPECT_EQ(stats().bytes, bytes);
	for (unsigned i = 0; i < all; i++) {
		EXPECT_EQ(look(i), stays(i)) << i;
		EXPECT_EQ(named("user" + std::to_string(i)).size(), stays(i) ? 1u : 0u) << i;
	}
	EXPECT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	EXPECT_EQ(stat("test.entry", "objects"), all / 10);
}

TEST_F(MoveTest, EntriesInUseStayWhereTheyAre)
{
	std::vector<struct dirsrv_entry *> held;

	for (unsigned i = 0; i < all; i += 10)
		held.push_back(get(i));
	EXPECT_EQ(defrag(), 0);
	for (std::size_t i = 0; i < held.size(); i++) {
		EXPECT_TRUE(is_whole(held[i], static_cast<unsigned>(i) * 10));
		dirsrv_entry_put(held[i]);
	}
	EXPECT_GT(defrag(), 0);
}

TEST_F(MoveTest, PrivateEntriesStayWhereTheyAre)
{
	std::vector<struct dirsrv_entry *> copies;

	for (unsigned i = 0; i < all; i += 10) {
		struct dirsrv_entry *entry = get(i);

		copies.push_back(dirsrv_entry_copy(entry));
		dirsrv_entry_put(entry);
		ASSERT_TRUE(remove(i));
	}
	ASSERT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	EXPECT_EQ(defrag(), 0);
	for (struct dirsrv_entry *copy : copies)
		dirsrv_entry_put(copy);
}

TEST_F(MoveTest, WhatMovedCanBeChangedRemovedAndEvicted)
{
	ASSERT_GT(defrag(), 0);
	for (unsigned i = 0; i < all; i += 10) {
		struct dirsrv_entry *entry = get(i);

		ASSERT_NE(entry, nullptr);
		EXPECT_EQ(replace(entry, "note", numbered_values(i, 5)), 0);
		dirsrv_entry_put(entry);
		EXPECT_TRUE(look(i));
		if (i % 20) {
			EXPECT_TRUE(remove(i));
		}
	}
	dirsrv_entry_cache_set_limit(cache, DIRSRV_ENTRY_CACHE_UNLIMITED);
	EXPECT_EQ(dirsrv_entry_cache_evict(cache, SIZE_MAX), all / 20);
	EXPECT_EQ(stats().entries, 0u);
	EXPECT_EQ(objects(), 0u);
}

/* A thread that looks it up meanwhile waits, and gets it at its new place. */
TEST_F(EntryCacheTest, NoThreadGetsAReferenceWhileAnEntryMoves)
{
	struct dirsrv_entry *entry, *got = nullptr;
	struct slab_cache *entries = cache_called("test.entry");
	void *to = slab_alloc(entries);
	std::atomic<bool> over{false};

	create(1 << 20);
	ASSERT_EQ(add(7), 0);
	entry = get(7);
	dirsrv_entry_set_id(entry, 42);
	EXPECT_NE(cache_isolate(entry, pool), 0) << "it is in use";
	dirsrv_entry_put(entry);
	ASSERT_EQ(cache_isolate(entry, pool), 0);
	EXPECT_FALSE(dirsrv_entry_get(entry));
	EXPECT_TRUE(look(7));

	std::thread other([&] {
		registered there;

		got = get(7);
		over = true;
	});

	while (stat("test.dn", "objects") < 2 && !over)
		std::this_thread::yield(); /* it has made the DN that it looks for */
	EXPECT_EQ(cache_migrate(entry, to, pool), 0);
	other.join();
	EXPECT_EQ(got, to);
	EXPECT_FALSE(dirsrv_entry_get(entry)) << "it is not there any more";
	slab_free_rcu(entries, entry);
	EXPECT_TRUE(is_whole(got, 7));
	EXPECT_EQ(dirsrv_entry_id(got), 42u);
	EXPECT_EQ(got->attributes, 4u);
	EXPECT_EQ(got->values, 8u);
	EXPECT_EQ(dirsrv_entry_size(got), size_of(7));
	dirsrv_entry_put(got);
}

TEST_F(MoveTest, AReaderKeepsTheEntryThatWasMovedFrom)
{
	std::vector<const struct dirsrv_entry *> before;
	unsigned moved = 0;
	section reading;

	for (unsigned i = 0; i < all; i += 10)
		before.push_back(dirsrv_entry_cache_lookup(cache, name(pool, numbered_dn(i))));
	EXPECT_GT(defrag(), 0);
	for (std::size_t i = 0; i < before.size(); i++) {
		const auto number = static_cast<unsigned>(i) * 10;
		const auto *now = dirsrv_entry_cache_lookup(cache, name(pool, numbered_dn(number)));

		moved += now != before[i];
		EXPECT_TRUE(is_whole(before[i], number));
		EXPECT_TRUE(is_whole(now, number));
	}
	EXPECT_GT(moved, 0u);
}

/* --- every allocation failing in turn --------------------------------------------------------- */

TEST_F(EntryCacheTest, ACacheIsMadeWholeOrNotAtAll)
{
	EXPECT_GE(fail_in_turn([&] {
			  struct dirsrv_entry_cache *made =
				  dirsrv_entry_cache_create(pool, 1 << 20, 0);

			  EXPECT_TRUE(made || errno == ENOMEM) << errno;
			  EXPECT_EQ(dirsrv_entry_cache_destroy(made, nullptr, nullptr), 0);
			  return made != nullptr;
		  }),
		  2u);
}

/* Bringing an entry into a cache, with all that comes before it. */
TEST_F(EntryCacheTest, AnEntryIsInTheCacheOrItIsNot)
{
	unsigned number = 0;

	create(1 << 20);
	EXPECT_GE(fail_in_turn([&] {
			  struct dirsrv_entry *entry = make_numbered(pool, number += 7, 0);

			  if (!entry)
				  return false;
			  EXPECT_EQ(dirsrv_entry_cache_add(cache, entry), 0)
				  << "adding allocates nothing";
			  dirsrv_entry_put(entry);
			  return true;
		  }),
		  6u);
	for (unsigned i = 1; i <= number; i++)
		look(i);
	EXPECT_EQ(stats().hits, stats().entries);
	EXPECT_EQ(stats().inserts, stats().entries);
	dirsrv_entry_cache_evict(cache, SIZE_MAX);
	EXPECT_EQ(objects(), 0u);
}

/* Without memory anywhere, entries make way. */
TEST_F(EntryCacheTest, UnderTheLimitOfTheProcessEntriesMakeWay)
{
	unsigned made = 0;

	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	slab_set_limit(bytes_in_use() + (24u << 20));
	for (unsigned i = 0; i < 40000; i++) {
		struct dirsrv_entry *entry = make_numbered(pool, i, 0);

		/* What was evicted is free when readers have left, which a server waits for. */
		if (!entry) {
			ASSERT_EQ(dirsrv_entry_pool_barrier(pool), 0);
			entry = make_numbered(pool, i, 0);
		}
		made += entry != nullptr;
		if (entry) {
			EXPECT_EQ(add(entry), 0);
		}
	}
	slab_set_limit(0);
	EXPECT_EQ(made, 40000u);
	EXPECT_GT(stats().reclaims, 0u);
}

TEST_F(EntryCacheTest, DebugFlagsFindNothing)
{
	const char *const kinds[] = {"test.entry", "test.attribute", "test.value", "test.dn"};

	for (const char *kind : kinds)
		ASSERT_EQ(slab_cache_debug(cache_called(kind), SLAB_DEBUG_DEFAULT), 0);
	create(100000);
	for (unsigned i = 0; i < 1000; i++) {
		ASSERT_EQ(add(i), 0);
		look(i / 2);
		if (i % 7 == 0)
			remove(i);
	}
	for (const char *kind : kinds)
		EXPECT_EQ(slab_cache_validate(cache_called(kind)), 0) << kind;
}

} // namespace
