/* SPDX-License-Identifier: MIT */
/*
 * pblock-replay: all traces on both layouts, what is recorded of them
 * in a profile, a pblock that is broken, and traces that are.
 */
#include "profile_tools.h"

using namespace slab_test;

namespace
{

class ReplayTest : public testing::Test
{
protected:
	/* The checked round of a trace. */
	static result replay(const std::string &text, const std::string &program = PBLOCK_REPLAY)
	{
		write_file("a.trace", text);
		return run_tool(program, {"--rounds=2", "a.trace"});
	}

	static void expect_refused(const std::string &text, const std::string &message)
	{
		write_file("a.trace", text);
		expect_tool_error(PBLOCK_REPLAY, {"a.trace"}, "pblock-replay: a.trace" + message);
	}

	work_dir dir;
};

std::vector<std::string> with_traces(std::vector<std::string> words)
{
	for (const std::string &trace : all_traces())
		words.push_back(trace);
	return words;
}

TEST_F(ReplayTest, AllTracesOnBothLayouts)
{
	for (const char *program : {PBLOCK_REPLAY, PBLOCK_REPLAY_V1}) {
		const std::string table = tool_output(program, with_traces({"--rounds=3"}));

		EXPECT_EQ(lines_of(table).size(), 9U) << table;
		EXPECT_TRUE(contains(table, "\nsearch ")) << table;
		EXPECT_TRUE(contains(table, "mean by weight")) << table;
	}
}

TEST_F(ReplayTest, ProfileOfAllTraces)
{
	tool_output(PBLOCK_REPLAY, with_traces({"--rounds=1", "--profile=traces.json"}));
	const std::string profile = file_text("traces.json");

	EXPECT_TRUE(contains(profile, "pblock-replay")) << profile;
	expect_valid(profile);
	tool_output(PBLOCK_REPLAY_V1, with_traces({"--rounds=1", "--profile=flat.json"}));
	EXPECT_EQ(replaced(file_text("flat.json"), "pblock-replay-v1", "pblock-replay"), profile);
}

TEST_F(ReplayTest, JsonIsAsTheSchemaSays)
{
	const std::string document = tool_output(PBLOCK_REPLAY, with_traces({"--json"}));

	expect_valid(document + tool_output(PBLOCK_REPLAY_V1, with_traces({"--json"})));
	EXPECT_TRUE(contains(document, "\"layout\": \"split\"")) << document;
	EXPECT_FALSE(contains(document, "\"ns_per_round\": 0")) << document;
	EXPECT_TRUE(contains(tool_output(PBLOCK_REPLAY, with_traces({"--json", "--rounds=0"})),
			     "\"ns_per_round\": 0"));
}

TEST_F(ReplayTest, BytesOfTheFlatPblockAreThoseOfTheStruct)
{
	write_file("a.trace", "new a\nset a 712\ndestroy a\n");
	const std::string table = tool_output(PBLOCK_REPLAY_V1, {"a.trace"});
	const double bytes = std::stod(words_of(lines_of(table)[1])[5]);

	EXPECT_GE(bytes, 712) << table;
	EXPECT_LE(bytes, 712 + 64) << table;
}

TEST_F(ReplayTest, APblockOfASearchTakesAtMost280Bytes)
{
	const std::string table =
		tool_output(PBLOCK_REPLAY, {"--rounds=0", workloads("search.trace")});

	EXPECT_LE(std::stod(words_of(lines_of(table)[1])[6]), 280) << table;
	EXPECT_GE(std::stod(words_of(lines_of(table)[1])[6]), 64) << table;
}

TEST_F(ReplayTest, BytesInAProfileAreThoseThatPblocksTake)
{
	for (const std::string &trace : all_traces()) {
		const std::string table =
			tool_output(PBLOCK_REPLAY, {"--rounds=0", "--profile=p.json", trace});
		const std::string report = tool_output(PBLOCK_PROFILE, {"p.json"});

		EXPECT_EQ(words_of(lines_of(table)[1])[5], words_of(lines_of(report).back()).back())
			<< trace;
	}
}

TEST_F(ReplayTest, ClonesAndReusedPblocksAreChecked)
{
	const std::string trace = "new a\n"
				  "set a 110\n" /* stays in both */
				  "set a 17\n"  /* moves to the clone */
				  "set a 143\n" /* owned */
				  "set a 885\n"
				  "set a 850\n"
				  "set a 1945\n"
				  "clone a b\n"
				  "get a 110\nget a 17\nget a 143\nget a 885\nget a 850\n"
				  "get b 110\nget b 17\nget b 143\nget b 885\nget b 1945\n"
				  "init b\n"
				  "get b 110\nget b 17\nget b 143\nget b 1945\n"
				  "destroy b\ndestroy a\n";

	for (const char *program : {PBLOCK_REPLAY, PBLOCK_REPLAY_V1}) {
		const result got = replay(trace, program);

		EXPECT_EQ(got.status, 0) << got.err;
	}
}

TEST_F(ReplayTest, AGetThatGivesSomethingElseIsFound)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "the sanitizer's library wants to be loaded first";
	write_file("a.trace", "new a\nget a 110\n\nset a 110\n# now\nget a 110\ndestroy a\n");
	const result got = run_tool(
		{"/usr/bin/env", "LD_PRELOAD=" FORGETFUL_PBLOCK, PBLOCK_REPLAY, "a.trace"});

	EXPECT_EQ(got.status, 1);
	EXPECT_EQ(got.err, "pblock-replay: a.trace:6: get gives something else than what was set "
			   "last\n");
}

