/* SPDX-License-Identifier: MIT */
/* The entry cache: finding, coming and going, statistics, destruction. */
#include "entry_caches.h"

using namespace dirsrv_test;

namespace
{

/* --- finding ---------------------------------------------------------------------------- */

TEST_F(EntryCacheTest, AnEntryIsFoundByItsDnInWhateverCase)
{
	create(1 << 20);
	ASSERT_EQ(add(make(pool, "UID=Ann, dc=Example", {{"uid", "Ann"}})), 0);
	name same(pool, "uid=ANN,DC=example"), other(pool, "uid=an,dc=example");
	section reading;
	struct dirsrv_entry *found = dirsrv_entry_cache_lookup(cache, same);

	ASSERT_NE(found, nullptr);
	EXPECT_EQ(all_of(found), "uid=Ann");
	EXPECT_STREQ(dirsrv_dn_text(dirsrv_entry_dn(found), nullptr), "UID=Ann, dc=Example");
	EXPECT_EQ(dirsrv_entry_cache_lookup(cache, other), nullptr);
}

TEST_F(EntryCacheTest, EntriesAreFoundByTheirNames)
{
	create(1 << 20);
	for (const char *dn :
	     {"uid=Ann,ou=a", "uid=ann,ou=b", "uid=anna,ou=a", "cn=Smith\\, J,ou=a"})
		ASSERT_EQ(add(make(pool, dn, {{"uid", "x"}})), 0);
	EXPECT_EQ(named("ANN"), (words{"uid=ann,ou=a", "uid=ann,ou=b"}));
	EXPECT_EQ(named("smith, j"), words{"cn=smith\\, j,ou=a"});
	EXPECT_EQ(named("nobody"), words{});
	EXPECT_EQ(named(""), words{});
	dirsrv_entry_put(dirsrv_entry_cache_remove(cache, name(pool, "uid=ann,ou=a")));
	EXPECT_EQ(named("ann"), words{"uid=ann,ou=b"});
}

TEST_F(EntryCacheTest, EachVisitsAllUntilTheCallbackEndsIt)
{
	struct visit {
		std::set<std::uint64_t> seen;
		std::size_t most;
	} visit{{}, 1000};
	const auto note = [](struct dirsrv_entry *entry, void *arg) {
		auto *v = static_cast<struct visit *>(arg);

		v->seen.insert(dirsrv_dn_hash(dirsrv_entry_dn(entry)));
		return v->seen.size() < v->most;
	};

	create(0);
	for (unsigned i = 0; i < 100; i++)
		ASSERT_EQ(add(i), 0);
	section reading;
	dirsrv_entry_cache_each(cache, note, &visit);
	EXPECT_EQ(visit.seen.size(), 100u);
	visit = {{}, 10};
	dirsrv_entry_cache_each(cache, note, &visit);
	EXPECT_EQ(visit.seen.size(), 10u);
}

/* Once it is known that an entry is in use, a hit writes to nothing but its CPU's counters. */
TEST_F(EntryCacheTest, AHitWritesNothingToTheEntry)
{
	std::vector<char> before(slab_cache_size(cache_called("test.entry")));
	struct dirsrv_entry *entry;

	create(1 << 20);
	ASSERT_EQ(add(7), 0);
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(look(7));
	entry = get(7);
	std::memcpy(before.data(), entry, before.size());
	for (int i = 0; i < 10; i++)
		ASSERT_TRUE(look(7));
	EXPECT_EQ(std::memcmp(before.data(), entry, before.size()), 0);
	EXPECT_EQ(stats().hits, 14u);
	dirsrv_entry_put(entry);
}

/* --- coming and going -------------------------------------------------------------------- */

TEST_F(EntryCacheTest, AnEntryThatWasRefusedCanBeAddedLater)
{
	struct dirsrv_entry *entry = make_numbered(pool, 7, 1);

	create(1 << 20);
	ASSERT_EQ(add(7), 0);
	EXPECT_EQ(dirsrv_entry_cache_add(cache, entry), -EEXIST);
	EXPECT_EQ(dirsrv_entry_references(entry), 1u);
	EXPECT_TRUE(remove(7));
	EXPECT_EQ(dirsrv_entry_cache_add(cache, entry), 0);
	EXPECT_EQ(dirsrv_entry_references(entry), 2u);
	EXPECT_EQ(dirsrv_entry_cache_add(cache, entry), -EINVAL) << "it is published";
	dirsrv_entry_put(entry);
}

TEST_F(EntryCacheTest, WhatIsRemovedIsTheCallers)
{
	struct dirsrv_entry *entry;

	create(1 << 20);
	ASSERT_EQ(add(7), 0);
	entry = dirsrv_entry_cache_remove(cache, name(pool, numbered_dn(7)));
	ASSERT_NE(entry, nullptr);
	EXPECT_FALSE(look(7));
	EXPECT_FALSE(remove(7));
	EXPECT_EQ(stats().bytes, 0u);
	EXPECT_TRUE(is_whole(entry, 7));
	dirsrv_entry_put(entry);
	EXPECT_EQ(objects(), 0u);
}

TEST_F(EntryCacheTest, AReaderKeepsWhatHeFoundUntilHeLeaves)
{
	create(1 << 20);
	ASSERT_EQ(add(7), 0);
	{
		name dn(pool, numbered_dn(7));
		section reading;
		struct dirsrv_entry *entry = dirsrv_entry_cache_lookup(cache, dn);

		EXPECT_TRUE(remove(7));
		for (unsigned i = 100; i < 200; i++)
			ASSERT_EQ(add(i), 0);
		EXPECT_TRUE(is_whole(entry, 7));
		EXPECT_FALSE(dirsrv_entry_get(entry)) << "there is no reference any more";
		EXPECT_GT(stats().pending, 0u);
	}
	EXPECT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	EXPECT_EQ(stats().pending, 0u);
}

TEST_F(EntryCacheTest, EntriesOfOtherPoolsAreRefused)
{
	struct dirsrv_entry_pool *other = dirsrv_entry_pool_create("other", flavour());

	create(1 << 20);
	EXPECT_EQ(add(make_numbered(other, 7, 0)), -EINVAL);
	EXPECT_EQ(dirsrv_entry_pool_destroy(other), 0);
}

TEST_F(EntryCacheTest, BytesAreCountedAnewWhenAnEntryChanges)
{
	struct dirsrv_entry *entry;

	create(1 << 20);
	ASSERT_EQ(add(7), 0);
	ASSERT_EQ(add(8), 0);
	EXPECT_EQ(stats().bytes, size_of(7) + size_of(8));
	entry = get(7);
	ASSERT_EQ(replace(entry, "note", {std::string(50000, 'n')}), 0);
	EXPECT_EQ(stats().bytes, dirsrv_entry_size(entry) + size_of(8));
	EXPECT_GT(stats().bytes, 50000u);
	dirsrv_entry_put(entry);
	EXPECT_TRUE(remove(7));
	EXPECT_EQ(stats().bytes, size_of(8));
}

/* --- statistics ------------------------------------------------------------------------------- */

TEST_F(EntryCacheTest, WhatHappensIsCounted)
{
	create(1 << 20);
	for (unsigned i = 0; i < 10; i++)
		ASSERT_EQ(add(i), 0);
	EXPECT_TRUE(look(3));
	EXPECT_FALSE(look(30));
	EXPECT_FALSE(look(31));
	dirsrv_entry_put(get(4));
	EXPECT_EQ(named("user5").size(), 1u);
	EXPECT_EQ(named("nobody").size(), 0u);
	EXPECT_TRUE(remove(3));
	EXPECT_EQ(stats().hits, 3u);
	EXPECT_EQ(stats().misses, 3u);
	EXPECT_EQ(stats().inserts, 10u);
	EXPECT_EQ(stats().removes, 1u);
	EXPECT_EQ(stats().entries, 9u);
	EXPECT_EQ(stats().small_entries, 9u);
	EXPECT_EQ(stats().small_bytes, stats().bytes);
}

TEST_F(EntryCacheTest, AnUnknownStructIsRefused)
{
	struct dirsrv_entry_cache_stats now = {};

	create(1 << 20);
	EXPECT_EQ(dirsrv_entry_cache_stats_read(cache, &now), -EINVAL);
}

TEST_F(EntryCacheTest, LookupsOfAllThreadsAreCounted)
{
	std::vector<std::thread> threads;

	create(1 << 20);
	ASSERT_EQ(add(1), 0);
	for (int t = 0; t < 4; t++)
		threads.emplace_back([&] {
			registered there;

			for (int i = 0; i < 5000; i++)
				look(static_cast<unsigned>(i % 2) + 1);
		});
	join_all(threads);
	EXPECT_EQ(stats().hits, 10000u);
	EXPECT_EQ(stats().misses, 10000u);
}

/* --- destruction ------------------------------------------------------------------------------ */

TEST_F(EntryCacheTest, DestroyReportsWhatIsStillReferenced)
{
	static std::map<std::string, unsigned> reported;
	struct dirsrv_entry *entry;

	create(1 << 20);
	reported.clear();
	for (unsigned i = 0; i < 10; i++)
		ASSERT_EQ(add(i), 0);
	entry = get(7);
	EXPECT_TRUE(dirsrv_entry_get(entry));
	EXPECT_EQ(dirsrv_entry_cache_destroy(
			  cache,
			  [](const struct dirsrv_entry *held, unsigned references, void *) {
				  reported[dirsrv_dn_text(dirsrv_entry_dn(held), nullptr)] =
					  references;
			  },
			  nullptr),
		  -EBUSY);
	EXPECT_EQ(reported, (std::map<std::string, unsigned>{{numbered_dn(7), 2}}));
	EXPECT_TRUE(look(7)) << "the cache stays usable";
	EXPECT_EQ(stats().entries, 1u);
	EXPECT_EQ(add(8), 0);
	dirsrv_entry_put(entry);
	dirsrv_entry_put(entry);
}

/* The callback gets one entry, and meanwhile all others lose their references, and memory is
 * short. */
TEST_F(EntryCacheTest, ReferencesArePutWhileDestroyReportsThem)
{
	struct leavers {
		struct dirsrv_entry_pool *pool;
		std::vector<struct dirsrv_entry *> held;
		unsigned calls;
		words wrong;
	} leavers{pool, {}, 0, {}};

	create(1 << 20);
	for (unsigned i = 0; i < 64; i++) {
		ASSERT_EQ(add(i), 0);
		leavers.held.push_back(get(i));
	}
	const auto put_all = [](const struct dirsrv_entry *entry, unsigned references, void *arg) {
		auto *t = static_cast<struct leavers *>(arg);
		const std::string dn = dirsrv_dn_text(dirsrv_entry_dn(entry), nullptr);

		if (references != 1)
			t->wrong.push_back(dn + " " + std::to_string(references));
		if (t->calls++)
			return;
		std::thread([t] {
			registered there;

			for (struct dirsrv_entry *held : t->held)
				dirsrv_entry_put(held);
			for (int i = 0; i < 20; i++)
				slab_reclaim(64u << 20);
			EXPECT_EQ(dirsrv_entry_pool_barrier(t->pool), 0);
		}).join();
	};

	EXPECT_EQ(dirsrv_entry_cache_destroy(cache, put_all, &leavers), -EBUSY);
	EXPECT_EQ(leavers.calls, 1u) << "the others have no reference any more";
	EXPECT_EQ(leavers.wrong, words{});
	EXPECT_EQ(stats().bytes == 0, stats().entries == 0);
}

TEST_F(EntryCacheTest, DestroyWithinASectionIsRefused)
{
	section reading;

	create(1 << 20);
	EXPECT_EQ(dirsrv_entry_cache_destroy(cache, nullptr, nullptr), -EDEADLK);
}

/* --- fork ------------------------------------------------------------------------------------- */

/* Threads have the lock nearly all the time: they look for an entry to evict where all are held. */
TEST_F(EntryCacheTest, AChildUsesTheCacheWhateverThreadsWereAt)
{
	std::vector<struct dirsrv_entry *> held;
	std::vector<std::thread> threads;
	std::atomic<bool> over{false};

	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer does not know children of many threads";
	create(DIRSRV_ENTRY_CACHE_UNLIMITED);
	for (unsigned i = 0; i < 3000; i++) {
		ASSERT_EQ(add(i), 0);
		held.push_back(get(i));
	}
	for (unsigned t = 0; t < 2; t++)
		threads.emplace_back([&] {
			registered there;

			while (!over)
				dirsrv_entry_cache_evict(cache, 1);
		});
	for (int i = 0; i < 20 && !HasFailure(); i++)
		EXPECT_EQ(run_in_child_now([&] {
				  alarm(20); /* it hangs, or takes no time */
				  return stats().entries == held.size() && remove(7) ? 0 : 1;
			  }),
			  "");
	over = true;
	join_all(threads);
	for (struct dirsrv_entry *entry : held)
		dirsrv_entry_put(entry);
}

TEST_F(EntryCacheTest, APoolHasOneCacheAndIsBusyWithIt)
{
	create(1 << 20);
	errno = 0;
	EXPECT_EQ(dirsrv_entry_cache_create(pool, 1 << 20, 0), nullptr);
	EXPECT_EQ(errno, EBUSY);
	EXPECT_EQ(dirsrv_entry_pool_destroy(pool), -EBUSY);
	EXPECT_EQ(dirsrv_entry_cache_destroy(cache, nullptr, nullptr), 0);
	create(1 << 20);
}

} // namespace
