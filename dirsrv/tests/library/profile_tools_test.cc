/* SPDX-License-Identifier: MIT */
/*
 * pblock-profile: the report and the picture of a real server's profile, the arithmetic on profiles
 * small enough to do by hand, and files that are no profiles.
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

const std::string ns_slapd = workloads("ns-slapd.json");

TEST_F(ProfileToolTest, ReportOfARealServer)
{
	const std::string text = tool_output(PBLOCK_PROFILE, {ns_slapd});

	for (const char *part : {"1015636 pblocks", "\nA: ", " SLAPI_SEARCH_FILTER ",
				 "\nBytes per pblock: flat 748.5 "})
		EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

TEST_F(ProfileToolTest, PictureOfARealServer)
{
	EXPECT_EQ(tool_output(PBLOCK_PROFILE, {"--svg=heat.svg", ns_slapd}), "");
	const std::string picture = file_text("heat.svg");

	expect_xml(picture);
	EXPECT_TRUE(contains(picture, "110 SEARCH_SCOPE"));
	EXPECT_EQ(tool_output(PBLOCK_PROFILE, {"--svg=-", ns_slapd}), picture);
}

TEST_F(ProfileToolTest, ParametersThatAreSetTogetherAreAClump)
{
	const std::string text = report({kind(10, {{60, 0, 10}, {61, 0, 10}, {62, 0, 10}}),
					 kind(90, {{114, 0, 90}, {115, 0, 90}, {116, 0, 90}})});

	EXPECT_TRUE(contains(text, "A: 3 parameters, 24 bytes, set in 90.0 % of the pblocks\n"
				   "   114 SLAPI_SEARCH_FILTER"))
		<< text;
	EXPECT_TRUE(contains(text, "B: 3 parameters, 24 bytes, set in 10.0 % of the pblocks\n"
				   "    60 SLAPI_ADD_ENTRY"))
		<< text;
	/* Two pointers, and one of the structs of 24. */
	EXPECT_TRUE(contains(text, " proposed 40.0 ")) << text;
}

TEST_F(ProfileToolTest, ParametersThatOneInThreeUsesTogetherAreNoClump)
{
	const std::string text = report(
		{kind(1, {{60, 0, 1}, {61, 0, 1}}), kind(1, {{60, 0, 1}}), kind(1, {{61, 0, 1}})});

	EXPECT_TRUE(contains(text, "\nA: 1 parameter, ")) << text;
	EXPECT_TRUE(contains(text, "\nB: 1 parameter, ")) << text;
}

TEST_F(ProfileToolTest, BytesOfALibraryPblockAreItsTopAndItsOperation)
{
	EXPECT_TRUE(contains(report({kind(1, {{110, 0, 1}, {112, 0, 1}, {9, 0, 1}})}),
			     " libslab 256.0\n"));
}

TEST_F(ProfileToolTest, WhatIsOnlyReadNeedsNoRoom)
{
	const std::string text = report({kind(5, {{3, 0, 5}, {132, 50, 0}})});

	EXPECT_TRUE(contains(text, "Bytes per pblock: flat 712.0 proposed 16.0 libslab 64.0\n"))
		<< text;
}

TEST_F(ProfileToolTest, PblocksFromBeforeCountOnlyAsAccesses)
{
	const std::string text =
		report({kind(1, {{3, 0, 1}}), kind(7, {{3, 0, 7}, {132, 7, 0}}, false)});

	EXPECT_TRUE(contains(text, "1 pblock, 7 gets, 8 sets\n")) << text;
	EXPECT_TRUE(contains(text, "           8  100.0\n")) << text;
	EXPECT_TRUE(contains(text, "           0    0.0\n")) << text;
}

TEST_F(ProfileToolTest, UnknownParametersCountWithAPointer)
{
	const std::string text = report({kind(1, {{2000, 0, 1}})});

	EXPECT_TRUE(contains(text, "  2000 unknown")) << text;
	EXPECT_TRUE(contains(text, " proposed 16.0 ")) << text;
}

TEST_F(ProfileToolTest, AProfileOfNothing)
{
	EXPECT_TRUE(contains(report({kind(3, {})}), "3 pblocks, 0 gets, 0 sets\n"
						    "No parameter was touched."));
	expect_tool_error(PBLOCK_PROFILE, {"--svg=no.svg", "profile.json"},
			  "pblock-profile: no.svg: there is nothing to draw: no parameter was "
			  "touched");
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
	const std::string no = "is no profile of pblocks: ";

	for (const std::string &text : {std::string(), std::string("[1]"), good.substr(1)})
		expect_refused(text, no + "it is no JSON object");
	expect_refused("{\"slab\": 2}", no + "it has no pblock_profile");
	expect_refused(replaced(good, "profile\": 1", "profile\": 2"),
		       "is of version 2 of the format; this program reads version 1");
	expect_refused(replaced(good, "\"kinds\"", "\"sorts\""), no + "it has no kinds");
	expect_refused(replaced(good, "\"earlier\": 0", "\"earlier\": -1"),
		       no + "earlier, dropped_pblocks and dropped_accesses are counts");
	expect_refused(replaced(good, "\"whole\"", "\"half\""),
		       no + "a kind needs pblocks, whole and parameters");
	for (const std::string &text : {replaced(good, "\"parameter\": 3", "\"parameter\": 2048"),
					profile_of({kind(1, {{3, 0, 1}, {3, 0, 1}})})})
		expect_refused(text, no + "a parameter needs a number of its own below 2048, gets "
					  "and sets");
}

TEST_F(ProfileToolTest, BadUsage)
{
	const std::string see = "; see pblock-profile --help";

	expect_tool_error(PBLOCK_PROFILE, {}, "pblock-profile: PROFILE: name one file" + see);
	expect_tool_error(PBLOCK_PROFILE, {"--colour"},
			  "pblock-profile: --colour: no such option, or it takes no value" + see);
	expect_tool_error(PBLOCK_PROFILE, {"--svg"},
			  "pblock-profile: --svg: a value is missing" + see);
	expect_tool_error(PBLOCK_PROFILE, {"no.json"},
			  "pblock-profile: no.json cannot be read: No such file or directory");
	expect_tool_error(PBLOCK_PROFILE, {"--svg=no/heat.svg", ns_slapd},
			  "pblock-profile: no/heat.svg cannot be written: No such file or "
			  "directory");
}

TEST_F(ProfileToolTest, TheManualHasItsOptions)
{
	expect_manual_of_options(PBLOCK_PROFILE, "pblock-profile.1");
}

} /* namespace */
