/* SPDX-License-Identifier: MIT */
/*
 * SLAB_DEBUG and SLAB_SAMPLE: every form of a line, good and bad, and lines of
 * chance. Each good line is also read by a second matcher, written here with
 * strings for clearness; the two must agree on everything.
 */
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../support/process.h"

#include <slab/debug.h>

extern "C" {
#include "config/names.h"
#include "config/text.h"
#include "config/debug_spec.h"
#include "config/fail.h"
#include "config/options.h"
}

using namespace slab_test;

namespace
{

constexpr std::uint64_t F = SLAB_CONSISTENCY_CHECKS, Z = SLAB_RED_ZONE, P = SLAB_POISON,
			U = SLAB_STORE_USER, T = SLAB_TRACE, A = SLAB_FAILSLAB,
			FZPU = F | Z | P | U;

const std::string longest_name(SLAB_MAX_NAME, 'n');

std::vector<std::string> complaints;

void complain(const char *sentence)
{
	complaints.push_back(sentence);
}

/* What SLAB_DEBUG says about a cache. */
struct verdict {
	std::uint64_t debug_flags;
	bool no_growth;

	bool operator==(const verdict &other) const
	{
		return debug_flags == other.debug_flags && no_growth == other.no_growth;
	}
};

std::ostream &operator<<(std::ostream &out, const verdict &v)
{
	char text[8];

	debug_flags_format(v.debug_flags, text);
	return out << text << (v.no_growth ? " without growth" : "");
}

/* A text in memory of exactly its size, so that a sanitizer sees who reads on. */
std::vector<char> exact(const std::string &text)
{
	return std::vector<char>(text.c_str(), text.c_str() + text.size() + 1);
}

verdict flags_for(const std::string &text, const std::string &name)
{
	verdict v = {~UINT64_C(0), false};

	v.debug_flags = debug_text_flags(exact(text).data(), exact(name).data(), &v.no_growth);
	return v;
}

/* --- the second matcher ---------------------------------------------------- */

std::vector<std::string> split(const std::string &text, char by)
{
	std::vector<std::string> parts(1);

	for (char c : text)
		if (c == by)
			parts.emplace_back();
		else
			parts.back() += c;
	return parts;
}

bool matches(const std::string &pattern, const std::string &name)
{
	const std::size_t star = pattern.find('*');

	return star == std::string::npos ? !pattern.empty() && pattern == name
					 : name.compare(0, star, pattern, 0, star) == 0;
}

std::uint64_t flag_of(char letter)
{
	const std::string all = "FZPUTA";
	const std::uint64_t flags[] = {F, Z, P, U, T, A};
	const std::size_t at = all.find(letter);

	return at == std::string::npos ? 0 : flags[at];
}

std::uint64_t debug_flags_of(const std::string &text)
{
	const std::size_t minus = text.rfind('-');
	std::uint64_t debug_flags = 0;

	if (text.empty())
		return FZPU;
	for (std::size_t i = minus == std::string::npos ? 0 : minus + 1; i < text.size(); i++) {
		const bool is_ascii = static_cast<unsigned char>(text[i]) < 128;

		debug_flags |= is_ascii ? flag_of(static_cast<char>(std::toupper(text[i]))) : 0;
	}
	return debug_flags;
}

verdict reference(const std::string &text, const std::string &name)
{
	verdict for_all = {0, false}, for_name = {0, false};
	bool named = false, no_growth = false;

	for (const std::string &block : split(text, ';')) {
		std::vector<std::string> parts = split(block, ',');
		const std::string debug_flags = parts[0];

		if (block.empty())
			continue;
		parts.erase(parts.begin());
		no_growth |= debug_flags.find_first_of("oO") != std::string::npos;
		if (parts.empty())
			for_all.debug_flags = debug_flags_of(debug_flags);
		else if (!named && std::any_of(parts.begin(), parts.end(), [&](const auto &part) {
				 return matches(part, name);
			 })) {
			for_name.debug_flags = debug_flags_of(debug_flags);
			named = true;
		}
	}
	return {named ? for_name.debug_flags : for_all.debug_flags, no_growth};
}

/* --- SLAB_DEBUG, line by line ------------------------------------------------ */

struct line {
	const char *what;
	std::string text;
	std::string cache;
	verdict expected;
};

const line lines[] = {
	{"one flag", "F", "entry", {F, false}},
	{"every flag", "FZPUTA", "entry", {FZPU | T | A, false}},
	{"lower case", "fzputa", "entry", {FZPU | T | A, false}},
	{"the order is free", "uPzF", "entry", {FZPU, false}},
	{"a flag twice", "ZZ", "entry", {Z, false}},
	{"off", "-", "entry", {0, false}},
	{"a minus takes back what stands before it", "FZ-P", "entry", {P, false}},
	{"flags and off", "FZ-", "entry", {0, false}},
	{"no growth", "FZO", "entry", {F | Z, true}},
	{"no growth in lower case", "oz", "entry", {Z, true}},
	{"no growth alone", "O", "entry", {0, true}},
	{"no growth is not taken back", "FO-", "entry", {0, true}},
	{"no growth is about all caches", "F,entry;O,other", "entry", {F, true}},
	{"nothing", "", "entry", {0, false}},
	{"empty blocks", ";;;", "entry", {0, false}},
	{"a name", "FZ,entry", "entry", {F | Z, false}},
	{"another name", "FZ,entry", "entry2", {0, false}},
	{"the beginning of the name", "FZ,entry2", "entry", {0, false}},
	{"names have upper and lower case", "FZ,Entry", "entry", {0, false}},
	{"the second name", "FZ,dn,entry", "entry", {F | Z, false}},
	{"no flags for a name", ",entry", "entry", {FZPU, false}},
	{"no flags for another name", ",entry", "dn", {0, false}},
	{"no flags for several names", ",dn,entry", "entry", {FZPU, false}},
	{"off for a name", "-,entry", "entry", {0, false}},
	{"a star", "P,ent*", "entry", {P, false}},
	{"a star for nothing", "P,entry*", "entry", {P, false}},
	{"a star does not match its beginning", "P,entry*", "ent", {0, false}},
	{"a star for everything", "P,*", "entry", {P, false}},
	{"what follows a star does not matter", "P,en*xyz", "entry", {P, false}},
	{"two stars", "P,e**", "entry", {P, false}},
	{"a star elsewhere", "P,dn*,entry", "entry", {P, false}},
	{"a list replaces the global block", "FZPU;Z,entry", "entry", {Z, false}},
	{"the global block for the others", "FZPU;Z,entry", "dn", {FZPU, false}},
	{"the global block may come later", "Z,entry;FZPU", "entry", {Z, false}},
	{"the kernel's example", "FZ;-,zs_handle,zspage", "zspage", {0, false}},
	{"the kernel's example, others", "FZ;-,zs_handle,zspage", "zs", {F | Z, false}},
	{"the last global block wins", "FZ;P;U", "entry", {U, false}},
	{"the first list wins", "F,e*;Z,entry;P,entry", "entry", {F, false}},
	{"the first list that matches wins", "F,dn;Z,entry;P,e*", "entry", {Z, false}},
	{"empty blocks are passed over", ";;F;;Z,entry;;", "entry", {Z, false}},
	{"a last semicolon", "FZ;", "entry", {F | Z, false}},
	{"a first semicolon", ";FZ", "entry", {F | Z, false}},
	{"a name with a colon", "F,a:b", "a:b", {F, false}},
	{"a name with a dot and dashes", "F,size-1.5k", "size-1.5k", {F, false}},
	{"the longest name", "F," + longest_name, longest_name, {F, false}},
	{"the longest name, one short", "F," + longest_name, longest_name.substr(1), {0, false}},
	{"an unknown flag is skipped", "XFZ", "entry", {F | Z, false}},
	{"only unknown flags", "1,entry;F", "entry", {0, false}},
	{"unknown flags are not the same as no flags", "1", "entry", {0, false}},
	{"an empty name matches nothing", "F,", "entry", {0, false}},
	{"empty names among others", "F,,entry,", "entry", {F, false}},
	{"an empty name and no flags", ",", "entry", {0, false}},
	{"a name with a space", "F, entry", "entry", {0, false}},
	{"a name that is too long", "F,n" + longest_name, longest_name, {0, false}},
	{"letters of another alphabet", "F\xc3\xa9\xe6Z", "entry", {F | Z, false}},
};

TEST(DebugOptionsTest, EveryLineIsReadAsDescribed)
{
	for (const line &l : lines) {
		EXPECT_EQ(flags_for(l.text, l.cache), l.expected)
			<< l.what << ": " << l.text << " for " << l.cache;
		EXPECT_EQ(reference(l.text, l.cache), l.expected)
			<< "the reference, " << l.what << ": " << l.text << " for " << l.cache;
	}
}

/* What is said about a line; nothing about a good one. */
struct remark {
	const char *what;
	std::string text;
	std::vector<std::string> said;
};

const std::string accepted_flags =
	" skipped; accepted: F Z P U T A O and -, in upper or lower case";
const std::string accepted_names =
	"\" cannot be the name of a cache; accepted: 1 to 63 printable characters without spaces, "
	"of which a * stands for any end";

std::string flags_message(const std::string &debug_flags)
{
	return std::string("SLAB_DEBUG: unknown flag") + (debug_flags.size() > 1 ? "s" : "") +
	       " \"" + debug_flags + "\"" + accepted_flags;
}

std::string name_message(const std::string &name)
{
	return "SLAB_DEBUG: \"" + name + accepted_names;
}

const remark remarks[] = {
	{"debug_flags", "fzputaoFZPUTAO-", {}},
	{"names", ",entry,dn*,*;-,x", {}},
	{"empty blocks", ";;F;", {}},
	{"the longest name", "F," + longest_name + "," + longest_name + "*", {}},
	{"anything after a star", "F,en* \x01" + longest_name, {}},
	{"one unknown flag", "FxZ", {flags_message("x")}},
	{"each unknown flag once", "hello;world", {flags_message("helwrd")}},
	{"unknown flags before names", "1,entry", {flags_message("1")}},
	{"control characters", "F\n\x1b", {flags_message("?")}},
	{"many unknown flags", "bcdeghijklmnqrsvwxy", {flags_message("bcdeghijklmnqrsv")}},
	{"an empty name", "F,", {name_message("")}},
	{"an empty name in the middle", "F,a,,b", {name_message("")}},
	{"a space", "F, entry", {name_message(" entry")}},
	{"a control character", "F,a\tb*", {name_message("a?b*")}},
	{"too long", "F,n" + longest_name, {name_message(longest_name + "n")}},
	{"far too long",
	 "F," + std::string(3000, 'n') + "*",
	 {name_message(std::string(SLAB_MAX_NAME - 2, 'n') + "...")}},
	{"only the first bad name", "F,a b,c d", {name_message("a b")}},
	{"both", "X,", {flags_message("X"), name_message("")}},
};

TEST(DebugOptionsTest, EveryMistakeIsNamedInOneSentence)
{
	for (const remark &r : remarks) {
		complaints.clear();
		const int count = debug_text_check(r.text.c_str(), complain);

		EXPECT_EQ(complaints, r.said) << r.what << ": " << r.text;
		EXPECT_EQ(static_cast<std::size_t>(count), r.said.size()) << r.what;
	}
}

/* --- debug flags alone ---------------------------------------------------------- */

TEST(DebugOptionsTest, DebugFlagsAloneAreAllKnownOrNoneIsTaken)
{
	const struct {
		const char *text;
		std::uint64_t debug_flags;
	} good[] = {{"", 0}, {"-", 0}, {"F", F}, {"fzpu", FZPU}, {"TaTa", T | A}};

	for (const auto &g : good) {
		std::uint64_t debug_flags = 77;

		EXPECT_EQ(debug_flags_parse(g.text, std::strlen(g.text), &debug_flags), 0)
			<< g.text;
		EXPECT_EQ(debug_flags, g.debug_flags) << g.text;
	}
	for (const char *text : {"X", "FX", "F-", "--", "-F", "O", "F Z", "F,entry", "1"}) {
		std::uint64_t debug_flags = 77;

		EXPECT_EQ(debug_flags_parse(text, std::strlen(text), &debug_flags), -EINVAL)
			<< text;
		EXPECT_EQ(debug_flags, 77u) << text;
	}
}

TEST(DebugOptionsTest, DebugFlagsEndWhereTheLengthSays)
{
	std::uint64_t debug_flags = 0;

	EXPECT_EQ(debug_flags_parse("FZ!", 2, &debug_flags), 0);
	EXPECT_EQ(debug_flags, F | Z);
	EXPECT_EQ(debug_flags_parse("F\0Z", 3, &debug_flags), -EINVAL);
}

TEST(DebugOptionsTest, DebugFlagsAsText)
{
	char text[8];

	debug_flags_format(0, text);
	EXPECT_STREQ(text, "-");
	debug_flags_format(SLAB_DEBUG_FLAGS, text);
	EXPECT_STREQ(text, "FZPUTA");
	debug_flags_format(U | Z, text);
	EXPECT_STREQ(text, "ZU");
	debug_flags_format(SLAB_ZERO, text);
	EXPECT_STREQ(text, "-");
	for (std::uint64_t set = 0; set < 64; set++) {
		std::uint64_t back = 77;

		debug_flags_format(set, text);
		EXPECT_EQ(debug_flags_parse(text, std::strlen(text), &back), 0) << text;
		EXPECT_EQ(back, set) << text;
	}
}

/* --- SLAB_SAMPLE --------------------------------------------------------------- */

TEST(SampleOptionsTest, EveryLineIsReadAsDescribed)
{
	const struct {
		const char *what;
		std::string text, cache;
		unsigned long expected;
	} samples[] = {
		{"one cache", "entry:1000", "entry", 1000},
		{"another cache", "entry:1000", "dn", 0},
		{"the second item", "dn:5,entry:7", "entry", 7},
		{"the first that matches", "e*:5,entry:7", "entry", 5},
		{"off for one of many", "entry:0,*:10000", "entry", 0},
		{"and on for the others", "entry:0,*:10000", "dn", 10000},
		{"a star", "en*:3", "entry", 3},
		{"a name with colons", "a:b:9", "a:b", 9},
		{"every allocation", "entry:1", "entry", 1},
		{"a large number", "entry:9223372036854775807", "entry", 9223372036854775807UL},
		{"leading zeros", "entry:007", "entry", 7},
		{"the longest name", longest_name + ":2", longest_name, 2},
	};

	for (const auto &s : samples) {
		EXPECT_TRUE(sample_text_is_good(s.text.c_str())) << s.what << ": " << s.text;
		EXPECT_EQ(sample_text_interval(s.text.c_str(), s.cache.c_str()), s.expected)
			<< s.what << ": " << s.text << " for " << s.cache;
	}
}

TEST(SampleOptionsTest, BadLinesAreRefused)
{
	const std::vector<std::string> bad = {"entry",
					      "entry:",
					      ":100",
					      "entry:x",
					      "entry:-1",
					      "entry:+1",
					      "entry: 1",
					      "entry:1x",
					      "entry:1,",
					      ",entry:1",
					      "entry:1,,dn:2",
					      "entry:1;dn:2",
					      "entry:1,dn",
					      "an entry:1",
					      "entry:9223372036854775808",
					      "entry:99999999999999999999999",
					      "n" + longest_name + ":1"};

	for (const std::string &text : bad)
		EXPECT_FALSE(sample_text_is_good(text.c_str())) << text;
}

/* --- the process's own environment ------------------------------------------------ */

TEST(DebugOptionsTest, TheProcessHasDebugFlagsAndSamplesFromItsEnvironment)
{
	if (running_again()) {
		bool no_growth = false;

		EXPECT_EQ(debug_options_flags("entry", &no_growth), Z);
		EXPECT_TRUE(no_growth);
		EXPECT_EQ(debug_options_flags("dn", &no_growth), F);
		EXPECT_EQ(sample_options("entry"), 50u);
		EXPECT_EQ(sample_options("dn"), 0u);
		return;
	}
	const second_run run = run_again({"SLAB_DEBUG=FYO;Z,entry", "SLAB_SAMPLE=entry:50"});

	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_NE(run.output.find("libslab: " + flags_message("Y") + "\n"), std::string::npos)
		<< run.output;
}

TEST(DebugOptionsTest, WithoutVariablesThereAreNoDebugFlagsAndNoSamples)
{
	if (running_again()) {
		bool no_growth = true;

		EXPECT_EQ(debug_options_flags("entry", &no_growth), 0u);
		EXPECT_FALSE(no_growth);
		EXPECT_EQ(sample_options("entry"), 0u);
		return;
	}
	const second_run run = run_again({"SLAB_DEBUG=", "SLAB_SAMPLE="});

	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_EQ(run.output.find("libslab:"), std::string::npos) << run.output;
}

/* --- chance ---------------------------------------------------------------------------- */

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
		for (const std::string &sentence : complaints)
			ASSERT_EQ(sentence.find('\n'), std::string::npos) << sentence;
		with_flags += v.debug_flags != 0;
		complained += !complaints.empty();
	}
	/* Chance is of use only when it leads everywhere. */
	EXPECT_GT(with_flags, debug_rounds / 10);
	EXPECT_GT(complained, debug_rounds / 10);
	EXPECT_LT(complained, debug_rounds);
}

/* A second reader of SLAB_SAMPLE: -1 when the line is bad. */
long reference_interval(const std::string &text, const std::string &name)
{
	long interval = -1;

	for (const std::string &item : split(text, ',')) {
		const std::size_t colon = item.rfind(':');
		const std::string pattern = item.substr(0, colon);
		const std::string number = colon == std::string::npos ? "" : item.substr(colon + 1);
		const bool digits = !number.empty() &&
				    number.find_first_not_of("0123456789") == std::string::npos;

		if (!digits || !name_is_pattern(pattern.c_str(), pattern.size()))
			return -1;
		errno = 0;
		const long n = std::strtol(number.c_str(), nullptr, 10);

		if (errno == ERANGE)
			return -1;
		if (interval < 0 && matches(pattern, name))
			interval = n;
	}
	return interval < 0 ? 0 : interval;
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
			ASSERT_EQ(std::memcmp(&fail, &untouched, sizeof(fail)), 0) << text;
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
