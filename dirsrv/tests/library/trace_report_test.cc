/* SPDX-License-Identifier: MIT */
/*
 * pblock-profile: the report and the picture of a real server's traces, and the arithmetic on
 * traces small enough to do by hand.
 */
#include "trace_tools.h"

using namespace slab_test;

namespace
{

class ProfileToolTest : public testing::Test
{
protected:
	/* The report on these traces. */
	std::string report(const std::vector<std::string> &traces)
	{
		std::vector<std::string> names;

		for (const std::string &trace : traces) {
			names.push_back(std::to_string(names.size()) + ".trace");
			write_file(names.back(), trace);
		}
		return tool_output(PBLOCK_PROFILE, names);
	}

	/* A pblock in which these were set. */
	static std::string sets(const std::vector<unsigned> &numbers, unsigned weight = 1)
	{
		std::string trace = "weight " + std::to_string(weight) + "\nnew 1\n";

		for (unsigned number : numbers)
			trace += "set 1 " + std::to_string(number) + "\n";
		return trace + "destroy 1\n";
	}

	work_dir dir;
};

TEST_F(ProfileToolTest, ReportOfARealServer)
{
	const std::string text = tool_output(PBLOCK_PROFILE, all_traces());

	for (const char *part : {"1047565 pblocks", "\nA: ", " SLAPI_SEARCH_FILTER ",
				 "\nBytes per pblock: flat 747.4 "})
		EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

TEST_F(ProfileToolTest, PictureOfARealServer)
{
	std::vector<std::string> words = all_traces();

	words.insert(words.begin(), "--svg=heat.svg");
	EXPECT_EQ(tool_output(PBLOCK_PROFILE, words), "");
	const std::string picture = file_text("heat.svg");

	expect_xml(picture);
	EXPECT_TRUE(contains(picture, "110 SEARCH_SCOPE"));
	words[0] = "--svg=-";
	EXPECT_EQ(tool_output(PBLOCK_PROFILE, words), picture);
}

TEST_F(ProfileToolTest, ParametersThatAreSetTogetherAreAClump)
{
	const std::string text = report({sets({60, 61, 62}, 10), sets({114, 115, 116}, 90)});

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
	const std::string text = report({sets({60, 61}), sets({60}), sets({61})});

	EXPECT_TRUE(contains(text, "\nA: 1 parameter, ")) << text;
	EXPECT_TRUE(contains(text, "\nB: 1 parameter, ")) << text;
}

TEST_F(ProfileToolTest, BytesOfALibraryPblockAreItsTopAndItsOperation)
{
	EXPECT_TRUE(contains(report({sets({110, 112, 9})}), " libslab 256.0\n"));
}

TEST_F(ProfileToolTest, WhatIsOnlyReadNeedsNoRoom)
{
	const std::string text = report({"new 1\nset 1 3\nget 1 132\nget 1 132\ndestroy 1\n"});

	EXPECT_TRUE(contains(text, "1 pblocks, 2 gets, 1 sets\n")) << text;
	EXPECT_TRUE(contains(text, "Bytes per pblock: flat 712.0 proposed 16.0 libslab 64.0\n"))
		<< text;
}

TEST_F(ProfileToolTest, InitAndCloneBeginOtherPblocks)
{
	const std::string text = report({"new 1\nset 1 3\ninit 1\nset 1 130\nclone 1 2\n"
					 "get 2 130\ndestroy 1\ndestroy 2\n"});

	EXPECT_TRUE(contains(text, "3 pblocks, 1 gets, 2 sets\n")) << text;
	EXPECT_TRUE(contains(text, "           0            1   33.3\n")) << text;
	EXPECT_TRUE(contains(text, "           1            1   66.7\n")) << text;
}

TEST_F(ProfileToolTest, PblocksThatWereNeverTouched)
{
	EXPECT_TRUE(contains(report({sets({}, 3)}), "3 pblocks, 0 gets, 0 sets\n"
						    "No parameter was touched."));
	expect_tool_error(PBLOCK_PROFILE, {"--svg=no.svg", "0.trace"},
			  "pblock-profile: no.svg: there is nothing to draw: no parameter was "
			  "touched");
}

TEST_F(ProfileToolTest, BadUsage)
{
	const std::string see = "; see pblock-profile --help";

	expect_tool_error(PBLOCK_PROFILE, {}, "pblock-profile: TRACE: no file is named" + see);
	expect_tool_error(PBLOCK_PROFILE, {"--colour"},
			  "pblock-profile: --colour: no such option, or it takes no value" + see);
	expect_tool_error(PBLOCK_PROFILE, {"--svg"},
			  "pblock-profile: --svg: a value is missing" + see);
	expect_tool_error(PBLOCK_PROFILE, {"no.trace"},
			  "pblock-profile: no.trace cannot be read: No such file or directory");
	expect_tool_error(PBLOCK_PROFILE, {"--svg=no/heat.svg", all_traces()[0]},
			  "pblock-profile: no/heat.svg cannot be written: No such file or "
			  "directory");
}

TEST_F(ProfileToolTest, TheManualHasItsOptions)
{
	expect_manual_of_options(PBLOCK_PROFILE, "pblock-profile.1");
}

} /* namespace */
