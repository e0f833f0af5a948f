/* SPDX-License-Identifier: MIT */
/*
 * pblock-profile: the report and the picture of a real server's traces, and the arithmetic on
 * traces small enough to do by hand. pblock-replay: all traces on both layouts, a pblock that is
 * broken, and traces that are.
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

	for (const char *part : {"1047565 pblocks", "\nA: ", " SLAPI_SEARCH_FILTER "})
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
}

TEST_F(ProfileToolTest, ParametersThatOneInThreeUsesTogetherAreNoClump)
{
	const std::string text = report({sets({60, 61}), sets({60}), sets({61})});

	EXPECT_TRUE(contains(text, "\nA: 1 parameter, ")) << text;
	EXPECT_TRUE(contains(text, "\nB: 1 parameter, ")) << text;
}

TEST_F(ProfileToolTest, WhatIsOnlyReadNeedsNoRoom)
{
	const std::string text = report({"new 1\nset 1 3\nget 1 132\nget 1 132\ndestroy 1\n"});

	EXPECT_TRUE(contains(text, "1 pblocks, 2 gets, 1 sets\n")) << text;
	EXPECT_TRUE(contains(text, "2 parameters, 8 bytes, set in 100.0 % of the pblocks\n"))
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

/* --- replay --- */

class ReplayTest : public testing::TestWithParam<const char *>
{
protected:
	static result replay(const std::string &text)
	{
		write_file("a.trace", text);
		return run_tool(GetParam(), {"--rounds=2", "a.trace"});
	}

	work_dir dir;
};

INSTANTIATE_TEST_SUITE_P(Layouts, ReplayTest, testing::Values(PBLOCK_REPLAY, PBLOCK_REPLAY_V1));

TEST_P(ReplayTest, AllTraces)
{
	std::vector<std::string> words = all_traces();

	words.insert(words.begin(), "--rounds=3");
	const std::string table = tool_output(GetParam(), words);

	EXPECT_EQ(lines_of(table).size(), words.size()) << table;
	EXPECT_TRUE(contains(table, "  search.trace\n")) << table;
}

TEST_P(ReplayTest, ClonesAndReusedPblocksAreChecked)
{
	const result got = replay("new 1\n"
				  "set 1 110\n" /* stays in both */
				  "set 1 17\n"  /* moves to the clone */
				  "set 1 143\n" /* owned */
				  "set 1 885\n"
				  "set 1 850\n"
				  "set 1 1945\n"
				  "clone 1 2\n"
				  "get 1 110\nget 1 17\nget 1 143\nget 1 885\nget 1 850\n"
				  "get 2 110\nget 2 17\nget 2 143\nget 2 885\nget 2 1945\n"
				  "init 2\n"
				  "get 2 110\nget 2 17\nget 2 143\nget 2 1945\n"
				  "destroy 2\ndestroy 1\n");

	EXPECT_EQ(got.status, 0) << got.err;
}

class TraceReaderTest : public testing::Test
{
protected:
	static void expect_refused(const std::string &text, const std::string &message)
	{
		write_file("a.trace", text);
		expect_tool_error(PBLOCK_REPLAY, {"a.trace"}, "pblock-replay: a.trace" + message);
	}

	work_dir dir;
};

TEST_F(TraceReaderTest, AGetThatGivesSomethingElseIsFound)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "the sanitizer's library wants to be loaded first";
	write_file("a.trace", "new 1\nget 1 110\n\nset 1 110\n# now\nget 1 110\ndestroy 1\n");
	const result got = run_tool(
		{"/usr/bin/env", "LD_PRELOAD=" FORGETFUL_PBLOCK, PBLOCK_REPLAY, "a.trace"});

	EXPECT_EQ(got.status, 1);
	EXPECT_EQ(got.err, "pblock-replay: a.trace:6: get gives something else than what was set "
			   "last\n");
}

TEST_F(TraceReaderTest, CommentsAndBlanks)
{
	write_file("a.trace", "# about\n\n \t\n  new\t1\r\nget 1 3 # it\ndestroy 1\n");
	tool_output(PBLOCK_REPLAY, {"a.trace"});
}

TEST_F(TraceReaderTest, LinesThatAreNoCalls)
{
	expect_refused("new 1\nfree 1\n",
		       ":2: \"free\" is no call: new, init, set, get, clone or destroy");
	expect_refused("new\n", ":1: \"new\" wants one number");
	for (const char *weight : {"weight\n", "weight x\n", "new 1\nweight 2\n"})
		expect_refused(weight, std::string(weight[0] == 'n' ? ":2" : ":1") +
					       ": \"weight\" is a number up to 10^9, before the "
					       "first call");
	expect_refused("new 1 2\n", ":1: \"new\" wants one number");
	expect_refused("new 1\nset 1\n", ":2: \"set\" wants two numbers");
	expect_refused("new 1\nset 1 3 4\n", ":2: \"set\" wants two numbers");
	expect_refused("\x1b[31mred\n", ":1: \"?[31mred\" is no call: new, init, set, get, clone "
					"or destroy");
}

TEST_F(TraceReaderTest, ParametersThatDoNotExist)
{
	for (const char *number :
	     {"SLAPI_PLUGIN", "-3", "3.0", "2047", "2048", "99999999999999999999"})
		expect_refused(std::string("new 1\nget 1 ") + number,
			       std::string(":2: \"") + number +
				       "\" is no parameter of <slab/dirsrv/pblock.h>");
}

TEST_F(TraceReaderTest, PblocksThatAreNotThere)
{
	for (const char *name : {"p", "-1", "1000001"})
		expect_refused(std::string("new ") + name,
			       std::string(":1: \"") + name +
				       "\" is no pblock: these are numbers up to 1000000");
	expect_refused("new 1\nset 2 3\n", ":2: \"2\" is no pblock: it begins by new or clone");
	expect_refused("new 1\ndestroy 1\nget 1 3\n",
		       ":3: \"1\" is no pblock: it begins by new or clone");
	expect_refused("new 1\nnew 1\n", ":2: \"1\" is there already: destroy it before");
	expect_refused("new 1\nclone 1 1\n", ":2: \"1\" is there already: destroy it before");
	expect_refused("new 1\n\nnew 2\ndestroy 1\n", ":3: 2 is never destroyed");
	expect_refused("# nothing\n", ": a trace has at least one call");
}

TEST_F(TraceReaderTest, BadUsage)
{
	const std::string see = "; see pblock-replay --help";

	expect_tool_error(PBLOCK_REPLAY, {}, "pblock-replay: TRACE: no file is named" + see);
	for (const char *rounds : {"-1", "x", "", "0", "1000000001", "1e3"})
		expect_tool_error(PBLOCK_REPLAY, {std::string("--rounds=") + rounds, "a.trace"},
				  std::string("pblock-replay: ") + rounds +
					  ": rounds are a number from 1 to 1000000000" + see);
	expect_tool_error(PBLOCK_REPLAY, {"--fast"},
			  "pblock-replay: --fast: no such option, or it takes no value" + see);
	expect_tool_error(PBLOCK_REPLAY, {"no.trace"},
			  "pblock-replay: no.trace cannot be read: No such file or directory");
	expect_tool_error(PBLOCK_REPLAY, {"/"}, "pblock-replay: / cannot be read: Is a directory");
}

TEST_F(TraceReaderTest, TheManualHasItsOptions)
{
	expect_manual_of_options(PBLOCK_REPLAY, "pblock-replay.1");
}

} /* namespace */
