/* SPDX-License-Identifier: MIT */
/* slabinfo -v of core files, and of processes that are read from their memory. */
#include "core_files.h"

namespace
{

class VerifyTest : public CoreTest
{
protected:
	/* What -v says about the process and about its core file: the same, but for the line that says
	 * how long it stood still. */
	result verify(const std::string &pattern)
	{
		const std::string pid = std::to_string(process.pid());
		const result core = slabinfo({"-v", "--core", core_of(process), pattern});
		result live = slabinfo({"-v", "--memory", "-p", pid, pattern});

		EXPECT_EQ(live.out.compare(0, 8, "Process "), 0) << live.out;
		live.out.erase(0, live.out.find('\n') + 1);
		EXPECT_EQ(without_ages(live.out), without_ages(core.out));
		EXPECT_EQ(live.status, core.status);
		EXPECT_EQ(live.err, "");
		return core;
	}

	static std::string without_ages(std::string text)
	{
		for (std::size_t at; (at = text.find(" age=")) != std::string::npos;)
			text.erase(at, text.find(" ms", at) + 3 - at);
		return text;
	}

	server process{"plain", PROGRAMS "standing_server"};
};

TEST_F(VerifyTest, AHealthyProcessHasNoProblems)
{
	const result got = verify(".");

	EXPECT_EQ(got.status, 0);
	EXPECT_EQ(lines_of(got.out).size(), 5u) << got.out;
	EXPECT_TRUE(contains(got.out, "tracked               no problems found\n")) << got.out;
	EXPECT_TRUE(contains(got.out, "plain                 no problems found\n")) << got.out;
}

TEST_F(VerifyTest, ARedZoneThatWasOverwrittenIsReported)
{
	process.do_task('z');
	const result got = verify("tracked");

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(contains(got.out, "\nBUG tracked: Right Redzone overwritten\n")) << got.out;
	EXPECT_TRUE(contains(got.out, "First byte 0x78 instead of 0xcc\n")) << got.out;
	EXPECT_TRUE(contains(got.out, "\nAllocated in reach_everything+0x")) << got.out;
	EXPECT_TRUE(contains(got.out, "(standing_server)\n")) << got.out;
	EXPECT_TRUE(contains(got.out, ": 78 cc cc cc cc cc cc cc ")) << got.out;
	EXPECT_FALSE(contains(got.out, "FIX ")) << got.out;
	EXPECT_FALSE(contains(got.out, " age="))
		<< got.out; /* a core file does not say what time it was */
	EXPECT_TRUE(contains(got.out, "\ntracked                      1 problem found\n"))
		<< got.out;
}

TEST_F(VerifyTest, AWriteAfterTheFreeIsReported)
{
	process.do_task('w');
	const result got = verify("tracked");

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(contains(got.out, "\nBUG tracked: Poison overwritten\n")) << got.out;
	EXPECT_TRUE(contains(got.out, "First byte 0x79 instead of 0x6b\n")) << got.out;
	EXPECT_TRUE(contains(got.out, "\nFreed in write_after_free+0x")) << got.out;
}

TEST_F(VerifyTest, ReportsAreThoseOfTheProcessItself)
{
	process.do_task('z');
	const result got = slabinfo({"-v", "--core", core_of(process), "tracked"});

	EXPECT_EQ(slabinfo({"-v", "tracked"}).out,
		  "tracked                      1 problem found; the "
		  "process has reported it\n");
	process.wait();
	const std::string theirs = "\n" + process.errors();
	unsigned same = 0;

	for (const std::string &line : lines_of(got.out)) {
		if (!contains(line, "+0x") && !contains(line, "problem found")) {
			EXPECT_TRUE(contains(theirs, "\n" + line + "\n")) << line << theirs;
			same++;
		}
	}
	EXPECT_GT(same, 8u);
}

TEST_F(VerifyTest, ADamagedMapIsReported)
{
	process.do_task('f');
	const result got = verify("plain");

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(contains(got.out, "\nBUG plain: Map of free objects corrupt\n")) << got.out;
	EXPECT_TRUE(contains(got.out,
			     "\nThe slab is inconsistent: the number of free objects is wrong\n"))
		<< got.out;
}

TEST_F(VerifyTest, AnObjectThatACpuHoldsTwiceIsReported)
{
	process.do_task('h');
	const result got = verify("plain");

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(contains(got.out, "\nBUG plain: Object held twice\n")) << got.out;
}

TEST_F(VerifyTest, AWrongCountOfAListIsReported)
{
	process.do_task('n');
	const result got = verify("plain");

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(contains(got.out, "BUG plain: 0 partial slabs counted but counter=3\n"))
		<< got.out;
	EXPECT_TRUE(contains(got.out, "\nLists of shard 0\n")) << got.out;
	EXPECT_TRUE(contains(got.out, "\nShard 0\n")) << got.out;
}

/* The thread that holds the lock may be in the middle of a change. */
TEST_F(VerifyTest, WhatAThreadIsChangingIsLeftOut)
{
	process.do_task('z');
	process.do_task('k');
	const result got = verify("tracked");

	EXPECT_EQ(got.status, 0) << got.out;
	EXPECT_TRUE(contains(got.out, "tracked               no problems found; 1 debug slab left "
				      "out, which a thread may be changing\n"))
		<< got.out;
}

} /* namespace */
