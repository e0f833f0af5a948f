/* SPDX-License-Identifier: MIT */
/*
 * slabinfo --top as its users see it: in a terminal, and piped. What is compared to
 * the letter comes from a scripted process; that it works on real ones is tried,
 * too.
 */
#include "scripted_process.h"
#include "terminal.h"

#include <regex.h>

using namespace slab_test;

namespace
{

/* --- what the scripted process says --------------------------------------------------- */

struct numbers {
	const char *name;
	unsigned size, slabs, cpu_slabs, partial, objects, errors;
	const char *debug_flags;
};

/* Slabs of 16384 bytes. */
std::string cache(const numbers &of, std::uint64_t counted, std::uint64_t counted_us,
		  const char *more = "")
{
	std::ostringstream text;

	text << "{\"name\":\"" << of.name << "\",\"object_size\":" << of.size
	     << ",\"slab_size\":" << of.size
	     << ",\"order\":2,\"objects_per_slab\":" << 16384 / of.size << ",\"slabs\":" << of.slabs
	     << ",\"cpu_slabs\":" << of.cpu_slabs << ",\"partial\":" << of.partial
	     << ",\"full\":" << of.slabs - of.cpu_slabs - of.partial
	     << ",\"objects\":" << of.objects << ",\"total_objects\":" << 16384 / of.size * of.slabs
	     << ",\"errors\":" << of.errors << ",\"debug_flags\":\"" << of.debug_flags
	     << "\",\"counted\":" << counted << ",\"counted_us\":" << counted_us
	     << ",\"events\":{\"alloc_slowpath\":7,\"free_slowpath\":5}" << more << "}";
	return text.str();
}

const numbers alpha = {"alpha", 128, 10, 3, 2, 960, 0, "-"};
const numbers beta = {"beta", 1024, 40, 1, 30, 64, 0, "-"};
const numbers gamma_cache = {"gamma", 4096, 1, 0, 0, 4, 0, "-"};
const numbers none = {"none", 64, 0, 0, 0, 0, 0, "-"};

std::uint64_t now_us()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<std::uint64_t>(now.tv_sec) * 1000000 +
	       static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

/* alpha allocates 2000000 objects in a second, beta none; all the time is counted but that
 * before the first answer. */
std::string stats(const std::vector<numbers> &caches, unsigned asked)
{
	const std::uint64_t us = asked ? now_us() : 0;
	std::string text = "{\"slab\":2,\"ok\":true,\"process\":{\"engine\":\"rseq\","
			   "\"uptime\":93600,\"slab_bytes\":835584,\"cached_bytes\":65536,"
			   "\"large_bytes\":0},\"caches\":[";

	for (const numbers &of : caches) {
		const std::uint64_t counted = of.name == std::string("alpha") ? 2 * us : 0;

		text += (&of == &caches[0] ? "" : ",") + cache(of, counted, us);
	}
	return text + "]}";
}

std::string refusal(const std::string &sentence)
{
	return "{\"slab\":2,\"ok\":false,\"error\":\"" + sentence + "\"}";
}

const char slabs_of_all_states[] =
	"{\"slab\":2,\"ok\":true,\"name\":\"alpha\",\"bytes\":16384,\"total\":8,\"columns\":"
	"[\"address\",\"used\",\"room\",\"state\",\"cpu\",\"node\",\"debug_flags\"],\"slabs\":["
	"[65536,1,128,\"current\",0,0,\"-\"],[81920,0,128,\"cpu\",0,0,\"-\"],"
	"[98304,127,128,\"current\",1,0,\"-\"],[114688,64,128,\"partial\",-1,0,\"-\"],"
	"[131072,128,128,\"full\",-1,0,\"-\"],[147456,90,120,\"debug\",-1,0,\"ZP\"],"
	"[163840,2,120,\"legacy\",-1,0,\"F\"],[180224,1,1,\"guarded\",-1,0,\"-\"]]}";

std::string say_all(const std::string &request, unsigned asked)
{
	if (request == "stats")
		return stats({alpha, beta, gamma_cache, none}, asked);
	if (request == "slabs alpha")
		return slabs_of_all_states;
	if (request.compare(0, 6, "count ") == 0)
		return "{\"slab\":2,\"ok\":true,\"counting\":" + request.substr(6) + "}";
	return refusal("there is no such request");
}

/* Counts nothing and has no "slabs", as an older library. */
std::string say_little(const std::string &request, unsigned)
{
	return request == "stats" ? stats({alpha, beta}, 0) : refusal("there is no such request");
}

std::string say_trouble(const std::string &request, unsigned asked)
{
	const numbers broken = {"broken", 128, 10, 3, 2, 960, 12, "FZPU"};

	return request == "stats" ? stats({alpha, broken}, asked) : refusal("no");
}

/* 100 lookups from one answer to the next; before the first, half of 1000 were hits. */
std::string say_counters(const std::string &request, unsigned asked)
{
	const auto counter = [](const char *name, const char *kind, std::uint64_t value) {
		return std::string("{\"name\":\"") + name + "\",\"kind\":\"" + kind +
		       "\",\"value\":" + std::to_string(value) + ",\"help\":\"\"}";
	};
	const std::string counters = counter("hits", "events", 500 + 90 * asked) + "," +
				     counter("misses", "events", 500 + 10 * asked) + "," +
				     counter("held", "bytes", 163840) + "," +
				     counter("most", "bytes", UINT64_MAX) + "," +
				     counter("open", "gauge", 12);

	if (request != "stats")
		return say_all(request, asked);
	return "{\"slab\":2,\"ok\":true,\"process\":{},\"caches\":[" +
	       cache(alpha, 0, 0, (",\"counters\":[" + counters + "]").c_str()) + "]}";
}

std::string say_slowly(const std::string &request, unsigned asked)
{
	usleep(50000);
	return say_all(request, asked);
}

std::string say_many_slabs(const std::string &request, unsigned asked)
{
	std::string text;

	if (request != "slabs alpha")
		return say_all(request, asked);
	text = "{\"slab\":2,\"ok\":true,\"name\":\"alpha\",\"bytes\":16384,\"total\":9000,"
	       "\"columns\":[\"address\",\"used\",\"room\",\"state\",\"cpu\",\"node\",\"debug_flags\"],"
	       "\"slabs\":[";
	for (unsigned i = 0; i < 8000; i++)
		text += (i ? ",[" : "[") + std::to_string(65536 + i * 16384) +
			",128,128,\"full\",-1,0,\"-\"]";
	return text + "]}";
}

bool matches(const std::string &text, const std::string &pattern)
{
	regex_t regex;

	EXPECT_EQ(regcomp(&regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB), 0);
	const bool found = regexec(&regex, text.c_str(), 0, nullptr, 0) == 0;

	regfree(&regex);
	return found;
}

/* --- running it ------------------------------------------------------------------------- */

class TopTest : public testing::Test
{
protected:
	std::string command(pid_t pid, const std::string &words = "--top=0.1") const
	{
		return std::string(SLABINFO) + " -p " + std::to_string(pid) + " " + words;
	}

