/* SPDX-License-Identifier: MIT */
/*
 * The views of slabinfo, letter by letter: a process that always answers the same
 * (golden/stats.json), and what each option prints then (golden/NAME.txt). With
 * GOLDEN_WRITE set in the environment the files are written instead of compared.
 */
#include "server.h"

using namespace slab_test;

namespace
{

std::string file_text(const std::string &path)
{
	std::ifstream file(path);
	std::stringstream text;

	text << file.rdbuf();
	EXPECT_TRUE(file.good()) << path;
	return text.str();
}

std::string golden_path(const std::string &name)
{
	return std::string(GOLDEN) + "/" + name;
}

void expect_golden(const std::string &name, const std::string &got)
{
	if (std::getenv("GOLDEN_WRITE")) {
		std::ofstream(golden_path(name)) << got;
		return;
	}
	EXPECT_EQ(got, file_text(golden_path(name))) << name;
}

/* One line, as the control protocol wants it. */
std::string in_one_line(std::string text)
{
	for (char &byte : text)
		byte = byte == '\n' ? ' ' : byte;
	return text + "\n";
}

/* A process that answers each kind of request with one text, and notes all. */
class scripted_process
{
public:
	scripted_process(const runtime_dir &dir, const std::string &stats) : stats_(stats)
	{
		int ready[2], said[2];
		char byte;

		mkdir((dir.path() + "/slab").c_str(), 0700);
		EXPECT_EQ(pipe2(ready, O_CLOEXEC) | pipe2(said, O_CLOEXEC | O_NONBLOCK), 0);
		said_ = said[0];
		pid_ = fork();
		if (pid_ == 0)
			serve(dir, ready[1], said[1]);
		close(said[1]);
		EXPECT_EQ(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		close(ready[1]);
	}

	~scripted_process()
	{
		kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
		close(said_);
	}

	scripted_process(const scripted_process &) = delete;
	scripted_process &operator=(const scripted_process &) = delete;

	pid_t pid() const
	{
		return pid_;
	}

	/* What it was asked since the last call, but "stats". */
	std::vector<std::string> requests()
	{
		std::vector<std::string> asked;

		for (const std::string &line : lines_of(read_all(said_)))
			if (line != "slab/2 stats")
				asked.push_back(line);
		return asked;
	}

private:
	std::string answer_to(const std::string &request) const
	{
		static const std::vector<std::pair<std::string, std::string>> answers = {
			{"shrink", "\"slabs\":3"},
			{"validate", "\"problems\":0"},
			{"debug", "\"before\":\"-\",\"after\":\"F\",\"legacy\":[]"},
			{"sample", "\"before\":0,\"after\":5"},
			{"traces", "\"tracked\":true,\"now\":1000,\"sites\":[]"},
		};

		for (const auto &[word, members] : answers)
			if (contains(request, "slab/2 " + word))
				return "{\"slab\":2,\"ok\":true," + members + "}\n";
		return stats_;
	}

	[[noreturn]] void serve(const runtime_dir &dir, int ready, int said) const
	{
		struct sockaddr_un address = {};
		const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		alarm(child_seconds);
		address.sun_family = AF_UNIX;
		std::strncpy(address.sun_path, dir.socket(getpid()).c_str(),
			     sizeof(address.sun_path) - 1);
		if (bind(listener, reinterpret_cast<struct sockaddr *>(&address),
			 sizeof(address)) ||
		    listen(listener, 8) || write(ready, "", 1) != 1)
			_exit(1);
		for (;;) {
			const int fd = accept(listener, nullptr, nullptr);
			char request[200];
			const ssize_t n = recv(fd, request, sizeof(request), 0);

			if (n > 0 && write(said, request, static_cast<std::size_t>(n)) == n) {
				const std::string answer = answer_to(
					std::string(request, static_cast<std::size_t>(n)));

				send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
			}
			close(fd);
		}
	}

	std::string stats_;
	pid_t pid_ = -1;
	int said_ = -1;
};

class ViewsTest : public testing::Test
{
protected:
	/* What it prints; that it succeeds without a word on stderr. */
	static std::string output_of(const std::vector<std::string> &words)
	{
		const result got = slabinfo(words);

		EXPECT_EQ(got.status, 0) << got.err;
		EXPECT_EQ(got.err, "");
		return got.out;
	}

