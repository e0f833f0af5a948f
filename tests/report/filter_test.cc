/* SPDX-License-Identifier: MIT */
/* SLAB_SYMBOLS: reports that name functions and lines, and what the program notices of it. */
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/process.h"

extern "C" {
#include "report/report.h"
#include "report/symbol.h"
}

using namespace slab_test;

namespace
{

__attribute__((noinline)) const void *here()
{
	return __builtin_extract_return_addr(__builtin_return_address(0));
}

__attribute__((noinline)) void report_here()
{
	const void *frame = here();
	char text[1][SYMBOL_TEXT];
	struct report report;

	symbolize(1, &frame, text);
	report_begin(&report, SLAB_PROBLEM_LEAK, "entry", "test");
	report_line(&report, "Detected in %s cpu=1", text[0]);
	report_emit(&report);
}

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

/* The second run's output: all of it, for slab-symbolize has its end, too. */
std::string output_with(const std::string &setting)
{
	const second_run run = run_again({setting});

	EXPECT_EQ(run.failure, "") << run.output;
	return run.output;
}

bool names_lines(const std::string &output)
{
	return has(output, "BUG entry: test\n") && has(output, "report_here+0x") &&
	       has(output, " (filter_test.cc:") && has(output, ") cpu=1\n");
}

bool has_offsets(const std::string &output)
{
	return has(output, "BUG entry: test\n") && has(output, "filter_test+0x") &&
	       !has(output, "filter_test.cc:");
}

TEST(FilterTest, ByDefaultReportsHaveOffsets)
{
	if (running_again())
		return report_here();
	EXPECT_TRUE(has_offsets(output_with("SLAB_SYMBOLS="))) << output_with("SLAB_SYMBOLS=");
	EXPECT_TRUE(has_offsets(output_with("SLAB_SYMBOLS=off")));
}

TEST(FilterTest, SwitchedOnReportsNameFunctionsAndLines)
{
	if (running_again())
		return report_here();
	const std::string output = output_with("SLAB_SYMBOLS=on");

	EXPECT_TRUE(names_lines(output)) << output;
}

TEST(FilterTest, AReportBeforeACrashIsNamedAfterIt)
{
	if (running_again()) {
		report_here();
		_exit(0);
	}
	EXPECT_TRUE(names_lines(output_with("SLAB_SYMBOLS=on")));
}

TEST(FilterTest, TheProgramHasNoChildAndNoSignalOfIt)
{
	if (running_again()) {
		report_here();
		EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
		EXPECT_EQ(errno, ECHILD);
		sigset_t pending;
		sigpending(&pending);
		EXPECT_FALSE(sigismember(&pending, SIGCHLD));
		return;
	}
	EXPECT_TRUE(names_lines(output_with("SLAB_SYMBOLS=on")));
}

TEST(FilterTest, AForkedChildsReportsAreNamed)
{
	if (running_again()) {
		EXPECT_EQ(run_in_child([] {
				  report_here();
				  return 0;
			  }),
			  "");
		return;
	}
	EXPECT_TRUE(names_lines(output_with("SLAB_SYMBOLS=on")));
}

/* Daemons do that. */
TEST(FilterTest, WhereTheProgramClosesItsDescriptorsReportsHaveOffsets)
{
	if (running_again()) {
		for (int fd = STDERR_FILENO + 1; fd < 2048; fd++)
			close(fd);
		return report_here();
	}
	const std::string output = output_with("SLAB_SYMBOLS=on");

	EXPECT_TRUE(has_offsets(output)) << output;
}

TEST(FilterTest, TheFileOfSlabLogHasThem)
{
	char path[] = "/tmp/slab-filter-test-XXXXXX";
	std::ostringstream text;

	if (running_again())
		return report_here();
	const int fd = mkstemp(path);

	ASSERT_GE(fd, 0);
	const second_run run = run_again({"SLAB_SYMBOLS=on", std::string("SLAB_LOG=") + path});

	EXPECT_EQ(run.failure, "") << run.output;
	/* slab-symbolize's stderr is the run's: it has ended. */
	text << std::ifstream(path).rdbuf();
	EXPECT_TRUE(names_lines(text.str())) << text.str();
	EXPECT_FALSE(has(run.output, "BUG entry"));
	close(fd);
	unlink(path);
}

} /* namespace */
