/* SPDX-License-Identifier: MIT */
/*
 * slabinfo --top as its users see it: in a terminal, and piped. What is compared byte by
 * byte comes from a scripted process; some tests run it on real ones. Its keys:
 * top_keys_test.cc.
 */
#include "top.h"

#include <regex.h>

namespace
{

using names = std::vector<std::string>;

bool matches(const std::string &text, const std::string &pattern)
{
	regex_t regex;

	EXPECT_EQ(regcomp(&regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB), 0);
	const bool found = regexec(&regex, text.c_str(), 0, nullptr, 0) == 0;

	regfree(&regex);
	return found;
}

/* --- the table ---------------------------------------------------------------------------- */

TEST_F(TopTest, ShowsTheProcessAndItsCachesLargestFirst)
{
	scripted_process process(dir, say_all);
	/* So long that a look on a busy machine does not make it longer. */
	terminal screen(dir, 80, 24, command(process.pid(), "--top=20"));

	screen.expect("gamma");
	screen.press("Space");
	const std::vector<std::string> lines = lines_of(screen.expect("2.0M"));

	ASSERT_EQ(lines.size(), 24U);
	EXPECT_EQ(lines[0].substr(8),
		  "  top_test [" + std::to_string(process.pid()) +
			  "]  up 26h00m  every 20s  from its socket  engine rseq");
	EXPECT_EQ(lines[1], "Slabs 816KiB  cached 64.0KiB  large 0  objects 1028  caches 3 of 4  "
			    "errors 0");
	EXPECT_EQ(lines[2], "");
	EXPECT_EQ(lines[3], "NAME         OBJECTS  SIZE  ▼SPACE USE    LOSS SLABS  PART ALLOC/s "
			    "FREE/s SLOW/s");
	EXPECT_EQ(lines[4], "beta              64  1024  640KiB ▋       90%    40    30       0 "
			    "     0      0");
	EXPECT_EQ(lines[5], "alpha            960   128  160KiB ████▌   25%    10     2    2.0M "
			    "  2.0M      0");
	EXPECT_EQ(lines[6], "gamma              4  4096 16.0KiB ██████   0%     1     0       0 "
			    "     0      0");
	for (std::size_t i = 7; i < 23; i++)
		EXPECT_EQ(lines[i], "");
	EXPECT_EQ(lines[23], "q quit  h help  <> sort  R reverse  Enter details  / filter  "
			     "s interval  z empty");
}

/* --- other pages ---------------------------------------------------------------------------- */

TEST_F(TopTest, DetailsHaveAMapOfAllSlabs)
{
	scripted_process process(dir, say_all);
	terminal screen(dir, 80, 24, command(process.pid(), "--top=0.1 alpha"));

	screen.expect("2.0M");
	screen.press("Enter");
	const std::vector<std::string> lines = lines_of(screen.expect("G guarded 1"));

	ASSERT_EQ(lines.size(), 24U);
	EXPECT_EQ(lines[3], "Cache    alpha");
	EXPECT_EQ(
		lines[4],
		"Objects  960 in use  room for 1280  384 held by CPUs  128 bytes each, 128 apart");
	EXPECT_EQ(lines[5], "Space    160KiB  in use 120KiB  lost 40.0KiB (25%)");
	EXPECT_EQ(lines[6], "Slabs    10  partial 2  full 5  empty 3  next 16.0KiB  for 128 "
			    "objects");
	EXPECT_EQ(lines[7], "Errors   0  no debug flags");
	EXPECT_EQ(lines[8], "Rates    alloc 2.0M/s  free 2.0M/s  slow alloc 0/s  slow free 0/s");
	EXPECT_EQ(lines[9], "p partial 3  F full 1  e empty 1  D debug 1  l legacy 1  G guarded 1");
	EXPECT_EQ(lines[10], "· empty ░▒▓ █ full");
	EXPECT_EQ(lines[11], "p░ p▓ p▒ F█ e· D▓ l░ G█");
	EXPECT_EQ(lines[12], "Events/s none");
	screen.press("BSpace");
	screen.expect("NAME ");
}

TEST_F(TopTest, RefusalsAreShownOnThePage)
{
	scripted_process process(dir, say_little);
	terminal screen(dir, 80, 24, command(process.pid(), "--top=0.1 alpha"));

	EXPECT_TRUE(contains(screen.expect("alpha"), " -      -"));
	screen.press("Enter");
	screen.expect("No map: process " + std::to_string(process.pid()) +
		      " (top_test): there is no such request");
	screen.expect("not counted: process ");
	screen.expect("alloc -/s  free -/s  slow alloc 0/s");
}

TEST_F(TopTest, FollowsTheSizeOfTheTerminal)
{
	scripted_process process(dir, say_all);
	terminal screen(dir, 80, 24, command(process.pid()));

	screen.expect("SLOW/s");
	screen.resize(60, 15);
	std::string now = screen.expect("NAME         OBJECTS  ▼SPACE LOSS SLABS ALLOC/s FREE/s");

	EXPECT_EQ(names_on(now), names({"beta", "alpha", "gamma"}));
	EXPECT_EQ(lines_of(now).size(), 15U);
	screen.resize(200, 50);
	now = screen.expect("SLOW/s ERR DEBUG");
	EXPECT_TRUE(contains(now, "by space"));
	EXPECT_EQ(lines_of(now).back().compare(0, 6, "q quit"), 0);
	screen.resize(30, 6);
	screen.expect("30 x 6 is too small,");
	screen.expect("please: 40 x 8");
	screen.resize(40, 8);
	screen.expect("gamma");
}

TEST_F(TopTest, DrawsInAsciiWhereTheLocaleHasNothingElse)
{
	scripted_process process(dir, say_all);
	terminal screen(dir, 80, 24, "LC_ALL=C " + command(process.pid()));

	screen.expect(" vSPACE USE ");
	EXPECT_TRUE(contains(screen.line("alpha"), " #####. "));
	screen.press("Down Enter");
	screen.expect("p1 p8 p5 F9 e0 D7 l1 G9");
}

/* --- ends -------------------------------------------------------------------------------------- */

TEST_F(TopTest, KeepsTheLastPictureOfAProcessThatHasEnded)
{
	scripted_process process(dir, say_all);
	terminal screen(dir, 80, 24, command(process.pid()));
	const std::string pid = std::to_string(process.pid());

	screen.expect("gamma");
	process.end();
	EXPECT_TRUE(contains(screen.expect("process " + pid + " has ended; q quits"), "gamma"));
	screen.press("q");
	screen.expect("status 0");
}

TEST_F(TopTest, TriesAgainWhenTheConnectionIsLost)
{
	scripted_process process(dir, say_all);
	terminal screen(dir, 100, 24, command(process.pid()));

	screen.expect("gamma");
	process.stop_answering();
	EXPECT_TRUE(contains(screen.expect("; trying again"), "gamma"));
	process.answer_again();
	screen.expect("; trying again", false);
	screen.expect("2.0M");
}

/* What `words` do to a terminal that shows the screen is undone in the end. */
void expect_restored(const runtime_dir &dir, const std::string &command, const std::string &keys,
		     const std::string &status)
{
	const std::string stty = "stty -g >" + dir.path() + "/stty";
	terminal screen(dir, 80, 24,
			"trap : INT; echo before; " + stty + "1; " + command +
				"; echo status $?; " + stty + "2; cmp " + dir.path() + "/stty1 " +
				dir.path() + "/stty2 && echo restored");

	screen.expect("gamma");
	screen.press(keys);
	const std::string now = screen.expect("restored");

	EXPECT_TRUE(contains(now, status)) << now;
	EXPECT_TRUE(contains(now, "before")) << now;
	EXPECT_FALSE(contains(now, "gamma")) << now;
}

TEST_F(TopTest, QuittingRestoresTheTerminal)
{
	scripted_process process(dir, say_all);

	expect_restored(dir, command(process.pid()), "q", "status 0");
	expect_restored(dir, command(process.pid()), "C-c", "status 130");
}

TEST_F(TopTest, SignalsThatEndItRestoreTheTerminal)
{
	scripted_process process(dir, say_all);

	for (const auto &ending :
	     {std::make_pair("TERM", "status 143"), std::make_pair("HUP", "status 129")}) {
		const std::string later = "(sleep 2; kill -" + std::string(ending.first) +
					  " \\$\\$) & exec " + command(process.pid());

		expect_restored(dir, "sh -c \"" + later + "\"", "Down", ending.second);
	}
}

TEST_F(TopTest, CanBeStoppedAndContinued)
{
	scripted_process process(dir, say_all);
	terminal screen(dir, 80, 24, "PS1=shell: bash --norc --noprofile -i");

	screen.expect("shell:");
	screen.press("\"" + command(process.pid()) + "\" Enter");
	screen.expect("gamma");
	screen.press("C-z");
	screen.expect("Stopped");
	screen.press("fg Enter");
	screen.expect("2.0M");
	screen.press("q");
	screen.expect("gamma", false);
}

/* --- without a terminal ------------------------------------------------------------------------ */

TEST_F(TopTest, PipedItPrintsBlocksUntilTheProcessEnds)
{
	scripted_process process(dir, say_all);
	const std::string pid = std::to_string(process.pid());
	const std::string stamp = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}  ";