TEST_F(ReplayTest, CommentsBlanksAndHead)
{
	const result got = replay("# about\n\n \t\nworkload mixed # is it\nweight 12\n"
				  "  new\tp.1\r\nget p.1 3\ndestroy p.1\n");

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_TRUE(contains(got.out, "\nmixed                      12 ")) << got.out;
}

TEST_F(ReplayTest, ManyPblocksAtOnce)
{
	std::string trace;

	for (const char *verb : {"new p", "set p", "get p", "destroy p"})
		for (int i = 0; i < 3000; i++)
			trace += verb + std::to_string(i) +
				 (verb[1] == 'e' && verb[2] == 't' ? " 110\n" : "\n");
	EXPECT_EQ(replay(trace).status, 0);
}

/* --- bad input --------------------------------------------------------------------- */

TEST_F(ReplayTest, LinesThatAreNoCalls)
{
	expect_refused("new a\nfree a\n",
		       ":2: \"free\" is no call: new, init, set, get, clone, destroy, or before "
		       "these workload, weight");
	expect_refused("new a\nweight 3\n",
		       ":2: \"weight\" is no call: new, init, set, get, clone, destroy, or before "
		       "these workload, weight");
	expect_refused("new\n", ":1: \"new\" wants the name of a pblock");
	expect_refused("new a b\n", ":1: \"new\" wants the name of a pblock");
	expect_refused("new a\nset a\n", ":2: \"set\" wants the name of a pblock and the number of "
					 "a parameter");
	expect_refused("new a\nset a 3 4\n", ":2: \"set\" wants the name of a pblock and the "
					     "number of a parameter");
	expect_refused("new a\nclone a\n", ":2: \"clone\" wants two names of pblocks");
	expect_refused("weight\n", ":1: \"weight\" wants one word");
	for (const char *weight : {"0", "-1", "1x", "1000000000001"})
		expect_refused(std::string("weight ") + weight,
			       std::string(":1: \"") + weight +
				       "\" is no weight: a number from 1 to 10^12");
}

TEST_F(ReplayTest, ParametersThatDoNotExist)
{
	for (const char *number : {"SLAPI_PLUGIN", "-3", "3.0", "2048", "99999999999999999999"})
		expect_refused(std::string("new a\nget a ") + number,
			       std::string(":2: \"") + number +
				       "\" is no parameter: these are numbers below 2048");
	expect_refused("new a\nset a 2047\n",
		       ":2: \"2047\" is no parameter of <slab/dirsrv/pblock.h>");
}

TEST_F(ReplayTest, PblocksThatAreNotThere)
{
	expect_refused("new a\nset b 3\n", ":2: \"b\" is no pblock: it begins by new or clone");
	expect_refused("new a\ndestroy a\nget a 3\n",
		       ":3: \"a\" is no pblock: it begins by new or clone");
	expect_refused("new a\nnew a\n", ":2: \"a\" is there already: destroy it before");
	expect_refused("new a\nclone a a\n", ":2: \"a\" is there already: destroy it before");
	expect_refused("new a\n\nnew b\ndestroy a\n", ":3: \"b\" is never destroyed");
	expect_refused("# nothing\n", ": a trace has at least one call");
}

TEST_F(ReplayTest, NamesAreFitForATerminalAndForJson)
{
	const std::string call = "new a\ndestroy a\n", file = "b\x1b\xff.trace";

	write_file("a.trace", "workload a\x1b[31m\xff\n" + call);
	write_file(file, call);
	for (const std::vector<std::string> &words :
	     {std::vector<std::string>{"a.trace", file}, {"--json", "a.trace", file}}) {
		const std::string text = tool_output(PBLOCK_REPLAY, words);

		EXPECT_TRUE(contains(text, "a?[31m?") && contains(text, "b??")) << text;
		EXPECT_FALSE(contains(text, "\x1b") || contains(text, "\xff"));
	}
	expect_valid(tool_output(PBLOCK_REPLAY, {"--json", "a.trace", file}));
}

TEST_F(ReplayTest, MessagesAreFitForATerminal)
{
	const result got = replay("\x1b[31mred\n");

	EXPECT_EQ(got.status, 2);
	EXPECT_FALSE(contains(got.err, "\x1b")) << got.err;
}

TEST_F(ReplayTest, BadUsage)
{
	const std::string see = "; see pblock-replay --help";

	expect_tool_error(PBLOCK_REPLAY, {}, "pblock-replay: TRACE: no file is named" + see);
	for (const char *rounds : {"-1", "x", "", "1000000001", "1e3"})
		expect_tool_error(PBLOCK_REPLAY, {std::string("--rounds=") + rounds, "a.trace"},
				  std::string("pblock-replay: ") + rounds +
					  ": rounds are a number from 0 to 1000000000" + see);
	expect_tool_error(PBLOCK_REPLAY, {"--fast"},
			  "pblock-replay: --fast: no such option, or it takes no value" + see);
	expect_tool_error(PBLOCK_REPLAY, {"no.trace"},
			  "pblock-replay: no.trace cannot be read: No such file or directory");
	expect_tool_error(PBLOCK_REPLAY, {"/"}, "pblock-replay: / cannot be read: Is a directory");
	expect_tool_error(PBLOCK_REPLAY, {"--profile=no/p.json", workloads("search.trace")},
			  "pblock-replay: no/p.json cannot be written: No such file or "
			  "directory");
}

TEST_F(ReplayTest, TheManualHasItsOptions)
{
	expect_manual_of_options(PBLOCK_REPLAY, "pblock-replay.1");
}

} /* namespace */
