/* SPDX-License-Identifier: MIT */
/*
 * Reports: their shape, where they go, that they neither mix nor overflow, and
 * what happens after one.
 */
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/rooms.h"

namespace
{

std::string heading(const std::string &what)
{
	return std::string(77, '=') + "\nBUG " + what + "\n" + std::string(77, '-') + "\n\n";
}

void emit(const char *what)
{
	struct report report;

	report_begin(&report, SLAB_PROBLEM_POISON, "entry", "%s", what);
	report_line(&report, "Object 0x%x @offset=%lu", 0x1230U, 48UL);
	report_emit(&report);
}

/* A name for a log file of this test; the file is removed at the end. */
class log_file
{
public:
	log_file() : path_("/tmp/slab-report-test-" + std::to_string(getpid()))
	{
		std::remove(path_.c_str());
	}

	~log_file() { std::remove(path_.c_str()); }

	std::string text() const
	{
		std::stringstream text;

		text << std::ifstream(path_).rdbuf();
		return text.str();
	}

	const std::string &path() const { return path_; }

private:
	std::string path_;
};

TEST(ReportTest, HasTheKernelsShape)
{
	struct report report;

	report_begin(&report, SLAB_PROBLEM_POISON, "entry", "%s overwritten", "Right Redzone");
	report_line(&report, "Slab %p objects=%u", reinterpret_cast<void *>(0x1000), 7U);
	EXPECT_EQ(std::string(report.text),
		  heading("entry: Right Redzone overwritten") + "Slab 0x1000 objects=7\n");
	EXPECT_EQ(report.len, std::strlen(report.text));
}

TEST(ReportTest, AFullReportEndsInDots)
{
	struct report report;

	report_begin(&report, SLAB_PROBLEM_POISON, "entry", "full");
	for (int i = 0; i < 1000; i++)
		report_line(&report, "line %d", i);
	const std::string text = report.text;

	EXPECT_LT(report.len, static_cast<std::size_t>(REPORT_MAX));
	EXPECT_EQ(report.len, text.size());
	EXPECT_GT(text.size(), static_cast<std::size_t>(REPORT_MAX) - 32);
	EXPECT_EQ(text.substr(text.size() - 5), "\n...\n");
}

TEST(ReportTest, ALineOfAnyLengthFitsOrNot)
{
	for (std::size_t len = 3800; len < 4200; len++) {
		const std::string line(len, 'x');
		struct report report;

		report_begin(&report, SLAB_PROBLEM_POISON, "entry", "long");
		report_line(&report, "%s", line.c_str());
		report_line(&report, "%s", line.c_str());
		ASSERT_EQ(report.len, std::strlen(report.text));
		ASSERT_LT(report.len, sizeof(report.text));
		ASSERT_EQ(std::string(report.text).substr(report.len - 4), "...\n");
	}
}

TEST(ReportTest, RewindingForgetsLinesAndFixes)
{
	struct report report;

	report_begin(&report, SLAB_PROBLEM_POISON, "entry", "again");
	const std::size_t head = report.len;

	report_fix(&report, "nothing");
	while (!report.full)
		report_line(&report, "%s", "line");
	report_rewind(&report, head);
	EXPECT_EQ(report.text, heading("entry: again"));
	report_fix(&report, "Restoring %d", 1);
	EXPECT_EQ(report.text, heading("entry: again") + "FIX entry: Restoring 1\n");
	EXPECT_EQ(report.info.fixes, 1U);
}

TEST(ReportTest, GivesTheHandlerItsStruct)
{
	report_capture reports;
	struct report report;

	report_begin(&report, SLAB_PROBLEM_LEAK, "entry", "Objects remaining in %s", "entry");
	report.info.leaked = 7;
	report_fix(&report, "nothing");
	report_emit(&report);
	const caught_report caught = reports.last();

	EXPECT_EQ(caught.info.struct_size, sizeof(struct slab_report));
	EXPECT_EQ(caught.info.problem, SLAB_PROBLEM_LEAK);
	EXPECT_EQ(caught.cache, "entry");
	EXPECT_EQ(caught.reason, "Objects remaining in entry");
	EXPECT_EQ(caught.text, report.text);
	EXPECT_EQ(caught.info.leaked, 7U);
	EXPECT_EQ(caught.info.fixes, 1U);
	EXPECT_EQ(reports.bugs(), 1U);
	EXPECT_EQ(reports.fixes(), 1U);
}

TEST(ReportTest, GoesToTheHandler)
{
	const unsigned long before = report_count();
	report_capture reports;

	errno = 77;
	emit("Poison overwritten");
	EXPECT_EQ(errno, 77);
	EXPECT_EQ(reports.count(), 1U);
	EXPECT_EQ(report_count(), before + 1);
	EXPECT_EQ(reports.text(),
		  heading("entry: Poison overwritten") + "Object 0x1230 @offset=48\n");
}

TEST(ReportTest, HandlersMayChangeWhileReportsAreMade)
{
	/* The last handler stays until the reporter has ended: it may be inside. */
	report_capture *captures[8] = {new report_capture};
	std::thread reporter([] {
		for (int i = 0; i < 2000; i++)
			emit("one of many");
	});

	for (int i = 1; i < 8; i++)
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
		join_all(threads);
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

/* --- reports of several at once -------------------------------------------------- */

constexpr unsigned reporters = 8, reports_each = 50;

/* Nearly as long as a report gets, and all of one letter, which names its thread. */
std::string long_text(char letter)
{
	std::string text = heading(std::string("entry: ") + letter);

	while (text.size() < REPORT_MAX - 128)
		text += std::string(100, letter) + "\n";
	return text;
}

void emit_long(char letter)
{
	struct report report;

	report_begin(&report, SLAB_PROBLEM_POISON, "entry", "%c", letter);
	while (report.len < REPORT_MAX - 128)
		report_line(&report, "%s", std::string(100, letter).c_str());
	report_emit(&report);
}

/* Threads report at the same time, each with its letter. */
void emit_from_threads()
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < reporters; i++)
		threads.emplace_back([i] {
			for (unsigned n = 0; n < reports_each; n++)
				emit_long(static_cast<char>('a' + i));
		});
	join_all(threads);
}