	setenv("LC_ALL", "C.UTF-8", 1);
	child_process tool({SLABINFO, "-p", pid, "--top=0.05", "-N2"});

	unsetenv("LC_ALL");
	EXPECT_TRUE(matches(tool.line(),
			    stamp + "top_test \\[" + pid + "\\]  slabs 816KiB  caches 3 of 4$"));
	EXPECT_EQ(tool.line(), "NAME         OBJECTS  SIZE  ▼SPACE LOSS    LOST SLABS  PART  CPU "
			       "ALLOC/s FREE/s SLOW/s ERR DEBUG");
	EXPECT_EQ(tool.line(), "beta              64  1024  640KiB  90%  576KiB    40    30    1 "
			       "      -      -      -   0");
	EXPECT_EQ(tool.line(), "alpha            960   128  160KiB  25% 40.0KiB    10     2    3 "
			       "      -      -      -   0");
	EXPECT_EQ(tool.line(), "");
	tool.line();
	tool.line();
	tool.line();
	EXPECT_EQ(tool.line(), "alpha            960   128  160KiB  25% 40.0KiB    10     2    3 "
			       "   2.0M   2.0M      0   0");
	process.end();
	const std::vector<std::string> rest = lines_of(tool.rest_of_output());

	ASSERT_FALSE(rest.empty());
	EXPECT_TRUE(matches(rest.back(), stamp + "process " + pid + " has ended$")) << rest.back();
	EXPECT_EQ(tool.wait(), 0);
}

