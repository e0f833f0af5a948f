/* SPDX-License-Identifier: MIT */
/*
 * pblock-profile: the report and the picture of a real server's profile byte by byte
 * (golden/ns-slapd.*), the arithmetic on profiles small enough to do by hand, and files
 * that are no profiles.
 */
#include "profile_tools.h"

using namespace slab_test;

namespace
{

/* A kind as profiles have it: uses are {number, gets, sets}. */
std::string kind(unsigned pblocks, const std::vector<std::vector<unsigned>> &uses,
		 bool whole = true)
{
	std::string text = "{\"pblocks\": " + std::to_string(pblocks) +
			   ", \"whole\": " + (whole ? "true" : "false") + ", \"parameters\": [";
	const char *comma = "";

	for (const auto &use : uses) {
		text += std::string(comma) + "{\"parameter\": " + std::to_string(use[0]) +
			", \"gets\": " + std::to_string(use[1]) +
			", \"sets\": " + std::to_string(use[2]) + "}";
		comma = ", ";
	}
	return text + "]}";
}

std::string profile_of(const std::vector<std::string> &kinds)
{
	std::string text = "{\"pblock_profile\": 1, \"command\": \"test\", \"pblocks\": 0, "
			   "\"earlier\": 0, \"alive\": 0, \"dropped_pblocks\": 0, "
			   "\"dropped_accesses\": 0, \"parameters\": [], \"kinds\": [";
	const char *comma = "";

	for (const std::string &one : kinds) {
		text += comma + one;
		comma = ", ";
	}
	return text + "]}";
}

class ProfileToolTest : public testing::Test
{
protected:
	/* The report on a profile of these kinds. */
	std::string report(const std::vector<std::string> &kinds)
	{
		write_file("profile.json", profile_of(kinds));
		return tool_output(PBLOCK_PROFILE, {"profile.json"});
	}

	void expect_refused(const std::string &text, const std::string &message)
	{
		write_file("bad.json", text);
		expect_tool_error(PBLOCK_PROFILE, {"bad.json"},
				  "pblock-profile: bad.json " + message);
	}