	/* The names in the first column, without the header, and what is below the table. */
	static std::vector<std::string> names_in(const std::vector<std::string> &words)
	{
		std::vector<std::string> names;

		for (const std::string &line : table_of(output_of(words)))
			names.push_back(words_of(line).at(0));
		if (!names.empty())
			names.erase(names.begin());
		return names;
	}

	using names = std::vector<std::string>;

	runtime_dir dir;
	scripted_process process{dir, in_one_line(file_text(golden_path("stats.json")))};
};

/* --- each view, as it is -------------------------------------------------------------- */

struct golden_case {
	const char *file;
	std::vector<std::string> words;
};

class GoldenTest : public ViewsTest, public testing::WithParamInterface<golden_case>
{
};

TEST_P(GoldenTest, PrintsWhatItAlwaysPrinted)
{
	expect_golden(std::string(GetParam().file) + ".txt", output_of(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
	Views, GoldenTest,
	testing::Values(golden_case{"table", {}}, golden_case{"table_zero", {"-z"}},
			golden_case{"table_empty", {"-e"}}, golden_case{"table_bytes", {"-B"}},
			golden_case{"table_loss", {"-L"}},
			golden_case{"table_loss_bytes", {"-L", "-B"}},
			golden_case{"table_first_alias", {"-f"}}, golden_case{"activity", {"-D"}},
			golden_case{"activity_sorted", {"-A", "-D"}},
			golden_case{"activity_bytes", {"-D", "-B", "-S"}},
			golden_case{"totals", {"-T"}}, golden_case{"totals_bytes", {"-T", "-B"}},
			golden_case{"totals_some", {"-T", "entry|pblock"}},
			golden_case{"extended_totals", {"-X"}},
			golden_case{"extended_totals_three", {"-X", "-N3"}},
			golden_case{"aliases", {"-a"}}, golden_case{"aliases_single", {"-a", "-1"}},
			golden_case{"aliases_inverted", {"-a", "-i"}},
			golden_case{"aliases_inverted_single", {"-ai1"}},
			golden_case{"numa", {"-n"}}, golden_case{"numa_bytes", {"-n", "-B"}},
			golden_case{"ops", {"-o"}}, golden_case{"report", {"-r"}},
			golden_case{"report_bytes", {"-r", "-B", "entry"}},
			golden_case{"help", {"--help"}}),
	[](const testing::TestParamInfo<golden_case> &info) {
		return std::string(info.param.file);
	});

/* --- the same for programs ------------------------------------------------------------- */

TEST_F(ViewsTest, JsonIsTheAnswerInTheToolsOrder)
{
	json document(json_tokener_parse(output_of({"--json"}).c_str()));
	struct json_object *caches = member(document.get(), "caches");

	ASSERT_EQ(json_object_array_length(caches), 7U);
	EXPECT_EQ(text(json_object_array_get_idx(caches, 0), "name"), "attribute");
	EXPECT_EQ(text(json_object_array_get_idx(caches, 6), "name"), "tracked");
	json answer(json_tokener_parse(file_text(golden_path("stats.json")).c_str()));

	EXPECT_EQ(json_object_equal(find_cache(document.get(), "entry"),
				    find_cache(answer.get(), "entry")),
		  1);
	EXPECT_EQ(json_object_equal(member(document.get(), "process"),
				    member(answer.get(), "process")),
		  1);
}

TEST_F(ViewsTest, JsonOfAViewHasTheCachesOfTheView)
{
	const std::vector<std::pair<std::vector<std::string>, std::size_t>> cases = {
		{{"--json", "-l"}, 6},       {{"--json", "-l", "-z"}, 7},
		{{"--json", "-e"}, 1},       {{"--json", "-r", "entry|pblock"}, 2},
		{{"--json", "-n"}, 6},       {{"--json", "-o"}, 7},
		{{"--json", "-a"}, 7},       {{"--json", "-S", "-N2"}, 2},
		{{"--json", "-T"}, 7},       {{"--json", "-U"}, 6},
		{{"--json", "^connect"}, 1}, {{"--json", "-X", "-N2"}, 7},
	};

	for (const auto &[words, count] : cases) {
		json document(json_tokener_parse(output_of(words).c_str()));

		EXPECT_EQ(json_object_array_length(member(document.get(), "caches")), count)
			<< testing::PrintToString(words);
	}
}

TEST_F(ViewsTest, JsonOfTotalsHasTheSums)
{
	json document(json_tokener_parse(output_of({"--json", "-T"}).c_str()));
	struct json_object *totals = member(document.get(), "totals");
	struct json_object *per_cache = member(totals, "per_cache");

	EXPECT_EQ(number(totals, "caches"), 7U);
	EXPECT_EQ(number(totals, "active"), 6U);
	EXPECT_EQ(number(totals, "aliases"), 3U);
	EXPECT_EQ(number(totals, "aliased"), 2U);
	EXPECT_EQ(number(member(per_cache, "objects"), "total"), 8112100U);
	EXPECT_EQ(number(member(per_cache, "objects"), "max"), 8100000U);
	EXPECT_EQ(number(member(member(totals, "per_object"), "user_bytes"), "min"), 32U);
	EXPECT_FALSE(json_object_object_get_ex(document.get(), "by_size", nullptr));
}

TEST_F(ViewsTest, JsonOfExtendedTotalsNamesTheFirst)
{
	json document(json_tokener_parse(output_of({"--json", "-X", "-N2"}).c_str()));
	struct json_object *by_size = member(document.get(), "by_size");

	ASSERT_EQ(json_object_array_length(by_size), 2U);
	EXPECT_STREQ(json_object_get_string(json_object_array_get_idx(by_size, 0)), "attribute");
	EXPECT_STREQ(json_object_get_string(json_object_array_get_idx(by_size, 1)), "entry");
	document.reset(json_tokener_parse(output_of({"--json", "-X"}).c_str()));
	EXPECT_EQ(json_object_array_length(member(document.get(), "by_loss")), 1U);
	EXPECT_EQ(json_object_array_length(member(document.get(), "by_partial")), 1U);
}

TEST_F(ViewsTest, JsonListsProcesses)
{
	json document(json_tokener_parse(output_of({"--list", "--json"}).c_str()));
	struct json_object *processes = member(document.get(), "processes");

	ASSERT_EQ(json_object_array_length(processes), 1U);
	EXPECT_EQ(number(json_object_array_get_idx(processes, 0), "pid"),
		  static_cast<std::uint64_t>(process.pid()));
}

/* --- what the process has ---------------------------------------------------------------- */

TEST_F(ViewsTest, BelowTheTableStandsWhereTheMemoryWent)
{
	EXPECT_EQ(lines_of(output_of({"-B"})).back(),
		  "Memory 291561472: slabs 270000128, free slabs 131072, large 20971520, "
		  "heads+stacks+links 327680, slots 131072");
	EXPECT_EQ(lines_of(output_of({"-l"})).back(), lines_of(output_of({"-L", "-N1"})).back());
}

TEST_F(ViewsTest, ChosenCachesAndOtherColumnsHaveNoSuchLine)
{
	EXPECT_FALSE(contains(output_of({"entry|pblock"}), "Memory"));
	EXPECT_FALSE(contains(output_of({"-D"}), "Memory"));
}

TEST_F(ViewsTest, AReportHasNoRowsOfNothing)
{
	const testing::Matcher<const std::string &> without_figures =
		testing::MatchesRegex("[A-Za-z ]+( +-)+");

	for (const std::string &line : lines_of(output_of({"-r"})))
		EXPECT_FALSE(without_figures.Matches(line)) << line;
}

/* --- orders ---------------------------------------------------------------------------- */

TEST_F(ViewsTest, NamesAreOrderedWithoutRegardToCase)
{
	EXPECT_EQ(names_in({"-l"}),
		  (names{"attribute", "backend", "cache", "entry", "Pblock", "tracked"}));
	EXPECT_EQ(names_in({"-i"}),
		  (names{"tracked", "Pblock", "entry", "cache", "backend", "attribute"}));
}

TEST_F(ViewsTest, OrdersPutTheMostFirst)
{
	EXPECT_EQ(names_in({"-S"}),
		  (names{"attribute", "entry", "cache", "backend", "Pblock", "tracked"}));
	EXPECT_EQ(names_in({"-L"}),
		  (names{"cache", "attribute", "entry", "tracked", "Pblock", "backend"}));
	EXPECT_EQ(names_in({"-P"}),
		  (names{"attribute", "entry", "cache", "backend", "Pblock", "tracked"}));
	EXPECT_EQ(names_in({"-A"}),
		  (names{"attribute", "entry", "Pblock", "tracked", "backend", "cache"}));
	EXPECT_EQ(names_in({"--Size"}), names_in({"--size"}));
}

TEST_F(ViewsTest, AnOrderCanBeInvertedAndCut)
{
	EXPECT_EQ(names_in({"-S", "-i", "-N", "2"}), (names{"tracked", "Pblock"}));
	EXPECT_EQ(names_in({"-P", "--lines=1"}), (names{"attribute"}));
	EXPECT_EQ(names_in({"-N100"}).size(), 6U);
}

TEST_F(ViewsTest, LinesAreCountedAfterEmptyCachesAreLeftOut)
{
	EXPECT_EQ(names_in({"-S", "-i", "-N1"}), (names{"tracked"}));
	EXPECT_EQ(names_in({"-S", "-i", "-N1", "-z"}), (names{"idle"}));
}

/* --- what is chosen ---------------------------------------------------------------------- */

TEST_F(ViewsTest, ReclaimableCachesCanBeLeftOut)
{
	EXPECT_EQ(names_in({"-U"}), (names{"attribute", "backend", "entry", "Pblock", "tracked"}));
	EXPECT_TRUE(contains(output_of({"-T", "--Unreclaim"}), "Slabcaches :               6 "));
}

TEST_F(ViewsTest, APatternMatchesAnyNameOfACache)
{
	EXPECT_EQ(names_in({"-l", "BERVAL"}), (names{"backend"}));
	EXPECT_EQ(names_in({"-l", "^(value|entry)$"}), (names{"attribute", "entry"}));
	EXPECT_EQ(lines_of(output_of({"-a", "connection"})).size(), 1U);
	EXPECT_EQ(output_of({"-a", "entry"}), "No aliases\n");
}

TEST_F(ViewsTest, OneMatchIsReportedUnlessTheTableIsAskedFor)
{
	EXPECT_EQ(output_of({"entry"}), output_of({"-r", "^entry$"}));
	EXPECT_EQ(output_of({"ENTR"}), output_of({"-r", "entry"}));
	EXPECT_EQ(names_in({"-l", "entry"}), (names{"entry"}));
	EXPECT_EQ(names_in({"-D", "entry"}), (names{"entry"}));
	EXPECT_EQ(names_in({"-e", "entry"}), names());
	EXPECT_EQ(names_in({"-e", "idle"}), (names{"idle"}));
}

TEST_F(ViewsTest, TheFirstAliasIsAName)
{
	EXPECT_EQ(names_in({"-f", "-l", "^backend$"}), (names{"connection"}));
	EXPECT_EQ(output_of({"-a", "-f", "backend"}), "connection   <- backend berval\n");
	EXPECT_TRUE(contains(output_of({"-r", "--first-alias", "backend"}),
			     "** Shared with backend berval\n"));
}

TEST_F(ViewsTest, AliasesCanBeCut)
{
	EXPECT_EQ(output_of({"-a", "-N1"}), "attribute    <- Value\n");
	EXPECT_EQ(output_of({"-a", "-i", "-N2"}),
		  "berval          -> backend\nconnection      -> backend\n");
}

TEST_F(ViewsTest, TrackedCachesHaveTheirCallSitesInTheReport)
{
	const std::string report = output_of({"-r", "tracked"});

	EXPECT_TRUE(contains(report, "tracked: allocated objects by call site")) << report;
	EXPECT_FALSE(contains(output_of({"-r", "entry"}), "call site"));
}

/* --- actions follow the same choice ------------------------------------------------------- */

TEST_F(ViewsTest, ActionsAreForTheCachesThatAreChosen)
{
	const std::vector<std::pair<names, names>> cases = {
		{{"-s", "-S", "-N2"}, {"slab/2 shrink attribute", "slab/2 shrink entry"}},
		{{"-v", "entry|pblock"}, {"slab/2 validate entry", "slab/2 validate Pblock"}},
		{{"-df", "-L", "-N1"}, {"slab/2 debug F cache of pages"}},
		{{"-s", "-e"}, {"slab/2 shrink idle"}},
		{{"--sample=5", "-U", "-i", "-N1"}, {"slab/2 sample 5 tracked"}},
	};

	for (const auto &[words, requests] : cases) {
		output_of(words);
		EXPECT_EQ(process.requests(), requests) << testing::PrintToString(words);
	}
	output_of({"-v"});
	EXPECT_EQ(process.requests().size(), 7U);
}

TEST(ViewsOfOthersTest, AProcessThatIsOnlyReadSaysSoOnce)
{
	runtime_dir dir;
	server process;
	const std::string pid = std::to_string(process.pid());

	for (const char *action : {"-s", "-v", "-d", "--sample=1", "--mark", "--reset", "--trim"}) {
		const result got = slabinfo({"--memory", "-p", pid, action});

		EXPECT_EQ(got.status, 2) << action;
		EXPECT_EQ(got.out, "") << action;
		EXPECT_EQ(got.err, "slabinfo: process " + pid +
					   " (control_server) is read from its memory; it cannot "
					   "be changed that way\n")
			<< action;
	}
}

/* --- one node, none, and nothing ------------------------------------------------------------ */

TEST(ViewsOfOthersTest, OneNodeHasNoColumns)
{
	runtime_dir dir;
	scripted_process process(dir, "{\"slab\":2,\"ok\":true,\"process\":{\"nodes\":1},"
				      "\"caches\":[{\"name\":\"a\",\"slabs\":1,"
				      "\"nodes\":[{\"slabs\":1}]}]}\n");

	EXPECT_EQ(slabinfo({"-n"}).out, "No NUMA information available.\n");
	EXPECT_FALSE(contains(slabinfo({"-r"}).out, "NUMA"));
}

/* Slabs are put on lists by more than frees. */
TEST(ViewsOfOthersTest, WhatIsMoreThanAllHasNoPercentage)
{
	runtime_dir dir;
	scripted_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\","
				      "\"counted\":1000,\"counted_us\":5000,\"events\":{"
				      "\"free_slowpath\":4,\"free_add_partial\":9,"
				      "\"free_slab\":1}}]}\n");
	const std::string report = slabinfo({"-r"}).out;

	EXPECT_TRUE(contains(report, "\nAdd partial                 -        9   -   -\n"))
		<< report;
	EXPECT_TRUE(contains(report, "\nPage Alloc                  0        1   0  25\n"))
		<< report;
	EXPECT_TRUE(contains(report, "(1000 counted in 5.0 ms)\n")) << report;
}

TEST(ViewsOfOthersTest, NumbersOfCountersStandBelowEachOtherBehindTheLongestName)
{
	runtime_dir dir;
	scripted_process process(
		dir,
		"{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\",\"counters\":["
		"{\"name\":\"a_name_of_thirty_one_characters\",\"kind\":\"events\",\"value\":7},"
		"{\"name\":\"short\",\"kind\":\"gauge\",\"value\":123}]}]}\n");
	const std::string report = slabinfo({"-r"}).out;

	EXPECT_TRUE(contains(report, "\na_name_of_thirty_one_characters            7\n"
				     "short                                    123\n"))
		<< report;
}

TEST(ViewsOfOthersTest, MemoryThatComesBackIsReported)
{
	runtime_dir dir;
	scripted_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\","
				      "\"rcu_pending\":12,\"rcu_freed\":4000,\"rcu_helped\":3,"
				      "\"limit_hits\":7,\"reserve\":8,\"reserve_left\":6,"
				      "\"reclaims\":2,\"reclaimed\":300,\"moved\":90}]}\n");

	EXPECT_TRUE(contains(slabinfo({"-r"}).out,
			     "\nMemory\n"
			     "--------------------------------------------------\n"
			     "Grace periods        4000 objects have waited for one, 12 wait\n"
			     "Held up                 3 frees, because too much waited\n"
			     "Limit                   7 allocations failed because of a limit\n"
			     "Reserve                 8 objects, of which 6 are there\n"
			     "Reclaim               300 objects given up, in 2 calls\n"
			     "Moved                  90 objects to denser slabs\n"));
}

TEST(ViewsOfOthersTest, CachesWithoutSuchMemoryAreSilentAboutIt)
{
	runtime_dir dir;
	scripted_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\"}]}\n");

