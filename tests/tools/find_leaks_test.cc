/* SPDX-License-Identifier: MIT */
/* slabinfo --find-leaks: of processes and core files, with objects that are reachable in every way. */
#include "core_files.h"

#include <regex>

namespace
{

class FindLeaksTest : public CoreTest
{
protected:
	static std::string pid_of(const child_process &process)
	{
		return std::to_string(process.pid());
	}

	server process{"plain", PROGRAMS "standing_server"};
};

/* A line of the table: objects, held objects, cache. */
::testing::AssertionResult has_leak(const std::string &text, const std::string &objects,
				    const std::string &held, const std::string &cache)
{
	const std::regex line("(^|\n) +" + objects + " +[0-9.]+(KiB)? +" + held +
			      " +[0-9.]+(KiB)?  " + cache + "  0x");

	return std::regex_search(text, line) ? ::testing::AssertionSuccess()
					     : ::testing::AssertionFailure() << text;
}

/* Globals, thread-local storage, the stack of a thread, malloc(), a large allocation, other objects,
 * a pointer into the middle, and constructed objects that are free. */
TEST_F(FindLeaksTest, EverythingReachableIsNoLeak)
{
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_EQ(got.status, 0) << got.out;
	EXPECT_TRUE(contains(got.out, "\nNo leaks found.\n")) << got.out;
	EXPECT_EQ(got.err, "");
}

TEST_F(FindLeaksTest, TheSameOfACoreFile)
{
	const std::string core = core_of(process);
	const result got = slabinfo({"--find-leaks", core});

	EXPECT_EQ(got.status, 0) << got.out;
	EXPECT_TRUE(contains(got.out, "\nNo leaks found.\n")) << got.out;
	EXPECT_FALSE(contains(got.out, "stood still")) << got.out;
}

/* Connections of an epoll server, values of signals that wait and of timers. */
TEST_F(FindLeaksTest, WhatOnlyTheKernelHasIsNoLeak)
{
	for (const char *task : {"e", "q", "T"}) {
		process.do_task(*task);
		const result got = slabinfo({"--find-leaks", pid_of(process)});

		EXPECT_EQ(got.status, 0) << got.out;
		EXPECT_TRUE(contains(got.out, "\nNo leaks found.\n")) << task << got.out;
	}
}

TEST_F(FindLeaksTest, ACoreFileLacksWhatOnlyTheKernelHas)
{
	process.do_task('e');
	const result got = slabinfo({"--find-leaks", core_of(process)});

	EXPECT_TRUE(has_leak(got.out, "100", "0", "node"));
	EXPECT_TRUE(contains(got.out, "\nOnly the kernel knows the pointers in epoll, io_uring, "
				      "signals, timers: objects that have no others are listed, "
				      "too.\n"))
		<< got.out;
}

TEST_F(FindLeaksTest, PointersThatTheKernelHidesAreMentioned)
{
	if (!process.do_task('u').empty())
		GTEST_SKIP() << "no io_uring here";
	process.do_task('c');
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_TRUE(contains(got.out, "\nOnly the kernel knows the pointers in io_uring: "))
		<< got.out;
	EXPECT_TRUE(contains(slabinfo({"--find-leaks", "--json", pid_of(process)}).out,
			     "\"hidden\": [\n    \"io_uring\"\n  ]"));
}

TEST_F(FindLeaksTest, AChainIsOneLeakThatHoldsTheRest)
{
	process.do_task('c');
	const result got = slabinfo({"--find-leaks", "-p", pid_of(process)});

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(contains(got.out, "\n1 object of 64 cannot be reached, and 2 of 128 only from "
				      "there.\n"))
		<< got.out;
	EXPECT_TRUE(has_leak(got.out, "1", "2", "node"));
}

TEST_F(FindLeaksTest, ACircleIsALeak)
{
	process.do_task('o');
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(has_leak(got.out, "1", "1", "node"));
}

TEST_F(FindLeaksTest, ALargeAllocationIsFound)
{
	process.do_task('L');
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(has_leak(got.out, "1", "0", "size-large"));
	process.do_task('M');
	const std::string both = slabinfo({"--find-leaks", pid_of(process)}).out;

	EXPECT_TRUE(contains(both, "\n      2   19.3MiB         0         0  size-large  0x"))
		<< both;
}

TEST_F(FindLeaksTest, CallSitesAreNamed)
{
	process.do_task('t');
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(has_leak(got.out, "5", "0", "tracked"));
	EXPECT_TRUE(contains(got.out, "\n        lose_tracked+0x")) << got.out;
	EXPECT_FALSE(contains(got.out, "no call site")) << got.out;
}

TEST_F(FindLeaksTest, CallSitesAreNamedInACoreFile)
{
	process.do_task('t');
	const result got = slabinfo({"--find-leaks", "--core", core_of(process)});

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(has_leak(got.out, "5", "0", "tracked"));
	EXPECT_TRUE(contains(got.out, "\n        lose_tracked+0x")) << got.out;
}

TEST_F(FindLeaksTest, ARegularExpressionSelectsCaches)
{
	process.do_task('c');
	process.do_task('t');
	const result nodes = slabinfo({"--find-leaks", pid_of(process), "^node$"});
	const result others = slabinfo({"--find-leaks", pid_of(process), "^buffer$"});

	EXPECT_EQ(nodes.status, 1);
	EXPECT_FALSE(contains(nodes.out, "tracked")) << nodes.out;
	EXPECT_EQ(others.status, 0);
	EXPECT_TRUE(contains(others.out, "No leaks found.")) << others.out;
}

TEST_F(FindLeaksTest, TheProcessGoesOn)
{
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_TRUE(std::regex_search(got.out, std::regex(" stood still for [0-9.]+ ms while "
							  "[0-9.]+[KM]iB were copied\\.\n")))
		<< got.out;
	process.do_task('t');
	EXPECT_EQ(status_line("/proc/" + pid_of(process), "TracerPid"), "0");
}

TEST_F(FindLeaksTest, AStoppedProcessStaysStopped)
{
	process.do_task('t');
	kill(process.pid(), SIGSTOP);
	while (status_line("/proc/" + pid_of(process), "State").compare(0, 1, "T") != 0)
		usleep(1000);
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_TRUE(has_leak(got.out, "5", "0", "tracked"));
	EXPECT_EQ(status_line("/proc/" + pid_of(process), "State").substr(0, 1), "T");
	kill(process.pid(), SIGCONT);
	process.do_task('t');
}

TEST_F(FindLeaksTest, AProcessThatSleepsInTheKernelIsNotStopped)
{
	const std::string folder = "/proc/" + pid_of(process);
	pid_t child = 0;

	process.write_line("d");
	while (status_line(folder, "State").compare(0, 1, "D") != 0)
		usleep(1000);
	EXPECT_EQ(slabinfo({"-p", pid_of(process)}).err, "");
	EXPECT_EQ(slabinfo({"--find-leaks", pid_of(process), "--stop-limit=0.1"}).err,
		  "slabinfo: process " + pid_of(process) +
			  " (standing_server) cannot be stopped: its thread " + pid_of(process) +
			  " sleeps in the kernel, and no signal wakes it (state D)\n");
	std::ifstream(folder + "/task/" + pid_of(process) + "/children") >> child;
	kill(child, SIGKILL);
	EXPECT_EQ(process.line(), "done");
}

TEST_F(FindLeaksTest, JsonHasAddressesAndStacks)
{
	process.do_task('t');
	const result got = slabinfo({"--find-leaks", "--json", "-p", pid_of(process)});

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(contains(got.out, "\"cache\": \"tracked\"")) << got.out;
	EXPECT_TRUE(contains(got.out, "\"objects\": 5")) << got.out;
	EXPECT_TRUE(contains(got.out, "\"symbol\": \"lose_tracked+0x")) << got.out;
}

TEST_F(FindLeaksTest, AtTheTimeLimitTheProcessGoesOn)
{
	process.do_task('b');
	const result got = slabinfo({"--find-leaks", pid_of(process), "--stop-limit=0.01"});

	EXPECT_EQ(got.status, 2);
	EXPECT_EQ(got.out, "");
	EXPECT_TRUE(contains(got.err, "slabinfo: process " + pid_of(process) +
					      " (standing_server) went on after 0."))
		<< got.err;
	process.do_task('t');
	EXPECT_EQ(status_line("/proc/" + pid_of(process), "TracerPid"), "0");
}

TEST_F(FindLeaksTest, HundredsOfThousandsOfObjectsAreSearched)
{
	process.do_task('b');
	process.do_task('c');
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_EQ(got.status, 1);
	EXPECT_TRUE(has_leak(got.out, "1", "2", "node"));
}

TEST_F(FindLeaksTest, BadTimeLimitsAreRefused)
{
	expect_error({"--find-leaks", pid_of(process), "--stop-limit", "0.0"},
		     "\"0.0\" is no time for --stop-limit; accepted are 0.01 to "
		     "86400 seconds");
	EXPECT_EQ(slabinfo({"-T", "--stop-limit", "1"}).err,
		  "slabinfo: --stop-limit is how long a process may stand still; it goes with "
		  "--find-leaks and -v\n");
}

TEST_F(FindLeaksTest, AProcessUnderADebuggerIsRefused)
{
	child_process gdb({"/usr/bin/gdb", "-q", "-nx", "-p", pid_of(process)});

	while (status_line("/proc/" + pid_of(process), "TracerPid") == "0")
		usleep(1000);
	const result got = slabinfo({"--find-leaks", pid_of(process)});

	EXPECT_EQ(got.status, 2);
	EXPECT_TRUE(contains(got.err, "cannot be stopped: process " + pid_of(gdb) + " traces it"))
		<< got.err;
	gdb.write_line("kill");
	gdb.write_line("y");
	gdb.write_line("quit");
}

} /* namespace */