TEST_F(TopTest, PipedItHonoursPatternsAndOrders)
{
	scripted_process process(dir, say_all);
	child_process tool({SLABINFO, "-p", std::to_string(process.pid()), "--top=0.05", "-P", "-i",
			    "alpha|beta"});

	EXPECT_TRUE(contains(tool.line(), "caches 2 of 4"));
	tool.line();
	EXPECT_EQ(words_of(tool.line()).at(0), "alpha");
	EXPECT_EQ(words_of(tool.line()).at(0), "beta");
	EXPECT_EQ(tool.line(), "");
	kill(tool.pid(), SIGINT);
	EXPECT_EQ(tool.wait(), -1);
}

TEST_F(TopTest, EndsWhenItsOutputIsNotReadAnyMore)
{
	scripted_process process(dir, say_all);
	terminal screen(dir, 80, 24, command(process.pid(), "--top=0.05") + " | head -n 1");

	screen.expect("status 0");
}

TEST_F(TopTest, PrintsBlocksOnTerminalsThatCannotBeDrawnOn)
{
	scripted_process process(dir, say_all);

	for (const std::string name : {"dumb", "nothing-like-this"}) {
		terminal screen(dir, 80, 24, "TERM=" + name + " " + command(process.pid()));

		EXPECT_TRUE(contains(screen.expect("2.0M"), "slabs 816KiB  caches 3 of 4"));
	}
}

/* --- bad usage --------------------------------------------------------------------------------- */

TEST_F(TopTest, BadIntervalsAreOneErrorMessage)
{
	for (const std::string bad : {"0", "-1", "x", "1s", "86401", ""}) {
		expect_error({"--top=" + bad}, "\"" + bad +
						       "\" is not an interval; accepted are "
						       "0.01 to 86400 seconds");
	}
}

TEST_F(TopTest, APatternThatNoCacheMatchesIsReported)
{
	scripted_process process(dir, say_all);
	const std::string pid = std::to_string(process.pid());
	const result got = slabinfo({"-p", pid, "--top", "nobody"});

	EXPECT_EQ(got.status, 1);
	EXPECT_EQ(got.out, "");
	EXPECT_EQ(got.err,
		  "slabinfo: no cache of process " + pid + " (top_test) matches \"nobody\"\n");
}

TEST_F(TopTest, WithoutAProcessItEndsAtOnce)
{
	const result got = slabinfo({"--top", "--process", "nobody"});

	EXPECT_EQ(got.status, 2);
	EXPECT_EQ(lines_of(got.err).size(), 1U) << got.err;
}

/* --- real processes ---------------------------------------------------------------------------- */

TEST_F(TopTest, AWorkingProcessIsReadFromItsMemoryAndCounts)
{
	server process("pace"); /* the rate of a busy one may stay unknown on a busy machine */
	terminal screen(dir, 80, 24, command(process.pid(), "--top=0.2 -A entry"));
	std::string row, rate = "-";

	EXPECT_TRUE(contains(screen.expect("ALLOC/s"), "from its memory"));
	while (rate == "-" || rate == "0") {
		row = screen.line("entry");
		ASSERT_GE(words_of(row).size(), 10U) << row;
		rate = words_of(row).at(8);
	}
	screen.press("Enter");
	screen.expect("p partial ");
	screen.expect("alloc_slowpath ");
}

TEST_F(TopTest, AStoppedProcessIsSeen)
{
	server process;

	kill(process.pid(), SIGSTOP);
	terminal screen(dir, 80, 24, command(process.pid(), "--top=0.1 entry"));

	screen.expect("from its memory");
	screen.press("Enter");
	screen.expect("Events/s none");
	screen.expect("p partial ");
	screen.press("q");
	screen.expect("status 0");
	kill(process.pid(), SIGCONT);
}

} /* namespace */
