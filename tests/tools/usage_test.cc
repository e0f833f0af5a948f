/* SPDX-License-Identifier: MIT */
/* Options of slabinfo that do not go together, and its help. */
#include "../support/server.h"

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
		usage_case{{"--pprof=a", "--waste"},
			   "--pprof and --waste cannot be combined; give one of them"},
		usage_case{{"--profile=peak", "--waste"},
			   "--profile=peak and --waste cannot be combined; give one of them"},
		usage_case{{"--profile=peak", "--top"},
			   "--top and --profile=peak cannot be combined; give one of them"},
		usage_case{{"--profile=lifetimes", "--flame=a.svg"},
			   "--profile=lifetimes and --flame cannot be combined; give one of them"},
		usage_case{{"--pprof"}, "--pprof needs a value; --help shows the options"},
		usage_case{
			{"--flame=a.svg", "entry"},
			"--flame is for the whole process; it takes no regular expression \"entry\""},
		usage_case{{"entry", "pblock"},
			   "one regular expression is enough; \"pblock\" is one too many"},
		usage_case{{"-Q"}, "there is no option -Q; --help shows the options"},
		usage_case{{"--json", "-QT"}, "there is no option -Q; --help shows the options"},
		usage_case{{"-:"}, "there is no option -:; --help shows the options"},
		usage_case{
			{"--frobnicate"},
			"there is no option --frobnicate, or more than one that begins so; --help shows the options"},
		usage_case{{"--slabs=1"}, "--slabs takes no value; --help shows the options"},
		usage_case{{"--trim=1"}, "--trim takes no value; --help shows the options"},
		usage_case{{"-p"}, "-p needs a value; --help shows the options"},
		usage_case{{"--pid"}, "--pid needs a value; --help shows the options"},
		usage_case{{"-p", "x"},
			   "\"x\" is not a process number; --pid takes a number from 1 on"},
		usage_case{{"-p", "0"},
			   "\"0\" is not a process number; --pid takes a number from 1 on"},
		usage_case{{"-p", "1", "--process", "a"},
			   "--pid and --process cannot be combined; give one of them"},
		usage_case{{"-T", "-r"}, "-T and -r cannot be combined; give one of them"},
		usage_case{{"("}, "\"(\" is not a regular expression: Unmatched ( or \\("},
		usage_case{
			{"-dx"},
			"'x' is not a debug flag; -d takes f z p u t, a for f z p u, A for fault injection, and nothing for off"},
		usage_case{
			{"--debug=f,z"},
			"',' is not a debug flag; -d takes f z p u t, a for f z p u, A for fault injection, and nothing for off"},
		usage_case{{"-da", "-T"}, "-d and -T cannot be combined; give one of them"},
		usage_case{{"-da", "-v"}, "-d and -v cannot be combined; give one of them"},
		usage_case{{"-v", "--json"}, "-v and --json cannot be combined; give one of them"},
		usage_case{
			{"-d", "a", "entry"},
			"one regular expression is enough; \"entry\" is one too many; flags follow -d without a blank: -da"},
		usage_case{{"-N", "x"},
			   "\"x\" is not a number of lines; -N takes a number from 1 on"},
		usage_case{
			{"--sample=x"},
			"\"x\" is not a number of allocations; --sample takes one from 1 on, and 0 for off"},
		usage_case{
			{"--sample=-1"},
			"\"-1\" is not a number of allocations; --sample takes one from 1 on, and 0 for off"},
		usage_case{{"--sample"}, "--sample needs a value; --help shows the options"},
		usage_case{{"--fail"}, "--fail needs a value; --help shows the options"},
		usage_case{
			{"--fail=-", "entry"},
			"--fail is for the whole process; it takes no regular expression \"entry\""},
		usage_case{
			{"--mark", "entry"},
			"--mark is for the whole process; it takes no regular expression \"entry\""},
		usage_case{
			{"--since-mark=x"},
			"\"x\" is not a mark; --since-mark takes the number that --mark printed, or nothing for the last one"},
		usage_case{{"--mark", "--since-mark"},
			   "--mark and --since-mark cannot be combined; give one of them"}));

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
	std::istringstream words(
		"-A --activity|-B --bytes|-d --debug[=FLAGS]|"
		"-D --display-activity|-e --empty|-h --help|"
		"-i --inverted|-l --slabs|-L --loss|-n --numa|-N --lines=K|"
		"-p --pid=PID|-P --partial|-r --report|-s --shrink|-S --size|"
		"-t --tracking|-T --totals|-U --unreclaim|-v --validate|-X --xtotals|"
		"-z --zero|--process=NAME|--list|--memory|--core=FILE|"
		"--exe=FILE|--copy=N|--json|--openmetrics|--set=CACHE.ATTRIBUTE=VALUE|--reset|"
		"--trim|--sample=N|--fail=SPEC|--mark|--since-mark[=MARK]|"
		"--top[=SECONDS]|--map=SVG|--waste|--profile=peak|lifetimes|--profile=BYTES|"
		"--pprof=FILE|--flame=SVG|"
		"--record=FILE|--interval=SECONDS|--plot=SVG FILE...|--diff A B|"
		"--version|");

	for (std::string word; std::getline(words, word, '|');)
		EXPECT_TRUE(contains(help, word)) << word;
}

/* The options that the kernel's tool accepts, and those that its help has. */
TEST(HelpTest, TheKernelsLongNamesAreRead)
{
	runtime_dir dir;

	for (const char *name :
	     {"--activity",   "--Bytes",    "--display-active", "--display-activity",
	      "--empty",      "--inverted", "--slabs",          "--Loss",
	      "--numa",       "--lines=3",  "--partial",        "--report",
	      "--shrink",     "--Size",     "--tracking",       "--Totals",
	      "--Unreclaim",  "--validate", "--Xtotals",        "--zero",
	      "--debug=fzput"})
		EXPECT_EQ(slabinfo({name}).err, "slabinfo: no process has slab caches\n") << name;
}

} /* namespace */
