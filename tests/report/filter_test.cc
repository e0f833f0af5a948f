/* SPDX-License-Identifier: MIT */
/* SLAB_SYMBOLS: reports that name functions and lines, and what the program notices of it. */
#include <filesystem>

#include "../support/folder.h"
#include "../support/process.h"
#include "../support/rooms.h"

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
		EXPECT_IN_CHILD([] {
			report_here();
			return 0;
		});
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

/* To open it would wait for the reader, and the program for that. */
TEST(FilterTest, TheProgramStartsIfTheLogIsAPipeWithoutReader)
{
	const folder dir;
	const std::string path = dir.path + "/pipe";

	if (running_again()) {
		report_here();
		return;
	}
	ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
	const second_run run = run_again({"SLAB_SYMBOLS=on", "SLAB_LOG=" + path});

	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_TRUE(has(run.output, "BUG entry")) << run.output;
}

/* --- which slab-symbolize is trusted ------------------------------------------------------- */

/* The test and slab-symbolize in /tmp/slab-filter-XXXXXX/folder. */
class copies
{
public:
	copies()
	{
		char name[] = "/tmp/slab-filter-XXXXXX";
		const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe");

		top = mkdtemp(name);
		folder = top / "folder";
		symbolize = folder / "slab-symbolize";
		std::filesystem::create_directory(folder);
		std::filesystem::copy_file(here, folder / "test");
		std::filesystem::copy_file(SLAB_SYMBOLIZE, symbolize);
		for (const std::filesystem::path &path : {top, folder, symbolize})
			EXPECT_EQ(chmod(path.c_str(), 0755), 0);
	}
	~copies() { std::filesystem::remove_all(top); }
	copies(const copies &) = delete;
	copies &operator=(const copies &) = delete;

	std::string output(const std::string &setting = "PATH=/bin:/usr/bin") const
	{
		const std::string command =
			setting + " SLAB_TEST_AGAIN=1 SLAB_SYMBOLS=on SLAB_LOG= '" +
			(folder / "test").string() +
			"' --gtest_filter=FilterTest.ByDefaultReportsHaveOffsets 2>&1";
		FILE *reader = popen(command.c_str(), "r");
		std::string text;

		for (int c; (c = getc(reader)) != EOF;)
			text += static_cast<char>(c);
		EXPECT_EQ(pclose(reader), 0) << text;
		return text;
	}

	std::filesystem::path top, folder, symbolize;
};

struct place {
	const char *name;
	void (*change)(const copies &files);
	std::string (*refused)(const copies &files); /* nullptr: trusted */
};

void PrintTo(const place &place, std::ostream *out)
{
	*out << place.name;
}

class TrustTest : public testing::TestWithParam<place>
{
};

std::string may_write(const std::filesystem::path &path)
{
	return path.string() + ": its group or others may write it\n";
}

void set_mode(const std::filesystem::path &path, mode_t mode)
{
	ASSERT_EQ(chmod(path.c_str(), mode), 0);
}

INSTANTIATE_TEST_SUITE_P(
	Of, TrustTest,
	testing::Values(place{"AFileOfTheUser", [](const copies &) {}, nullptr},
			place{"AFileThatItsGroupMayWrite",
			      [](const copies &files) { set_mode(files.symbolize, 0775); },
			      [](const copies &files) { return may_write(files.symbolize); }},
			place{"AFileThatOthersMayWrite",
			      [](const copies &files) { set_mode(files.symbolize, 0757); },
			      [](const copies &files) { return may_write(files.symbolize); }},
			place{"AFolderThatItsGroupMayWrite",
			      [](const copies &files) { set_mode(files.folder, 0775); },
			      [](const copies &files) { return may_write(files.folder); }},
			place{"AFolderAboveThatOthersMayWrite",
			      [](const copies &files) { set_mode(files.top, 0757); },
			      [](const copies &files) { return may_write(files.top); }},
			place{"AFolderAboveWithTheStickyBit",
			      [](const copies &files) { set_mode(files.top, 01777); }, nullptr},
			place{"ALinkToAFileThatOthersMayWrite",
			      [](const copies &files) {
				      std::filesystem::rename(files.symbolize, files.top / "other");
				      std::filesystem::create_symlink("../other", files.symbolize);
				      set_mode(files.top / "other", 0757);
			      },
			      [](const copies &files) { return may_write(files.top / "other"); }},
			place{"AFileOfAnotherUser",
			      [](const copies &files) {
				      ASSERT_EQ(chown(files.symbolize.c_str(), 12345, 0), 0);
			      },
			      [](const copies &files) {
				      return files.symbolize.string() +
					     ": it belongs to another user\n";
			      }},
			place{"AFolderOfAnotherUser",
			      [](const copies &files) {
				      ASSERT_EQ(chown(files.folder.c_str(), 12345, 0), 0);
			      },
			      [](const copies &files) {
				      return files.folder.string() +
					     ": it belongs to another user\n";
			      }}),
	[](const auto &info) { return std::string(info.param.name); });

/* The program has libslab in itself, as one that is linked with libslab.a. */
TEST(FilterTest, SlabSymbolizeIsFoundInPath)
{
	const copies files;
	const std::filesystem::path elsewhere = files.top / "elsewhere";

	std::filesystem::create_directory(elsewhere);
	std::filesystem::rename(files.symbolize, elsewhere / "slab-symbolize");
	const std::string output =
		files.output("PATH=.:/nonexistent::" + elsewhere.string() + ":$PATH");

	EXPECT_TRUE(names_lines(output)) << output;
}

TEST(FilterTest, WhereSlabSymbolizeWasLookedForIsSaid)
{
	const copies files;

	if (std::filesystem::exists(SLAB_SYMBOLIZE_INSTALLED))
		GTEST_SKIP() << "one is installed";
	std::filesystem::remove(files.symbolize);
	const std::string output = files.output("PATH=/nonexistent");

	EXPECT_TRUE(
		has(output, "libslab: SLAB_SYMBOLS=on: there is no slab-symbolize: not beside " +
				    (files.folder / "test").string() +
				    ", not at ../bin/slab-symbolize or "))
		<< output;
	EXPECT_TRUE(has(output, " from there, not at " SLAB_SYMBOLIZE_INSTALLED ", not in PATH\n"))
		<< output;
	EXPECT_FALSE(has(output, "(filter_test.cc:")) << output;
}

TEST_P(TrustTest, IsOneThatOnlyTheUserAndRootCanChange)
{
	const copies files;

	if (has(GetParam().name, "AnotherUser") && geteuid() != 0)
		GTEST_SKIP() << "only root gives files away";
	if (std::filesystem::exists(SLAB_SYMBOLIZE_INSTALLED))
		GTEST_SKIP() << "an installed slab-symbolize is used instead";
	GetParam().change(files);
	const std::string output = files.output();

	if (GetParam().refused) {
		EXPECT_TRUE(
			has(output,
			    "libslab: SLAB_SYMBOLS=on: slab-symbolize is not used, because of " +
				    GetParam().refused(files)))
			<< output;
		EXPECT_FALSE(has(output, "(filter_test.cc:")) << output;
	} else {
		EXPECT_FALSE(has(output, "is not used")) << output;
		EXPECT_TRUE(has(output, "(filter_test.cc:")) << output;
	}
}

} /* namespace */
