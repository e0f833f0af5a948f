/* SPDX-License-Identifier: MIT */
/* Options of slabinfo that do not go together, and its help. */
#include <string>
#include <vector>

#include "../support/server.h"

using namespace slab_test;

namespace
{

/* --- usage ----------------------------------------------------------------------------------- */

struct usage_case {
	std::vector<std::string> words;
	std::string message;
};

class UsageTest : public testing::TestWithParam<usage_case>
{
};

/* There is no process: wrong options are reported before slabinfo looks for one. */
TEST_P(UsageTest, IsOneErrorMessage)
{
	runtime_dir dir;
	const result got = slabinfo(GetParam().words);

	EXPECT_EQ(got.status, 2);
	EXPECT_EQ(got.out, "");
	EXPECT_EQ(got.err, "slabinfo: " + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
	Rules, UsageTest,
	testing::Values(
		usage_case{{"-T", "-X"}, "-T and -X cannot be combined; give one of them"},
		usage_case{{"-l", "--top"}, "-l and --top cannot be combined; give one of them"},
		usage_case{{"-s", "-v"}, "-s and -v cannot be combined; give one of them"},
		usage_case{{"-s", "--json"}, "-s and --json cannot be combined; give one of them"},
		usage_case{{"--top", "--json"},
			   "--top and --json cannot be combined; give one of them"},
		usage_case{{"-L", "-S"},
			   "-A, -L, -P and -S are mutually exclusive; give one of them"},
		usage_case{{"-N", "0"},
			   "\"0\" is not a number of lines; -N takes a number from 1 on"},
		usage_case{{"-N", "1x"},
			   "\"1x\" is not a number of lines; -N takes a number from 1 on"},
		usage_case{{"--top=0"},
			   "\"0\" is not an interval; accepted are 0.01 to 86400 seconds"},
		usage_case{{"--top=nan"},
			   "\"nan\" is not an interval; accepted are 0.01 to 86400 seconds"},
		usage_case{
			{"-l", "--interval=1"},
			"--interval is the time between two looks; it goes with --top and --record"},
		usage_case{{"--plot=a.svg"},
			   "--plot needs the recordings to draw: slabinfo --plot=SVG FILE..."},
		usage_case{{"--diff", "a.json"},
			   "--diff compares two files that --json wrote, and 1 is given"},
		usage_case{{"--diff", "a", "b", "c"},
			   "--diff compares two files that --json wrote, and 3 are given"},
		usage_case{
			{"--exe=a"},
			"--exe names the program that left a core file; it goes with --core FILE"},
		usage_case{{"--core=c", "-p", "1"},
			   "--core and --pid cannot be combined; give one of them"},
		usage_case{{"--core=c", "--process=a"},
			   "--core and --process cannot be combined; give one of them"},
		usage_case{{"--core=c", "--memory"},
			   "--core and --memory cannot be combined; give one of them"},
		usage_case{{"-p1", "--process=a"},
			   "--pid and --process cannot be combined; give one of them"},
		usage_case{{"--set=a.limit=1", "--set=b.limit=1"},
			   "--set changes one attribute at a time; \"b.limit=1\" is one too many"},
		usage_case{
			{"--set=a.limit=1", "entry"},
			"--set names its cache itself; it takes no regular expression \"entry\""},
		usage_case{
			{"--trim", "entry"},
			"--trim is for the whole process; it takes no regular expression \"entry\""},
		usage_case{{"--list", "entry"},
			   "--list is about processes; it takes no regular expression \"entry\""},
		usage_case{{"--pprof=a", "--flame=b"},
			   "--pprof and --flame cannot be combined; give one of them"},
		usage_case{{"--pprof=a", "--json"},
			   "--pprof and --json cannot be combined; give one of them"},
		usage_case{{"--pprof"}, "--pprof needs a value; --help shows the options"},
		usage_case{
			{"--flame=a.svg", "entry"},
			"--flame is for the whole process; it takes no regular expression \"entry\""},
		usage_case{{"entry", "pblock"},
			   "one regular expression is enough; \"pblock\" is one too many"}));

TEST(CoreUsageTest, NothingThatChangesOrRepeatsGoesWithACoreFile)
{
	runtime_dir dir;
	const std::vector<std::vector<std::string>> cases = {
		{"-s"},
		{"-d"},
		{"-dz"},
		{"--set=a.b=1"},
		{"--reset"},
		{"--trim"},
		{"--mark"},
		{"--sample=1"},
		{"--fail=-"},
		{"--profile=512k"},
		{"--record=a.json"},
		{"--top"},
		{"--list"},
	};

	for (std::vector<std::string> words : cases) {
		const std::string name = words[0].substr(0, words[0].find('='));

		words.push_back("--core=nothing");
		const result got = slabinfo(words);

		EXPECT_EQ(got.status, 2);
		EXPECT_EQ(got.err, "slabinfo: " + (name == "-dz" ? "-d" : name) +
					   " cannot be done with a core file, which is read only "
					   "once and not changed\n");
	}
}

/* --- help ---------------------------------------------------------------------------------- */

TEST(HelpTest, FitsAScreenOf80ColumnsAnd24Lines)
{
	const std::vector<std::string> lines = lines_of(slabinfo({"--help"}).out);

	EXPECT_LE(lines.size(), 23U) << "one line is for the prompt";
	for (const std::string &line : lines)
		EXPECT_LE(line.size(), 80U) << line;
}

TEST(HelpTest, ShowsEveryOptionAndNamesTheManPage)
{
	const std::string help = slabinfo({"-h"}).out;

	EXPECT_TRUE(contains(help, "slabinfo(1)"));
	for (const char *word : {"-a --aliases",
				 "-A --activity",
				 "-B --bytes",
				 "-d --debug[=FLAGS]",
				 "-D --display-activity",
				 "-e --empty",
				 "-f --first-alias",
				 "-h --help",
				 "-i --inverted",
				 "-l --slabs",
				 "-L --loss",
				 "-n --numa",
				 "-N --lines=K",
				 "-o --ops",
				 "-p --pid=PID",
				 "-P --partial",
				 "-r --report",
				 "-s --shrink",
				 "-S --size",
				 "-t --tracking",
				 "-T --totals",
				 "-U --unreclaim",
				 "-v --validate",
				 "-X --xtotals",
				 "-z --zero",
				 "-1 --1ref",
				 "--process=NAME",
				 "--list",
				 "--memory",
				 "--core=FILE",
				 "--exe=FILE",
				 "--json",
				 "--openmetrics",
				 "--set=CACHE.ATTRIBUTE=VALUE",
				 "--reset",
				 "--trim",
				 "--sample=N",
				 "--fail=SPEC",
				 "--mark",
				 "--since-mark[=MARK]",
				 "--top[=SECONDS]",
				 "--map=SVG",
				 "--profile=BYTES",
				 "--pprof=FILE",
				 "--flame=SVG",
				 "--record=FILE",
				 "--interval=SECONDS",
				 "--plot=SVG FILE...",
				 "--diff A B",
				 "--version"})
		EXPECT_TRUE(contains(help, word)) << word;
}

/* The options that the kernel's tool accepts, and those that its help has. */
TEST(HelpTest, TheKernelsLongNamesAreRead)
{
	runtime_dir dir;

	for (const char *name :
	     {"--aliases",  "--activity",    "--Bytes",    "--display-active", "--display-activity",
	      "--empty",    "--first-alias", "--inverted", "--slabs",          "--Loss",
	      "--numa",     "--lines=3",     "--ops",      "--partial",        "--report",
	      "--shrink",   "--Size",        "--tracking", "--Totals",         "--Unreclaim",
	      "--validate", "--Xtotals",     "--zero",     "--1ref",           "--debug=fzput"})
		EXPECT_EQ(slabinfo({name}).err, "slabinfo: no process has slab caches\n") << name;
}

} /* namespace */