	work_dir dir;
};

/* The last line: bytes per pblock of the last workload, by layout. */
std::vector<double> bytes(const std::string &report)
{
	const std::vector<std::string> words = words_of(lines_of(report).back());
	std::vector<double> all;

	for (std::size_t i = 2; i < words.size(); i++)
		all.push_back(std::stod(words[i]));
	return all;
}

const std::string ns_slapd = workloads("ns-slapd.json");

TEST_F(ProfileToolTest, ReportOfARealServer)
{
	const std::string text = tool_output(PBLOCK_PROFILE, {ns_slapd});

	for (const char *part : {"A: ", "SLAPI_SEARCH_FILTER", "bytes in the top"})
		EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

TEST_F(ProfileToolTest, PictureOfARealServer)
{
	EXPECT_EQ(tool_output(PBLOCK_PROFILE, {"--svg=heat.svg", ns_slapd}), "");
	const std::string picture = file_text("heat.svg");

	expect_xml(picture);
	EXPECT_TRUE(contains(picture, "prefers-color-scheme:dark"));
	EXPECT_EQ(tool_output(PBLOCK_PROFILE, {"--svg=-", ns_slapd}), picture);
}

TEST_F(ProfileToolTest, JsonIsAsTheSchemaSays)
{
	const std::string document = tool_output(PBLOCK_PROFILE, {"--json", ns_slapd, ns_slapd});

	expect_valid(document + file_text(ns_slapd));
	expect_not_valid(replaced(document, "\"top_size\"", "\"size\""));
	expect_not_valid(replaced(file_text(ns_slapd), "\"whole\": true", "\"whole\": 1"));
}

/* --- clumps ------------------------------------------------------------------------ */

TEST_F(ProfileToolTest, ParametersThatAreSetTogetherAreAClump)
{
	const std::string text = report({kind(10, {{60, 0, 10}, {61, 0, 10}, {62, 0, 10}}),
					 kind(90, {{114, 0, 90}, {115, 0, 90}, {116, 0, 90}})});

	EXPECT_TRUE(contains(text, "A: 3 parameters within 0.000, 24 bytes in the top, "
				   "set in 90.0 % of the pblocks\n"
				   "  SLAPI_SEARCH_FILTER"))
		<< text;
	EXPECT_TRUE(contains(text, "B: 3 parameters within 0.000, 24 bytes, "
				   "set in 10.0 % of the pblocks\n"
				   "  SLAPI_ADD_ENTRY"))
		<< text;
	/* 24 in the top, two pointers, and of one in ten 24 more. */
	EXPECT_EQ(bytes(text)[2], 24 + 2 * 8 + 2.4);
}

TEST_F(ProfileToolTest, BytesOfEachLayout)
{
	const std::vector<double> got =
		bytes(report({kind(1, {{110, 0, 1}, {112, 0, 1}, {9, 0, 1}})}));

	/* 712 or 88 and 200, with the parameters of an operation beside. */
	ASSERT_EQ(got.size(), 5U);
	EXPECT_EQ(got[0] - got[1], 712 - 88 - 200);
	EXPECT_GT(got[0], 712 + 300);
	/* Three ints and a pointer to what was never set; three ints and a pointer. */
	EXPECT_EQ(got[2], 16 + 8);
	EXPECT_EQ(got[3], 3 * 4 + 8);
	/* The top and the part of operations. */
	EXPECT_EQ(got[4], 64 + 192);
}

TEST_F(ProfileToolTest, OneStructIsNotSeveral)
{
	EXPECT_TRUE(contains(report({kind(10, {{60, 0, 10}, {61, 0, 10}, {62, 0, 10}}),
				     kind(90, {{114, 0, 90}, {115, 0, 90}, {116, 0, 90}})}),
			     " bytes with a pointer to 1 struct that is allocated when\nit is set "
			     "first, and"));
}

TEST_F(ProfileToolTest, WhatIsOnlyReadNeedsNoRoom)
{
	const std::string text = report({kind(5, {{3, 0, 5}, {132, 50, 0}})});

	EXPECT_TRUE(contains(text, "  SLAPI_OPERATION                        only read\n")) << text;
	EXPECT_EQ(bytes(text), (std::vector<double>{712, 88, 16, 16, 64}));
}

TEST_F(ProfileToolTest, PblocksFromBeforeCountOnlyAsAccesses)
{
	const std::string text =
		report({kind(1, {{3, 0, 1}}), kind(7, {{3, 0, 7}, {132, 7, 0}}, false)});

	EXPECT_TRUE(contains(text, "profile: 1 pblock, 7 gets, 8 sets")) << text;
	EXPECT_TRUE(contains(text, "           8  100.0\n")) << text;
	EXPECT_TRUE(contains(text, "           0    0.0\n")) << text;
	EXPECT_EQ(bytes(text)[3], 16);
}

TEST_F(ProfileToolTest, TheTopHasAtMostEightyBytes)
{
	std::vector<std::string> kinds;

	/* A dozen clumps of 40 bytes that never meet. */
	for (unsigned clump = 0; clump < 12; clump++) {
		std::vector<std::vector<unsigned>> uses;

		for (unsigned i = 0; i < 5; i++)
			uses.push_back({1200 + clump * 10 + i, 0, 1});
		kinds.push_back(kind(1, uses));
	}
	const std::string text = report(kinds);

	EXPECT_TRUE(contains(text, "Proposed: a top of 80 bytes")) << text;
}

TEST_F(ProfileToolTest, UnknownParametersCountWithAPointer)
{
	const std::string text = report({kind(1, {{2000, 0, 1}})});

	EXPECT_TRUE(contains(text, "  2000 unknown")) << text;
	EXPECT_EQ(bytes(text)[3], 16);
}

TEST_F(ProfileToolTest, AProfileOfNothing)
{
	EXPECT_TRUE(contains(report({}), "No parameter was touched."));
	EXPECT_TRUE(contains(report({kind(3, {})}), "profile: 3 pblocks, 0 gets, 0 sets"));
	expect_tool_error(PBLOCK_PROFILE, {"--svg=no.svg", "profile.json"},
			  "pblock-profile: no.svg: there is nothing to draw: no parameter was "
			  "touched");
	expect_valid(tool_output(PBLOCK_PROFILE, {"--json", "profile.json"}));
}

TEST_F(ProfileToolTest, EveryParameterAtOnce)
{
	std::vector<std::vector<unsigned>> uses;

	for (unsigned number = 0; number < 2048; number += 4)
		uses.push_back({number, 1, 1});
	EXPECT_TRUE(contains(report({kind(1, uses)}), "512 parameters"));
	EXPECT_EQ(run_tool(PBLOCK_PROFILE, {"--svg=heat.svg", "profile.json"}).status, 0);
}

/* --- bad input --------------------------------------------------------------------- */

TEST_F(ProfileToolTest, FilesThatAreNoProfiles)
{
	const std::string good = profile_of({kind(1, {{3, 0, 1}})});

	expect_refused("", "is no profile of pblocks: it is no JSON object");
	expect_refused("[1]", "is no profile of pblocks: it is no JSON object");
	expect_refused("{\"slab\": 2}", "is no profile of pblocks: it has no pblock_profile");
	expect_refused(replaced(good, "profile\": 1", "profile\": 2"),
		       "is of version 2 of the format; this program reads version 1");
	expect_refused(replaced(good, "\"kinds\"", "\"sorts\""),
		       "is no profile of pblocks: it has no kinds");
	expect_refused(replaced(good, "\"earlier\": 0", "\"earlier\": -1"),
		       "is no profile of pblocks: earlier, dropped_pblocks and dropped_accesses "
		       "are counts");
	expect_refused(replaced(good, "\"whole\"", "\"half\""),
		       "is no profile of pblocks: a kind needs pblocks, whole and parameters");
	expect_refused(replaced(good, "\"parameter\": 3", "\"parameter\": 2048"),
		       "is no profile of pblocks: a parameter needs a number of its own below "
		       "2048, gets and sets");
	expect_refused(profile_of({kind(1, {{3, 0, 1}, {3, 0, 1}})}),
		       "is no profile of pblocks: a parameter needs a number of its own below "
		       "2048, gets and sets");
	expect_refused(good.substr(0, good.size() - 2),
		       "is no profile of pblocks: it is no JSON object");
}

TEST_F(ProfileToolTest, SomethingBehindTheProfile)
{
	const std::string good = profile_of({kind(1, {{3, 0, 1}})});
	const std::string message = "is no profile of pblocks: something is behind the JSON object";

	expect_refused(good + "x", message);
	expect_refused(good + "\n" + good, message);
	expect_refused(good + std::string(1, '\0') + good, message);
	write_file("blanks.json", good + " \r\n\t\n");
	EXPECT_EQ(run_tool(PBLOCK_PROFILE, {"blanks.json"}).status, 0);
}

TEST_F(ProfileToolTest, AProfileThatIsTooLarge)
{
	write_file("large.json", "{");
	ASSERT_EQ(truncate("large.json", static_cast<off_t>(3) << 30), 0);
	expect_tool_error(PBLOCK_PROFILE, {"large.json"},
			  "pblock-profile: large.json is no profile of pblocks: it has more "
			  "than 1 GiB");
}

TEST_F(ProfileToolTest, SumsOfMoreThan2To53)
{
	const std::string half = "\"gets\": 9007199254740992",
			  sum = "is no profile of pblocks: its counts have a sum of more than 2^53";

	expect_refused(replaced(profile_of({kind(1, {{3, 7, 1}}), kind(1, {{4, 7, 1}})}),
				"\"gets\": 7", half),
		       sum);
	expect_refused(replaced(profile_of({kind(7, {}), kind(7, {})}), "\"pblocks\": 7",
				"\"pblocks\": 9007199254740992"),
		       sum);
	write_file("half.json", replaced(profile_of({kind(1, {{3, 7, 1}})}), "\"gets\": 7", half));
	EXPECT_EQ(run_tool(PBLOCK_PROFILE, {"half.json"}).status, 0);
	expect_tool_error(PBLOCK_PROFILE, {"half.json", "half.json"},
			  "pblock-profile: the counts of all profiles have a sum of more than "
			  "2^53");
}

TEST_F(ProfileToolTest, NamesOfFilesAreFitForATerminalAndForJson)
{
	const std::string name = "a\x1b[31m\xff.json";

	write_file(name, profile_of({kind(1, {{3, 0, 1}})}));
	for (const char *option : {"--json", "--svg=-", "--"}) {
		const std::string text = tool_output(PBLOCK_PROFILE, {option, name});

		EXPECT_TRUE(contains(text, "a?[31m?")) << text;
		EXPECT_FALSE(contains(text, "\x1b") || contains(text, "\xff")) << option;
	}
	expect_valid(tool_output(PBLOCK_PROFILE, {"--json", name}));
}

TEST_F(ProfileToolTest, BadUsage)
{
	const std::string see = "; see pblock-profile --help";

	expect_tool_error(PBLOCK_PROFILE, {}, "pblock-profile: PROFILE: no file is named" + see);
	expect_tool_error(PBLOCK_PROFILE, {"--colour"},
			  "pblock-profile: --colour: no such option, or it takes no value" + see);
	expect_tool_error(PBLOCK_PROFILE, {"--json=x", ns_slapd},
			  "pblock-profile: --json=x: no such option, or it takes no value" + see);
	expect_tool_error(PBLOCK_PROFILE, {"--svg"},
			  "pblock-profile: --svg: a value is missing" + see);
	expect_tool_error(PBLOCK_PROFILE, {"--json", "--svg=x", ns_slapd},
			  "pblock-profile: --json: does not go with --svg" + see);
	expect_tool_error(PBLOCK_PROFILE, {"no.json"},
			  "pblock-profile: no.json cannot be read: No such file or directory");
	expect_tool_error(PBLOCK_PROFILE, {"/"},
			  "pblock-profile: / cannot be read: Is a directory");
	expect_tool_error(PBLOCK_PROFILE, {"--svg=no/heat.svg", ns_slapd},
			  "pblock-profile: no/heat.svg cannot be written: No such file or "
			  "directory");
}

TEST_F(ProfileToolTest, TheManualHasItsOptions)
{
	expect_manual_of_options(PBLOCK_PROFILE, "pblock-profile.1");
}

} /* namespace */