	EXPECT_FALSE(contains(slabinfo({"-r"}).out, "\nMemory\n----"));
}

TEST(ViewsOfOthersTest, NumbersThatAnOlderLibraryDoesNotSendAreZero)
{
	runtime_dir dir;
	scripted_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\"}]}\n");

	EXPECT_EQ(slabinfo({"-X"}).status, 0);
	EXPECT_EQ(
		lines_of(slabinfo({"-D", "-z"}).out).at(1),
		"a                            0          0          0   -   -     - 0    -    -     "
		"   -");
	EXPECT_TRUE(contains(slabinfo({"-r"}).out, "Limit: Off\n"));
	EXPECT_FALSE(contains(slabinfo({"-r"}).out, "in a second"));
}

TEST(ViewsOfOthersTest, NoCachesAreNoError)
{
	runtime_dir dir;
	scripted_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[]}\n");

	for (const char *view : {"-l", "-T", "-X", "-a", "-n", "-o", "-r", "-D", "--json"}) {
		const result got = slabinfo({view});

		EXPECT_EQ(got.status, 0) << view;
		EXPECT_EQ(got.err, "") << view;
	}
	EXPECT_EQ(slabinfo({"-T"}).out, "No objects\n");
}

/* --- usage ----------------------------------------------------------------------------------- */

