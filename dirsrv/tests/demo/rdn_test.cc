/* SPDX-License-Identifier: MIT */
/* The value in the first RDN of a DN, by which the directory finds entries. */
extern "C" {
#include "source.h"
}

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace
{

TEST(RdnTest, ValueIsUnescapedAndLowerCase)
{
	const std::map<std::string, std::string> cases = {
		{"cn=Ada,dc=x", "ada"},
		{"cn= Ada Lovelace", "ada lovelace"},
		{"cn=a\\,b,dc=x", "a,b"},
		{"cn=g\\+\\+,ou=devel", "g++"},
		{"cn=\\c3\\b6", "\xc3\xb6"},
		{"cn=", ""},
		{"=x", ""},
		{"x", ""},
		{"cn=broken\\", ""},
		{"cn=" + std::string(300, 'a'), ""},
	};

	for (const auto &one : cases) {
		char value[256];
		size_t type_length = 0;
		size_t length = record_rdn_value(one.first.data(), one.first.size(), &type_length,
						 value, sizeof(value));

		EXPECT_EQ(std::string(value, length), one.second) << one.first;
		EXPECT_EQ(type_length, length ? 2u : type_length) << one.first;
	}
}

} /* namespace */
