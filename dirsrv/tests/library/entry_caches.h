/* SPDX-License-Identifier: MIT */
/* The fixture of the entry cache's tests: a pool with a cache, which is empty in the end. */
#ifndef TESTS_DIRSRV_ENTRY_CACHES_H
#define TESTS_DIRSRV_ENTRY_CACHES_H

#include <algorithm>

#include "entries.h"
#include "numbered_entries.h"

namespace dirsrv_test
{

using words = std::vector<std::string>;

class EntryCacheTest : public PoolTest
{
protected:
	struct dirsrv_entry_cache *cache = nullptr;

	~EntryCacheTest() override
	{
		slab_set_fail(nullptr);
		EXPECT_EQ(dirsrv_entry_cache_destroy(cache, nullptr, nullptr), 0);
	}

	void create(std::size_t limit, std::size_t expected = 0)
	{
		cache = dirsrv_entry_cache_create(pool, limit, expected);
		ASSERT_NE(cache, nullptr);
	}

	int add(struct dirsrv_entry *entry)
	{
		const int error = dirsrv_entry_cache_add(cache, entry);

		dirsrv_entry_put(entry);
		return error;
	}

	int add(unsigned number, unsigned version = 0)
	{
		return add(make_numbered(pool, number, version));
	}

	bool remove(unsigned number)
	{
		return remove_dn(numbered_dn(number));
	}

	bool remove_dn(const std::string &dn)
	{
		struct dirsrv_entry *entry = dirsrv_entry_cache_remove(cache, name(pool, dn));

		dirsrv_entry_put(entry);
		return entry != nullptr;
	}

	struct dirsrv_entry *get(unsigned number)
	{
		return dirsrv_entry_cache_get(cache, name(pool, numbered_dn(number)));
	}

	/* As a reader: is it there, and whole? */
	bool look(unsigned number)
	{
		name dn(pool, numbered_dn(number));
		section reading;
		struct dirsrv_entry *entry = dirsrv_entry_cache_lookup(cache, dn);

		if (!entry)
			return false;
		EXPECT_TRUE(is_whole(entry, number)) << number;
		return true;
	}

	/* As a server does: from the cache, or from where entries come from. */
	void fetch(unsigned number)
	{
		if (!look(number)) {
			EXPECT_EQ(add(number), 0);
		}
	}

	struct dirsrv_entry_cache_stats stats()
	{
		struct dirsrv_entry_cache_stats now = {};

		now.struct_size = sizeof(now);
		EXPECT_EQ(dirsrv_entry_cache_stats_read(cache, &now), 0);
		return now;
	}

	std::size_t size_of(unsigned number)
	{
		struct dirsrv_entry *entry = make_numbered(pool, number, 0);
		const std::size_t bytes = dirsrv_entry_size(entry);

		dirsrv_entry_put(entry);
		return bytes;
	}

	words named(const std::string &wanted)
	{
		section reading;
		words found;

		const std::size_t calls = dirsrv_entry_cache_named(
			cache, wanted.data(), wanted.size(),
			[](struct dirsrv_entry *entry, void *arg) {
				static_cast<words *>(arg)->push_back(
					dirsrv_dn_normalized(dirsrv_entry_dn(entry), nullptr));
				return true;
			},
			&found);

		EXPECT_EQ(calls, found.size());
		std::sort(found.begin(), found.end());
		return found;
	}
};

} // namespace dirsrv_test

#endif /* TESTS_DIRSRV_ENTRY_CACHES_H */
