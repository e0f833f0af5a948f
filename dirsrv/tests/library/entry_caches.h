/* SPDX-License-Identifier: MIT */
/*
 * Entries that prove that they are whole, allocations that fail one after another; the fixture of
 * the entry cache's tests: a pool with a cache, which is empty in the end.
 */
#pragma once

#include <slab/dirsrv/entry.h>

#include "entries.h"

namespace dirsrv_test
{

/*
 * Entry `number`, in version `version`: each value begins with the number and the version
 * as text and goes on with a pattern of both. Values of one attribute have one version, and
 * one of them has another length in the next.
 */
inline std::string numbered_dn(unsigned number)
{
	return "uid=user" + std::to_string(number) + ",ou=People,dc=example,dc=com";
}

inline std::string numbered_value(unsigned number, unsigned version, std::size_t length)
{
	std::string value = std::to_string(number) + "/" + std::to_string(version) + "/";

	for (unsigned i = 0; value.size() < length; i++)
		value.push_back(static_cast<char>('!' + (number * 31 + version * 7 + i) % 90));
	return value;
}

inline std::vector<std::string> numbered_values(unsigned number, unsigned version)
{
	return {numbered_value(number, version, 8), numbered_value(number, version, 40),
		numbered_value(number, version, 200 + number % 7 * 100 + version % 3 * 50)};
}

inline struct dirsrv_entry *make_numbered(struct dirsrv_entry_pool *pool, unsigned number,
					  unsigned version)
{
	std::vector<pair> attributes = {{"objectClass", "top"}};

	for (const std::string &value : numbered_values(number, version)) {
		attributes.emplace_back("note", value);
		attributes.emplace_back("description", value);
	}
	attributes.emplace_back("uid", "user" + std::to_string(number));
	return make(pool, numbered_dn(number), attributes);
}

inline bool attribute_is_whole(const struct dirsrv_attribute *attribute, unsigned number)
{
	const std::vector<std::string> found = values(attribute);
	unsigned of = 0, version = 0;

	if (found.empty() || std::sscanf(found[0].c_str(), "%u/%u/", &of, &version) != 2 ||
	    of != number)
		return false;
	return found == numbered_values(number, version);
}

/* What a reader may look at within a section is all of this entry and of no other. */
inline bool is_whole(const struct dirsrv_entry *entry, unsigned number)
{
	const struct dirsrv_dn *dn = dirsrv_entry_dn(entry);
	std::size_t length = 0;
	const char *bytes = dirsrv_dn_text(dn, &length);

	return std::string(bytes, length) == numbered_dn(number) &&
	       attribute_is_whole(dirsrv_entry_find(entry, "note", 4), number) &&
	       attribute_is_whole(dirsrv_entry_find(entry, "description", 11), number) &&
	       values(entry, "uid") == std::vector<std::string>{"user" + std::to_string(number)};
}

/* Calls `action` with the first, the second, … allocation failing, of objects and of pages;
 * it returns whether it succeeded. Returns how often it failed. */
template <typename Action> unsigned fail_in_turn(Action action)
{
	constexpr unsigned turns = 40;
	unsigned failed = 0;

	/* All caches that it needs exist now, and get the flag A. */
	EXPECT_TRUE(action());
	EXPECT_EQ(slab_set_fail("cache=*,times=0"), 0);
	for (unsigned turn = 1; turn <= turns; turn++) {
		/* Objects alone: where pages are to fail, libslab makes room and tries again. */
		const std::string spec = "cache=*,times=1,interval=" + std::to_string(turn);

		EXPECT_EQ(slab_set_fail(spec.c_str()), 0);
		failed += !action();
		slab_set_fail(nullptr);
	}
	return failed;
}

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

	bool remove(unsigned number) { return remove_dn(numbered_dn(number)); }

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
