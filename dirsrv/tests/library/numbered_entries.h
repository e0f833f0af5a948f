/* SPDX-License-Identifier: MIT */
/* Entries that prove that they are whole, and allocations that fail one after another. */
#ifndef TESTS_DIRSRV_NUMBERED_ENTRIES_H
#define TESTS_DIRSRV_NUMBERED_ENTRIES_H

#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
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

} // namespace dirsrv_test

#endif /* TESTS_DIRSRV_NUMBERED_ENTRIES_H */
