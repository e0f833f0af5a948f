/* SPDX-License-Identifier: MIT */
/*
 * Random lines of SLAB_DEBUG, SLAB_SAMPLE and SLAB_FAIL: each is good within its limits or
 * changes nothing, and a second reader agrees.
 */
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>

#include "debug_lines.h"

extern "C" {
#include "base/debug_spec.h"
#include "base/fail.h"
#include "base/names.h"
#include "base/options.h"
#include "base/text.h"
}

using namespace slab_test;

namespace
{

/* Lines that are nearly right: pieces of the syntax, names and noise, and
 * changes of single bytes. No byte is zero: an environment cannot hold one. */
class maker
{
public:
	explicit maker(unsigned seed) : random_(seed) {}

	unsigned below(unsigned n)
	{
		return static_cast<unsigned>(random_() % n);
	}

	std::string name()
	{
		static const std::vector<std::string> names = {
			"entry", "entry2", "dn", "e", "size-64", "a:b", longest_name, ""};

		return names[below(static_cast<unsigned>(names.size()))];
	}

	std::string text(const std::vector<std::string> &pieces)
	{
		const unsigned n = below(1000) == 0 ? 2000 : below(8);
		std::string made;

		for (unsigned i = 0; i < n; i++)
			made += below(4) ? pieces[below(static_cast<unsigned>(pieces.size()))]
					 : name();
		for (unsigned i = below(2) * below(4); i > 0 && !made.empty(); i--)
			made[below(static_cast<unsigned>(made.size()))] =
				static_cast<char>(1 + below(255));
		return made.substr(0, SLAB_OPTION_TEXT - 1);
	}

private:
	std::mt19937 random_;
};

constexpr int debug_rounds = 100000, sample_rounds = 60000, fail_rounds = 60000;

TEST(DebugOptionsFuzz, DebugFlagsAreKnownOnesAndTheMatchersAgree)
{
	const std::vector<std::string> pieces = {"F", "z", "P", "u", "T", "a", "O", "-", ",",
						 ",", ",", ";", ";", "*", "X", " ", ";,"};
	maker make(1);
	int with_flags = 0, complained = 0;

	for (int round = 0; round < debug_rounds; round++) {
		const std::string text = make.text(pieces), name = make.name();
		const verdict v = flags_for(text, name);

		ASSERT_EQ(v.debug_flags & ~SLAB_DEBUG_FLAGS, 0u) << round << ": " << text;
		ASSERT_EQ(v, reference(text, name)) << round << ": " << text << " for " << name;
		ASSERT_EQ(v, flags_for(text, name)) << round << ": " << text;
		complaints.clear();
		const int count = debug_text_check(exact(text).data(), complain);
		ASSERT_EQ(static_cast<std::size_t>(count), complaints.size());
		ASSERT_LE(complaints.size(), 2u) << round << ": " << text;
		for (const std::string &message : complaints)
			ASSERT_EQ(message.find('\n'), std::string::npos) << message;
		with_flags += v.debug_flags != 0;
		complained += !complaints.empty();
	}
	/* Chance is of use only when it leads everywhere. */
	EXPECT_GT(with_flags, debug_rounds / 10);
	EXPECT_GT(complained, debug_rounds / 10);
	EXPECT_LT(complained, debug_rounds);
}

TEST(SampleOptionsFuzz, ALineIsGoodOrRefusedAndTheReadersAgree)
{
	const std::vector<std::string> pieces = {
		":1", ":20,", ":300,", "*:4,",    ":",   ",",
		"0",  "-1",   "*",     "entry:0", " :1", "dn:99999999999999999999"};
	maker make(2);
	int good_lines = 0, matched = 0;

	for (int round = 0; round < sample_rounds; round++) {
		const std::string text = make.text(pieces), name = make.name();
		const bool good = sample_text_is_good(exact(text).data());
		const long expected = reference_interval(text, name);

		ASSERT_EQ(good, expected >= 0) << round << ": " << text;
		if (!good)
			continue;
		ASSERT_EQ(sample_text_interval(exact(text).data(), exact(name).data()),
			  static_cast<unsigned long>(expected))
			<< round << ": " << text << " for " << name;
		good_lines++;
		matched += expected > 0;
	}
	EXPECT_GT(good_lines, sample_rounds / 100);
	EXPECT_GT(matched, sample_rounds / 500);
}

TEST(FailOptionsFuzz, ALineIsGoodWithinItsLimitsOrChangesNothing)
{
	const std::vector<std::string> pieces = {
		"interval=2",  ",interval=", ",probability=50", "probability=",
		"1",           ",times=-1",  "times=7",         ",cache=",
		"cache=entry", ",",          ",cache=size*"};
	struct slab_fail untouched = {};
	maker make(3);
	int good_lines = 0, with_names = 0;

	untouched.interval = 77;
	for (int round = 0; round < fail_rounds; round++) {
		const std::string text = make.text(pieces);
		struct slab_fail fail = untouched;

		if (!fail_parse(&fail, exact(text).data())) {
			ASSERT_TRUE(is_equal(fail, untouched)) << text;
			continue;
		}
		ASSERT_TRUE(fail.set) << text;
		ASSERT_GE(fail.interval, 1u) << text;
		ASSERT_LE(fail.probability, 100u) << text;
		ASSERT_GE(fail.times, -1) << text;
		ASSERT_LT(strnlen(fail.names, sizeof(fail.names)), sizeof(fail.names)) << text;
		ASSERT_EQ(*fail.names != '\0', text.find("cache=") != std::string::npos) << text;
		good_lines++;
		with_names += *fail.names != '\0';
	}
	EXPECT_GT(good_lines, fail_rounds / 100);
	EXPECT_GT(with_names, fail_rounds / 500);
}

} /* namespace */