/* One thread reports, and a signal handler on top of it. */
void emit_from_a_handler()
{
	static volatile sig_atomic_t handled;

	/* A handler that interrupts the reading of the environment has no SLAB_LOG yet. */
	emit_long('a');

	interruptions timer(5000, [](int) {
		static struct report report;

		if (handled == reports_each)
			return;
		handled = handled + 1;
		report_begin(&report, SLAB_PROBLEM_POISON, "entry", "b");
		for (char line[101] = ""; report.len < REPORT_MAX - 128;) {
			std::memset(line, 'b', sizeof(line) - 1);
			report_line(&report, "%s", line);
		}
		report_emit(&report);
	});

	for (unsigned n = 0; n < reports_each || handled < static_cast<int>(reports_each); n++)
		emit_long('a');
}

/* Whole reports of a letter in `text`; a dot stays in their place. */
unsigned take_reports(std::string *text, char letter)
{
	const std::string whole = long_text(letter);
	unsigned n = 0;

	for (std::size_t at; (at = text->find(whole)) != std::string::npos; n++)
		text->replace(at, whole.size(), ".");
	return n;
}

struct mixture {
	const char *name;
	void (*report)();
	const char *reporters; /* the letter of each */
	bool log;              /* or stderr, which is a pipe */
};

void PrintTo(const mixture &mixture, std::ostream *out)
{
	*out << mixture.name;
}

class ReportsAtOnceTest : public testing::TestWithParam<mixture>
{
};

INSTANTIATE_TEST_SUITE_P(
	Of, ReportsAtOnceTest,
	testing::Values(mixture{"ManyThreadsInAPipe", emit_from_threads, "abcdefgh", false},
			mixture{"ManyThreadsInTheLog", emit_from_threads, "abcdefgh", true},
			mixture{"ManyThreadsInANonBlockingPipe",
				[] {
					fcntl(STDERR_FILENO, F_SETFL, O_WRONLY | O_NONBLOCK);
					emit_from_threads();
				},
				"abcdefgh", false},
			mixture{"ASignalHandlerInAPipe", emit_from_a_handler, "ab", false},
			mixture{"ASignalHandlerInTheLog", emit_from_a_handler, "ab", true}),
	[](const auto &info) { return std::string(info.param.name); });