struct usage_case {
	std::vector<std::string> words;
	std::string said;
};

class UsageTest : public testing::TestWithParam<usage_case>
{
};

/* There is no process: what is wrong with the words is said before one is looked for. */
TEST_P(UsageTest, IsOneSentence)
{
	runtime_dir dir;
	const result got = slabinfo(GetParam().words);

	EXPECT_EQ(got.status, 2);
	EXPECT_EQ(got.out, "");
	EXPECT_EQ(got.err, "slabinfo: " + GetParam().said + "\n");
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
		usage_case{{"entry", "pblock"},
			   "one regular expression is enough; \"pblock\" is one too many"}));

TEST(CoreUsageTest, NothingThatChangesOrRepeatsGoesWithACoreFile)
{
	runtime_dir dir;
	const std::vector<std::vector<std::string>> cases = {
		{"-s"},
		{"-v"},
		{"-d"},
		{"-dz"},
		{"--set=a.b=1"},
		{"--reset"},
		{"--trim"},
		{"--mark"},
		{"--sample=1"},
		{"--fail=-"},
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
				 "--record=FILE",
				 "--interval=SECONDS",
				 "--plot=SVG FILE...",
				 "--diff A B",
				 "--version"})
		EXPECT_TRUE(contains(help, word)) << word;
}

/* What the kernel's tool reads and what it says that it reads. */
TEST(HelpTest, TheKernelsLongNamesAreRead)
{
	runtime_dir dir;

	for (const char *name :
	     {"--aliases",  "--activity",    "--Bytes",    "--display-active", "--display-activity",
	      "--empty",    "--first-alias", "--inverted", "--slabs",          "--Loss",
	      "--numa",     "--lines=3",     "--ops",      "--partial",        "--report",
	      "--shrink",   "--Size",        "--tracking", "--Totals",         "--Unreclaim",
	      "--validate", "--Xtotals",     "--zero",     "--1ref",           "--debug=fzput"})
		EXPECT_EQ(slabinfo({name}).err, "slabinfo: no process exports caches\n") << name;
}

} /* namespace */
