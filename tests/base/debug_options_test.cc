/* SPDX-License-Identifier: MIT */
/*
 * SLAB_DEBUG and SLAB_SAMPLE: every form of a line, good and bad. Random lines:
 * tests/fuzz/debug.cc.
 */
#include "../support/process.h"
#include "debug_lines.h"

namespace
{

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
	{"flags with a letter that is none", "XFZO", "entry", {0, false}},
	{"the name of a cache instead of flags", "entry", "entry", {0, false}},
	{"the other blocks count", "1,entry;F", "entry", {F, false}},
	{"letters that are no flags are not the same as no flags", "1", "entry", {0, false}},
	{"an empty name matches nothing", "F,", "entry", {0, false}},
	{"empty names among others", "F,,entry,", "entry", {F, false}},
	{"an empty name and no flags", ",", "entry", {0, false}},
	{"a name with a space", "F, entry", "entry", {0, false}},
	{"a name that is too long", "F,n" + longest_name, longest_name, {0, false}},
	{"letters of another alphabet", "F\xc3\xa9\xe6Z", "entry", {0, false}},
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

/* The error messages about a line; none about a good one. */
struct remark {
	const char *what;
	std::string text;
	std::vector<std::string> messages;
};

const std::string accepted_names =
	"\" cannot be the name of a cache; accepted: 1 to 63 printable characters without spaces, "
	"of which a * stands for any end";

std::string flags_message(const std::string &block, const std::string &name = "")
{
	return "SLAB_DEBUG: \"" + block +
	       "\" ignored; accepted are the flags F Z P U T A O and -, "
	       "in upper or lower case" +
	       (name.empty() ? "" : "; for the cache of that name: \"," + name + "\"");
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
	{"a letter that is no flag", "FxZ", {flags_message("FxZ", "FxZ")}},
	{"the name of a cache", "entry", {flags_message("entry", "entry")}},
	{"only the first bad block", "hello;world", {flags_message("hello", "hello")}},
	{"no flags before names", "1,entry", {flags_message("1")}},
	{"control characters", "F\n\x1b", {flags_message("F??")}},
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

TEST(DebugOptionsTest, EveryMistakeHasOneErrorMessage)
{
	for (const remark &r : remarks) {
		complaints.clear();
		const int count = debug_text_check(r.text.c_str(), complain);

		EXPECT_EQ(complaints, r.messages) << r.what << ": " << r.text;
		EXPECT_EQ(static_cast<std::size_t>(count), r.messages.size()) << r.what;
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
					      "entry:-0",
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
	const second_run run = run_again({"SLAB_DEBUG=FO;Z,entry;FY", "SLAB_SAMPLE=entry:50"});

	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_NE(run.output.find("libslab: " + flags_message("FY", "FY") + "\n"),
		  std::string::npos)
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

} /* namespace */