TEST_P(ReportsAtOnceTest, DoNotMix)
{
	const mixture &of = GetParam();

	if (running_again()) {
		of.report();
		return;
	}
	const log_file log;
	const second_run run = run_again({"SLAB_LOG=" + (of.log ? log.path() : "")});
	std::string text = of.log ? log.text() : run.output;

	EXPECT_EQ(run.failure, "");
	for (const char letter : std::string(of.reporters)) {
		const unsigned reports = take_reports(&text, letter);

		/* A thread reports until its signal handler has reported often enough. */
		EXPECT_GE(reports, reports_each) << letter;
		EXPECT_TRUE(letter == 'a' || reports == reports_each) << letter << reports;
	}
	EXPECT_EQ(text.find("BUG"), std::string::npos);
	EXPECT_TRUE(!of.log || text.find_first_not_of('.') == std::string::npos);
}

/* --- where they go ----------------------------------------------------------------- */

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

/* To open it would wait for the reader. */
TEST(ReportTest, GoesToStderrIfTheLogIsAPipeWithoutReader)
{
	if (running_again()) {
		alarm(60);
		emit("lost");
		return;
	}
	const log_file log;

	unlink(log.path().c_str());
	ASSERT_EQ(mkfifo(log.path().c_str(), 0600), 0);
	const second_run run = run_again({"SLAB_LOG=" + log.path()});

	EXPECT_EQ(run.failure, "");
	EXPECT_NE(run.output.find("BUG entry: lost"), std::string::npos) << run.output;
}

struct outcome {
	const char *name, *setting;
	void (*act)();
	const char *failure, *output, *not_output;
};

void PrintTo(const outcome &outcome, std::ostream *out)
{
	*out << outcome.name;
}

class ReportOutcomeTest : public testing::TestWithParam<outcome>
{
};

INSTANTIATE_TEST_SUITE_P(
	Of, ReportOutcomeTest,
	testing::Values(
		outcome{"ALogThatCannotBeOpened", "SLAB_LOG=/nonexistent/log",
			[] { emit("Poison overwritten"); }, "", "BUG entry: Poison overwritten",
			"FIX"},
		outcome{"ALogThatCannotBeOpenedIsNamedOnce", "SLAB_LOG=/nonexistent/log",
			[] {
				emit("first");
				slab_note("between");
				emit("second");
			},
			"",
			"libslab: SLAB_LOG=/nonexistent/log cannot be opened, so reports go "
			"to stderr: No such file or directory\n===",
			"between\nlibslab"},
		outcome{"Abort", "SLAB_DEBUG_ABORT=1",
			[] {
				emit("the only one");
				emit("never made");
			},
			"killed by signal 6", "BUG entry: the only one", "never made"},
		outcome{"AbortBehindTheHandler", "SLAB_DEBUG_ABORT=1",
			[] {
				slab_set_report_handler(
					[](const struct slab_report *report, void *) {
						slab_note("%s", report->reason);
					},
					nullptr);
				emit("the only one");
			},
			"killed by signal 6", "libslab: the only one\n", "BUG"},
		outcome{"ATraceLineWithoutALog",
			"SLAB_LOG=", [] { report_trace_line("TRACE entry free 0x1230"); }, "",
			"\nTRACE entry free 0x1230\n", "BUG"}),
	[](const auto &info) { return std::string(info.param.name); });

TEST_P(ReportOutcomeTest, IsSeenOnStderr)
{
	const outcome &of = GetParam();

	if (running_again()) {
		of.act();
		return;
	}
	const second_run run = run_again({of.setting});

	EXPECT_EQ(run.failure, of.failure);
	EXPECT_NE(run.output.find(of.output), std::string::npos) << run.output;
	EXPECT_EQ(run.output.find(of.not_output), std::string::npos) << run.output;
}

TEST(ReportTest, TraceLinesGoToTheLogAndAreNotCounted)
{
	if (running_again()) {
		const unsigned long before = report_count();
		report_capture reports;

		errno = 77;
		report_trace_line("TRACE %s alloc 0x%x", "entry", 0x1230U);
		report_trace_line("%s", std::string(2000, 'x').c_str());
		EXPECT_EQ(errno, 77);
		EXPECT_EQ(report_count(), before);
		EXPECT_EQ(reports.count(), 0U);
		return;
	}
	const log_file log;
	const second_run run = run_again({"SLAB_LOG=" + log.path()});
	const std::string text = log.text();

	EXPECT_EQ(run.failure, "");
	EXPECT_EQ(text.compare(0, 26, "TRACE entry alloc 0x1230\nx"), 0) << text;
	EXPECT_EQ(text.find('\n', 25), text.size() - 1);
}

} /* namespace */
