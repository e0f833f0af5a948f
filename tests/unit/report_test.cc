/* SPDX-License-Identifier: MIT */
/*
 * Reports: their shape, where they go, that they neither mix nor overflow, and
 * what happens after one.
 */
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/process.h"
#include "../support/reports.h"

extern "C" {
#include "report.h"
}

using namespace slab_test;

namespace
{

std::string heading(const std::string &what)
{
	return std::string(77, '=') + "\nBUG " + what + "\n" + std::string(77, '-') + "\n\n";
}

void emit(const char *what)
{
	struct slab_report report;

	slab_report_begin(&report, "entry", "%s", what);
	slab_report_line(&report, "Object 0x%x @offset=%lu", 0x1230U, 48UL);
	slab_report_emit(&report);
}

/* A name for a log file of this test; the file is removed at the end. */
class log_file
{
public:
	log_file() : path_("/tmp/slab-report-test-" + std::to_string(getpid()))
	{
		std::remove(path_.c_str());
	}

	~log_file()
	{
		std::remove(path_.c_str());
	}

	std::string text() const
	{
		std::stringstream text;

		text << std::ifstream(path_).rdbuf();
		return text.str();
	}

	const std::string &path() const
	{
		return path_;
	}

private:
	std::string path_;
};

TEST(ReportTest, HasTheKernelsShape)
{
	struct slab_report report;

	slab_report_begin(&report, "entry", "%s overwritten", "Right Redzone");
	slab_report_line(&report, "Slab %p objects=%u", reinterpret_cast<void *>(0x1000), 7U);
	EXPECT_EQ(std::string(report.text),
		  heading("entry: Right Redzone overwritten") + "Slab 0x1000 objects=7\n");
	EXPECT_EQ(report.len, std::strlen(report.text));
}

TEST(ReportTest, AFullReportEndsInDots)
{
	struct slab_report report;

	slab_report_begin(&report, "entry", "full");
	for (int i = 0; i < 1000; i++)
		slab_report_line(&report, "line %d", i);
	const std::string text = report.text;

	EXPECT_LT(report.len, static_cast<std::size_t>(SLAB_REPORT_MAX));
	EXPECT_EQ(report.len, text.size());
	EXPECT_GT(text.size(), static_cast<std::size_t>(SLAB_REPORT_MAX) - 32);
	EXPECT_EQ(text.substr(text.size() - 5), "\n...\n");
}

TEST(ReportTest, ALineOfAnyLengthFitsOrNot)
{
	for (std::size_t len = 3800; len < 4200; len++) {
		const std::string line(len, 'x');
		struct slab_report report;

		slab_report_begin(&report, "entry", "long");
		slab_report_line(&report, "%s", line.c_str());
		slab_report_line(&report, "%s", line.c_str());
		ASSERT_EQ(report.len, std::strlen(report.text));
		ASSERT_LT(report.len, sizeof(report.text));
		ASSERT_EQ(std::string(report.text).substr(report.len - 4), "...\n");
	}
}

TEST(ReportTest, GoesToTheHandler)
{
	const unsigned long before = slab_report_count();
	report_capture reports;

	errno = 77;
	emit("Poison overwritten");
	EXPECT_EQ(errno, 77);
	EXPECT_EQ(reports.count(), 1U);
	EXPECT_EQ(slab_report_count(), before + 1);
	EXPECT_EQ(reports.text(),
		  heading("entry: Poison overwritten") + "Object 0x1230 @offset=48\n");
}

TEST(ReportTest, HandlersMayChangeWhileReportsAreMade)
{
	std::thread reporter([] {
		for (int i = 0; i < 2000; i++)
			emit("one of many");
	});

	/* The last handler stays until the reporter has ended: it may be inside. */
	static report_capture *captures[8];

	for (int i = 0; i < 8; i++)
		captures[i] = new report_capture;
	reporter.join();
	for (report_capture *capture : captures)
		delete capture;
}

TEST(ReportTest, GoesToStderrInOneWrite)
{
	if (running_again()) {
		std::vector<std::thread> threads;

		for (int i = 0; i < 8; i++)
			threads.emplace_back([] {
				for (int n = 0; n < 50; n++)
					emit("Poison overwritten");
			});
		for (std::thread &thread : threads)
			thread.join();
		return;
	}
	const second_run run = run_again({"SLAB_LOG="});
	const std::string whole =
		heading("entry: Poison overwritten") + "Object 0x1230 @offset=48\n";
	std::size_t at = run.output.find(whole), count = 0;

	EXPECT_EQ(run.failure, "");
	ASSERT_NE(at, std::string::npos);
	for (; run.output.compare(at, whole.size(), whole) == 0; at += whole.size())
		count++;
	EXPECT_EQ(count, 400U);
}

TEST(ReportTest, GoesToTheLog)
{
	if (running_again()) {
		emit("first");
		emit("second");
		return;
	}
	const log_file log;
	const second_run run = run_again({"SLAB_LOG=" + log.path()});
	const std::string line = "Object 0x1230 @offset=48\n";
	struct stat st = {};

	EXPECT_EQ(run.failure, "");
	EXPECT_EQ(run.output.find("BUG"), std::string::npos);
	EXPECT_EQ(log.text(), heading("entry: first") + line + heading("entry: second") + line);
	ASSERT_EQ(stat(log.path().c_str(), &st), 0);
	EXPECT_EQ(st.st_mode & 0777, 0600U);
}

TEST(ReportTest, GoesToStderrWhenTheLogCannotBeOpened)
{
	if (running_again()) {
		emit("Poison overwritten");
		return;
	}
	const second_run run = run_again({"SLAB_LOG=/nonexistent/log"});

	EXPECT_EQ(run.failure, "");
	EXPECT_NE(run.output.find("BUG entry: Poison overwritten"), std::string::npos);
}

TEST(ReportTest, AbortsWhenAskedTo)
{
	if (running_again()) {
		emit("the only one");
		emit("never made");
		return;
	}
	const second_run run = run_again({"SLAB_DEBUG_ABORT=1"});

	EXPECT_EQ(run.failure, "killed by signal " + std::to_string(SIGABRT));
	EXPECT_NE(run.output.find("BUG entry: the only one"), std::string::npos);
	EXPECT_EQ(run.output.find("never made"), std::string::npos);
}

TEST(ReportTest, NotesAreOneLine)
{
	testing::internal::CaptureStderr();
	errno = 77;
	slab_note("%s=%d", "answer", 42);
	slab_note("%s", std::string(2000, 'x').c_str());
	EXPECT_EQ(errno, 77);
	const std::string text = testing::internal::GetCapturedStderr();

	EXPECT_EQ(text.compare(0, 28, "libslab: answer=42\nlibslab: "), 0);
	EXPECT_EQ(text.find('\n', 28), text.size() - 1);
}

TEST(ReportTest, FatalIsOneLineAndAbort)
{
	use_threadsafe_death_tests();
	EXPECT_DEATH(slab_fatal("no memory for %d bytes", 48), "libslab: no memory for 48 bytes\n");
}

} /* namespace */