	runtime_dir dir;
};

/* The first words of the rows below the titles. */
std::vector<std::string> names_on(const std::string &screen)
{
	const std::vector<std::string> lines = lines_of(screen);
	std::vector<std::string> names;

	for (std::size_t i = 4; i < lines.size() && !lines[i].empty() && lines[i][0] != 'q'; i++)
		names.push_back(words_of(lines[i]).at(0));
	return names;
}

using names = std::vector<std::string>;

/* --- keys, and what they change on the screen ----------------------------------------------- */

/* Keys as tmux calls them; what the screen then shows; the caches on it, when they are given, and
 * what it does not show. */
struct step {
	std::string keys, shows, caches = "", not_shown = "";
};

struct scene {
	const char *name;
	std::string words; /* of the command line */
	std::vector<step> steps;
	scripted_process::answers answers = say_all;
	int columns = 80, rows = 24;
};

void PrintTo(const scene &scene, std::ostream *out)
{
	*out << scene.name;
}

class TopKeysTest : public TopTest, public testing::WithParamInterface<scene>
{
};

const scene scenes[] = {
	{"SortByTheColumnToTheLeftOrRight",
	 "--top=0.1",
	 {{"", "▼SPACE", "beta alpha gamma"},
	  {"'<'", "▼SIZE", "gamma beta alpha"},
	  {"'<' '<'", "NAME▲", "alpha beta gamma"},
	  /* Round, past a column that is seen only while it orders the rows. */
	  {"'<'", "DEBUG▼"},
	  {"'>' '>'", "▼OBJECTS", "alpha beta gamma"}}},
	{"ReverseTheOrder",
	 "--top=0.1",
	 {{"", "▼SPACE"}, {"R", "▲SPACE", "gamma alpha beta"}, {"R", "▼SPACE"}}},
	{"OptionToSortByLoss", "--top=0.1 -L", {{"", "▼LOST"}}},
	{"OptionToSortByPartialSlabs", "--top=0.1 -P", {{"", "▼PART"}}},
	{"OptionToSortByAllocations", "--top=0.1 -A", {{"", "▼ALLOC/s"}}},
	{"OptionsToReverseTheOrder", "--top=0.1 -iS", {{"", "▲SPACE"}}},
	{"FilterByRegularExpression",
	 "--top=0.1",
	 {{"", "gamma"},
	  {"/ '^(A|g)'", "Show caches that match: ^(A|g)_"},
	  {"Enter", "Only caches that match: ^(A|g)", "alpha gamma"},
	  {"/ C-u '(' Enter", "\"(\" is not a regular expression"},
	  {"/ Escape", "Only caches that match: ^(A|g)", "alpha gamma"},
	  {"/ C-u Enter", "beta", "beta alpha gamma"}}},
	{"APatternOfTheCommandLineIsTheFirstFilter",
	 "--top=0.1 alp",
	 {{"", "Only caches that match: alp", "alpha"}}},
	{"ShowEmptyCaches", "--top=0.1", {{"", "gamma", "", "none "}, {"z", "none "}}},
	{"ShowBytes", "--top=0.1", {{"", "640KiB"}, {"B", "655360"}, {"", "Slabs 835584"}}},
	{"ErrorsAndDebugFlagsAreSeenOnNarrowScreens",
	 "--top=0.1",
	 {{"", " ERR DEBUG"}, {"", " 12 FZPU"}},
	 say_trouble,
	 60,
	 15},
	{"TheChosenCacheStaysChosenWhenRowsMove",
	 "--top=0.1",
	 {{"", "gamma"},
	  {"End", "gamma"}, /* which then is first */
	  {"R", "▲SPACE"},
	  {"Enter", "Cache    gamma"},
	  {"Escape", "NAME "},
	  {"Down Enter", "Cache    alpha"}}},
	{"ScrollToTheChosenCache",
	 "--top=0.1 -z -N 2",
	 {{"", "beta", "beta alpha"},
	  {"Down Down", "gamma", "alpha gamma"},
	  {"PPage", "beta", "beta alpha"}},
	 say_all,
	 80,
	 8},
	{"TakeAnotherInterval",
	 "--top",
	 {{"", "every 1s"},
	  {"s C-u 0.25 Enter", "every 0.25s"},
	  {"d C-u never Enter", "\"never\" is not an interval; accepted are 0.01 to 86400 seconds"},
	  {"", "every 0.25s"}}},
	/* One look alone has no rates. */
	{"LookAgainWhenAsked", "--top=86400", {{"", "gamma", "", "2.0M"}, {"Space", "2.0M"}}},
	{"LookLessOftenWhereALookTakesLong", "--top=0.01", {{"", "s (a look takes "}}, say_slowly},
	{"AMapOfManySlabsJoinsNeighbours",
	 "--top=0.1 alpha",
	 {{"", "alpha"},
	  {"Enter", "F full 8000"},
	  {"", "the first 8000 of 9000 slabs"},
	  {"", "each place: up to "},
	  {"", "████████████████████"},
	  {"m", "FFFFFFFFFFFFFFFFFFFF"}},
	 say_many_slabs},
	{"HelpNamesTheKeys",
	 "--top=0.1",
	 {{"", "alpha"},
	  {"h", "the other way round"},
	  {"Escape", "alpha"},
	  {"'?'", "show only caches that match a regular expression"},
	  {"", "it is within 20 %, or"}}},
};

INSTANTIATE_TEST_SUITE_P(Keys, TopKeysTest, testing::ValuesIn(scenes),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(TopKeysTest, ChangeTheScreen)
{
	const scene &scene = GetParam();
	scripted_process process(dir, scene.answers);
	terminal screen(dir, scene.columns, scene.rows, command(process.pid(), scene.words));

	for (const step &step : scene.steps) {
		if (!step.keys.empty())
			screen.press(step.keys);
		const std::string now = screen.expect(step.shows);

		EXPECT_TRUE(step.caches.empty() || names_on(now) == words_of(step.caches))
			<< step.keys << now;
		EXPECT_TRUE(step.not_shown.empty() || !contains(now, step.not_shown))
			<< step.keys << now;
	}
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
	const std::vector<std::string> lines = lines_of(screen.expect("CPU 1: 1"));

	ASSERT_EQ(lines.size(), 24U);
	EXPECT_EQ(lines[3], "Cache    alpha");
	EXPECT_EQ(lines[4], "Objects  960 in use  room for 1280  128 bytes each, 128 apart");
	EXPECT_EQ(lines[5], "Space    160KiB  in use 120KiB  lost 40.0KiB (25%)");
	EXPECT_EQ(lines[6], "Slabs    10  of CPUs 3  partial 2  full 5  16.0KiB each  for 128 "
			    "objects");
	EXPECT_EQ(lines[7], "Errors   0  no debug flags");
	EXPECT_EQ(lines[8], "Rates    alloc 2.0M/s  free 2.0M/s  slow alloc 0/s  slow free 0/s");
	EXPECT_EQ(
		lines[9],
		"C current 2  c cpu 1  p partial 1  F full 1  D debug 1  l legacy 1  G guarded 1");
	EXPECT_EQ(lines[10], "· empty ░▒▓ █ full");
	EXPECT_EQ(lines[11], "CPU 0: 2  CPU 1: 1");
	EXPECT_EQ(lines[12], "C░ c· C▓ p▒ F█ D▓ l░ G█");
	EXPECT_EQ(lines[13], "Events/s none");
	screen.press("BSpace");
	screen.expect("NAME ");
}

TEST_F(TopTest, DetailsHaveTheCountersOfTheProgram)
{
	scripted_process process(dir, say_counters);
	terminal screen(dir, 160, 24, command(process.pid(), "--top=0.1 alpha"));

	screen.expect("alpha");
	screen.press("Enter");
	const std::vector<std::string> lines = lines_of(screen.expect("hit_ratio 90.0%"));

	ASSERT_EQ(lines.size(), 24U);
	EXPECT_TRUE(matches(lines[9],
			    "^Counters hits [0-9]+ \\([0-9.KM]+/s\\)  hit_ratio 90\\.0%  misses "
			    "[0-9]+ \\([0-9.KM]+/s\\)  held 160KiB  most unlimited  open 12$"))
		<< lines[9];
}

TEST_F(TopTest, WhatTheProcessRefusesIsToldOnThePage)
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
	screen.expect("C1 c0 C8 p5 F9 D7 l1 G9");
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

TEST_F(TopTest, EndsWhenNobodyReadsAnyMore)
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
		const result got = slabinfo({"--top=" + bad});

		EXPECT_EQ(got.status, 2);
		EXPECT_EQ(got.out, "");
		EXPECT_EQ(got.err, "slabinfo: \"" + bad +
					   "\" is not an interval; accepted are "
					   "0.01 to 86400 seconds\n");
	}
}

TEST_F(TopTest, APatternThatNoCacheMatchesIsTold)
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
	screen.expect("C current ");
	screen.expect("CPU 0: ");
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
	screen.expect("C current ");
	screen.press("q");
	screen.expect("status 0");
	kill(process.pid(), SIGCONT);
}

} /* namespace */
