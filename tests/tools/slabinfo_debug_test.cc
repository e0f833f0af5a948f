/* SPDX-License-Identifier: MIT */
/*
 * slabinfo's options for debugging, on live servers: debug flags under load, who
 * allocated what, leaks since a mark, sampling, fault injection.
 */
#include "server.h"

using namespace slab_test;

namespace
{

class SlabinfoDebugTest : public testing::Test
{
protected:
	runtime_dir dir;
};

bool ends_with(const std::string &text, const std::string &end)
{
	return text.size() >= end.size() &&
	       text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/* The first line that has these words in it. */
std::string line_with(const std::string &text, const std::string &words)
{
	for (const std::string &line : lines_of(text))
		if (contains(line, words))
			return line;
	return "";
}

/* --- debug flags --------------------------------------------------------------------- */

TEST_F(SlabinfoDebugTest, DebugSetsExactlyTheseDebugFlags)
{
	server process;
	const result on = slabinfo({"-da", "entry"});
	const result other = slabinfo({"--debug=zT", "entry"});
	const result off = slabinfo({"-d", "entry"});

	EXPECT_EQ(on.status, 0) << on.err;
	EXPECT_TRUE(contains(on.out, "entry                 debug flags: none -> FZPU; "))
		<< on.out;
	EXPECT_TRUE(ends_with(on.out,
			      " older slabs keep the old layout until their objects are freed\n"
			      "1 cache changed, 0 had debug flags FZPU already\n"))
		<< on.out;
	EXPECT_TRUE(contains(other.out, "entry                 debug flags: FZPU -> ZT; "))
		<< other.out;
	EXPECT_TRUE(contains(off.out, "entry                 debug flags: ZT -> none")) << off.out;
	EXPECT_EQ(off.status, 0);
}

TEST_F(SlabinfoDebugTest, EveryDebugFlagHasItsMeaning)
{
	const std::pair<const char *, const char *> cases[] = {
		{"-df", "F"},      {"-dF", "F"},         {"-dz", "Z"},       {"-dp", "P"},
		{"-du", "U"},      {"-dt", "T"},         {"-dA", "A"},       {"-da", "FZPU"},
		{"-dta", "FZPUT"}, {"-dfzput", "FZPUT"}, {"-daaA", "FZPUA"},
	};
	server process;

	for (const auto &[option, debug_flags] : cases) {
		slabinfo({"-d", "entry"});
		EXPECT_EQ(words_of(line_with(slabinfo({option, "entry"}).out, "->"))[5].substr(
				  0, std::strlen(debug_flags)),
			  debug_flags)
			<< option;
		EXPECT_TRUE(contains(slabinfo({"--json", "entry"}).out,
				     "\"debug_flags\": \"" + std::string(debug_flags) + "\""))
			<< option;
	}
}

TEST_F(SlabinfoDebugTest, WithoutARegexpAllCachesAreChangedAndCounted)
{
	server process;
	const result on = slabinfo({"-dz"});

	EXPECT_TRUE(ends_with(on.out, "4 caches changed, 0 had debug flags Z already\n")) << on.out;
	EXPECT_EQ(slabinfo({"-dz"}).out, "0 caches changed, 4 had debug flags Z already\n");
	EXPECT_EQ(row_of(slabinfo().out, "pblock").back(), "AZ");
	EXPECT_TRUE(ends_with(slabinfo({"-d"}).out,
			      "4 caches changed, 0 had no debug flags already\n"));
	EXPECT_EQ(row_of(slabinfo().out, "pblock").back(), "A");
}

/* "-d u" switches debug flags off, of the caches with a u in their names. */
TEST_F(SlabinfoDebugTest, DebugFlagsBehindABlankAreRefused)
{
	server process;

	slabinfo({"-dz", "entry"});
	for (const char *debug_flags : {"f", "t", "FZP", "za"}) {
		const result got = slabinfo({"-d", debug_flags});

		EXPECT_EQ(got.status, 2) << debug_flags;
		EXPECT_EQ(got.out, "");
		EXPECT_EQ(got.err, std::string("slabinfo: no cache is called \"") + debug_flags +
					   "\"; flags follow -d without a blank: -d" + debug_flags +
					   "\n");
	}
	EXPECT_EQ(row_of(slabinfo().out, "entry").back(), "Z");
	EXPECT_EQ(slabinfo({"-du", "t"}).status, 0) << "a cache has a t in its name";
}

TEST_F(SlabinfoDebugTest, ACacheMayBeCalledAsALetterIs)
{
	with_impostor(dir,
		      "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"u\"},{\"name\":\"v\","
		      "\"aliases\":[\"z\"]}],\"before\":\"U\",\"after\":\"-\",\"legacy\":[]}\n",
		      [](pid_t) {
			      EXPECT_EQ(slabinfo({"-d", "u"}).status, 0);
			      EXPECT_EQ(slabinfo({"-d", "z"}).status, 0);
			      EXPECT_EQ(slabinfo({"-d", "t"}).status, 2);
		      });
}

TEST_F(SlabinfoDebugTest, NumbersBehindABlankAreHintedAt)
{
	server process;

	EXPECT_TRUE(contains(slabinfo({"--since-mark", "4711"}).err,
			     "matches \"4711\"; a mark follows with an equals sign: "
			     "--since-mark=4711\n"));
	EXPECT_TRUE(contains(slabinfo({"--top", "2.5"}).err,
			     "matches \"2.5\"; seconds follow --top with an equals sign: "
			     "--top=2.5\n"));
}

/* Numbers are those of the slabs that the debug flags make. */
TEST_F(SlabinfoDebugTest, SizesAreThoseOfTheLayoutWithDebugFlags)
{
	server process;
	const std::string path = dir.socket(process.pid());
	const json before = query_json(path, "stats");

	EXPECT_EQ(number(find_cache(before.get(), "entry"), "slab_size"), 712U);
	slabinfo({"-da", "entry"});
	process.do_task('l');
	const json after = query_json(path, "stats");
	const json slabs = query_json(path, "slabs entry");
	struct json_object *cache = find_cache(after.get(), "entry");
	const std::uint64_t size = number(cache, "slab_size"),
			    objects = number(cache, "objects_per_slab"),
			    bytes = UINT64_C(4096) << number(cache, "order");
	unsigned seen = 0;

	EXPECT_EQ(number(cache, "object_size"), 712U);
	EXPECT_EQ(size, 728U) << "8 bytes of red zone on each side";
	EXPECT_EQ(objects, bytes / size);
	EXPECT_EQ(number(slabs.get(), "bytes"), bytes);
	for (std::size_t i = 0; i < json_object_array_length(member(slabs.get(), "slabs")); i++) {
		struct json_object *row =
			json_object_array_get_idx(member(slabs.get(), "slabs"), i);

		if (std::strcmp(json_object_get_string(json_object_array_get_idx(row, 3)),
				"debug") != 0)
			continue;
		EXPECT_EQ(json_object_get_uint64(json_object_array_get_idx(row, 2)), objects);
		seen++;
	}
	EXPECT_GE(seen, 1U);
	const std::string report = slabinfo({"-r", "entry"}).out;

	EXPECT_TRUE(contains(report, "\nSlabObj:     728 ")) << report;
	EXPECT_TRUE(contains(report, "\nLoss   :      16 ")) << report;
	EXPECT_EQ(row_of(slabinfo({"-l"}).out, "entry").at(5), std::to_string(objects));
	slabinfo({"-d", "entry"});
	EXPECT_EQ(row_of(slabinfo({"-l"}).out, "entry").at(5), "92");
}

TEST_F(SlabinfoDebugTest, DebugOfNoCacheIsAnExitStatus)
{
	server process;
	const result got = slabinfo({"-da", "nobody"});

	EXPECT_EQ(got.status, 1);
	EXPECT_EQ(got.out, "");
	EXPECT_TRUE(ends_with(got.err, "matches \"nobody\"\n"));
}

/* The server checks that no object is handed out twice, and aborts. */
TEST_F(SlabinfoDebugTest, DebugFlagsChangeUnderLoadAndValidateIsClean)
{
	server process("load");

	for (const char *option : {"-da", "-dz", "-dfu", "-d", "-df", "-da", "-d", "-du", "-da"}) {
		EXPECT_EQ(slabinfo({option, "entry|pblock"}).status, 0) << option;
		usleep(50000);
		const result checked = slabinfo({"-v"});

		EXPECT_EQ(checked.status, 0) << option << checked.out << checked.err;
		EXPECT_TRUE(contains(checked.out, "entry                 no problems found\n"));
	}
	EXPECT_EQ(slabinfo({"-d"}).status, 0);
	EXPECT_EQ(slabinfo({"-v"}).status, 0);
	process.end_input();
	EXPECT_EQ(process.errors(), "");
	EXPECT_EQ(process.wait(), 0);
}

TEST_F(SlabinfoDebugTest, ValidateCountsTheProblems)
{
	server process;

	slabinfo({"-dz", "entry"});
	process.do_task('l');
	process.do_task('o');
	const result found = slabinfo({"-v"});

	EXPECT_EQ(found.status, 1);
	EXPECT_TRUE(contains(found.out, "entry                        1 problem found; the process "
					"has reported it\n"))
		<< found.out;
	EXPECT_TRUE(contains(found.out, "pblock                no problems found\n"));
	EXPECT_EQ(slabinfo({"-v"}).status, 0);
}

TEST_F(SlabinfoDebugTest, ReportShowsDebugFlagsErrorsAndSlabs)
{
	server process;

	EXPECT_TRUE(contains(slabinfo({"entry"}).out, "\nProblems found: 0   Debug slabs: 0   "
						      "Legacy slabs: 0   Sampled: Off\n"));
	slabinfo({"-dzu", "entry"});
	slabinfo({"--sample=500", "entry"});
	process.do_task('l');
	process.do_task('o');
	slabinfo({"-v"});
	const std::string report = slabinfo({"-r", "entry"}).out;
	unsigned errors = 0, slabs = 0, legacy = 0, sample = 0;

	EXPECT_TRUE(contains(report, "Redzoning     :  On"));
	EXPECT_TRUE(contains(report, "Tracking      :  On"));
	EXPECT_TRUE(contains(report, "Poisoning     : Off"));
	ASSERT_EQ(std::sscanf(
			  line_with(report, "Problems").c_str(),
			  "Problems found: %u Debug slabs: %u Legacy slabs: %u Sampled: one in %u",
			  &errors, &slabs, &legacy, &sample),
		  4);
	EXPECT_EQ(errors, 1U);
	EXPECT_GE(slabs, 1U);
	EXPECT_GE(legacy, 1U);
	EXPECT_EQ(sample, 500U);
}

/* --- call sites ------------------------------------------------------------------ */

TEST_F(SlabinfoDebugTest, TrackingNamesWhoAllocatedAndWhoFreed)
{
	server process;
	const std::string pid = std::to_string(process.pid());

	slabinfo({"-du", "entry"});
	process.do_task('l');
	const result allocated = slabinfo({"-t", "entry"});
	const std::string site = line_with(allocated.out, "leak_entries");

	EXPECT_EQ(allocated.status, 0) << allocated.err;
	EXPECT_EQ(lines_of(allocated.out)[0], "entry: allocated objects by call site (100 of 600; "
					      "older ones are not tracked)");
	EXPECT_EQ(site.compare(0, 8 + 15, "    100 leak_entries+0x"), 0) << site;
	EXPECT_TRUE(contains(site, " (control_server.c:")) << site;
	EXPECT_TRUE(contains(site, " age=")) << site;
	EXPECT_TRUE(contains(site, " pid=" + pid + " cpus=")) << site;
	EXPECT_TRUE(contains(site, " nodes=0")) << site;
	EXPECT_FALSE(contains(site, "waste=")) << site;
	EXPECT_TRUE(contains(allocated.out, "\n        ")) << "who called it";
	EXPECT_TRUE(contains(allocated.out, "main+0x"));
	process.do_task('f');
	EXPECT_TRUE(contains(line_with(slabinfo({"--tracking", "entry"}).out, "free_entries"),
			     " (control_server.c:"));
}

TEST_F(SlabinfoDebugTest, TrackingWithoutDataSaysHowToGetSome)
{
	server process;
	const std::string advice = "entry: No data: debug flag U is not set. To set it:\n    "
				   "slabinfo -p " +
				   std::to_string(process.pid());

	EXPECT_EQ(slabinfo({"-t", "entry"}).out, advice + " -du '^entry$'\n\n");
	slabinfo({"-dzf", "entry"});
	/* With the debug flags it has. */
	EXPECT_EQ(slabinfo({"-t", "entry"}).out, advice + " -dfzu '^entry$'\n\n");
	slabinfo({"-du", "entry"});
	EXPECT_EQ(slabinfo({"-t", "entry"}).out, "entry: No data: no allocation since debug "
						 "flag U was set\n\n");
}

TEST_F(SlabinfoDebugTest, LinesLimitsCallSitesAndRows)
{
	server process;

	slabinfo({"-du", "entry"});
	process.do_task('l');
	process.do_task('k');
	const result one = slabinfo({"-t", "-N", "1", "entry"});

	EXPECT_TRUE(contains(one.out, "leak_entries")) << one.out;
	EXPECT_FALSE(contains(one.out, "keep_one")) << one.out;
	EXPECT_TRUE(contains(one.out, "and 1 more call site\n")) << one.out;
	EXPECT_TRUE(contains(slabinfo({"-t", "-N2", "entry"}).out, "keep_one"));
	EXPECT_EQ(table_of(slabinfo({"-l", "--lines=2"}).out).size(), 3U);
}

TEST_F(SlabinfoDebugTest, TrackingAsJsonHasSymbols)
{
	server process;

	slabinfo({"-du", "entry"});
	process.do_task('l');
	const result got = slabinfo({"-t", "--json", "entry"});
	json answers(json_tokener_parse(got.out.c_str()));

	EXPECT_EQ(got.status, 0);
	ASSERT_EQ(json_object_array_length(answers.get()), 2U);
	struct json_object *sites = member(json_object_array_get_idx(answers.get(), 0), "sites");
	struct json_object *stack = member(json_object_array_get_idx(sites, 0), "stack");

	EXPECT_EQ(
		text(json_object_array_get_idx(stack, 0), "symbol").compare(0, 13, "leak_entries+"),
		0);
}

/* What is told to be typed is read by a shell, and then as a regular expression. */
TEST_F(SlabinfoDebugTest, AdviceMeansThisCacheWhateverItsName)
{
	with_impostor(dir,
		      "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"(a.b)|c'*$\"}],"
		      "\"tracked\":false,\"sites\":[]}\n",
		      [](pid_t pid) {
			      const std::string pattern = "'^\\(a\\.b\\)\\|c'\\''\\*\\$$'";

			      EXPECT_TRUE(contains(slabinfo({"-t"}).out,
						   "slabinfo -p " + std::to_string(pid) + " -du " +
							   pattern + "\n"))
				      << slabinfo({"-t"}).out;
			      EXPECT_TRUE(contains(slabinfo({"--set", "(a.b)|c'*$.debug=1"}).err,
						   "slabinfo -dfzpu " + pattern + "\n"));
			      EXPECT_EQ(slabinfo({"-l", "^\\(a\\.b\\)\\|c'\\*\\$$"}).status, 0);
		      });
}

/* --- leaks --------------------------------------------------------------------------- */

TEST_F(SlabinfoDebugTest, ALeakSinceTheMarkIsFoundWithFunctionAndLine)
{
	server process("load");
	const std::string who = std::to_string(process.pid()) + " (control_server)";

	slabinfo({"-du", "entry"});
	const result mark = slabinfo({"--mark"});

	EXPECT_EQ(mark.status, 0) << mark.err;
	EXPECT_TRUE(contains(mark.out, " is set in process " + who + ".\n")) << mark.out;
	EXPECT_TRUE(contains(mark.out, "in the 1 cache with debug flag U.\n")) << mark.out;
	process.do_task('l');
	sleep(2);
	const result leak = slabinfo({"--since-mark"});
	const std::vector<std::string> lines = lines_of(leak.out);

	EXPECT_EQ(leak.status, 0) << leak.err;
	EXPECT_EQ(lines.at(0).compare(0, 8 + who.size(), "Process " + who), 0) << leak.out;
	EXPECT_TRUE(contains(leak.out, "iB allocated since then and not freed: ")) << leak.out;
	EXPECT_TRUE(contains(leak.out, "Objects    Bytes  Objects/min  Bytes/min   Oldest  "
				       "Youngest  Cache\n"));
	for (std::size_t i = 1; i < lines.size(); i++) {
		if (!contains(lines[i], "leak_entries+0x"))
			continue;
		const std::vector<std::string> words = words_of(lines[i - 1]);

		EXPECT_TRUE(contains(lines[i], " (control_server.c:")) << lines[i];
		ASSERT_EQ(words.size(), 7U) << lines[i - 1];
		EXPECT_EQ(words[0], "100");
		EXPECT_EQ(words[1], "69.5KiB");
		EXPECT_GT(std::stod(words[2]), 0);
		EXPECT_GE(std::stod(words[4]), 2) << "seconds since the oldest";
		EXPECT_EQ(words[6], "entry");
		return;
	}
	FAIL() << leak.out;
}

TEST_F(SlabinfoDebugTest, WhatIsFreedAgainIsNoLeak)
{
	server process;

	slabinfo({"-du"});
	slabinfo({"--mark"});
	process.do_task('l');
	process.do_task('f');
	process.do_task('p');
	const result got = slabinfo({"--since-mark"});

	EXPECT_EQ(got.status, 0);
	EXPECT_TRUE(contains(got.out, "Whatever was allocated since then is freed again.\n"))
		<< got.out;
}

TEST_F(SlabinfoDebugTest, LeaksComeWithTheMostObjectsFirst)
{
	server process;

	slabinfo({"-du"});
	slabinfo({"--mark"});
	process.do_task('k');
	process.do_task('l');
	const std::string all = slabinfo({"--since-mark"}).out;
	const std::string one = slabinfo({"--since-mark", "-N1"}).out;

	EXPECT_LT(all.find("leak_entries"), all.find("keep_one"));
	EXPECT_NE(all.find("keep_one"), std::string::npos);
	EXPECT_FALSE(contains(one, "keep_one"));
	EXPECT_TRUE(contains(one, "      1 more of 1 other call site; -N 2 shows all\n")) << one;
}

TEST_F(SlabinfoDebugTest, AMarkMayBeGivenByItsNumber)
{
	server process;

	slabinfo({"-du", "entry"});
	const std::string first = words_of(slabinfo({"--mark"}).out)[1];

	process.do_task('l');
	slabinfo({"--mark"});
	EXPECT_FALSE(contains(slabinfo({"--since-mark"}).out, "leak_entries"));
	EXPECT_TRUE(contains(slabinfo({"--since-mark=" + first}).out, "leak_entries"));
	EXPECT_TRUE(contains(slabinfo({"--since-mark=" + first, "--json"}).out, "leak_entries+0x"));
}

TEST_F(SlabinfoDebugTest, WithoutAMarkOrTrackingThereIsNoLeakReport)
{
	server process;
	const std::string pid = std::to_string(process.pid());
	const result unmarked = slabinfo({"--since-mark"});

	EXPECT_EQ(unmarked.status, 1);
	EXPECT_EQ(unmarked.err, "slabinfo: process " + pid +
					" (control_server) has no mark yet; --mark sets one\n");
	EXPECT_TRUE(contains(slabinfo({"--mark"}).out,
			     "No cache tracks its users yet, so nothing will be known."));
	const result untracked = slabinfo({"--since-mark", "entry"});

	EXPECT_EQ(untracked.status, 1);
	EXPECT_EQ(untracked.err,
		  "slabinfo: no cache that matches \"entry\" tracks its users; slabinfo -p " + pid +
			  " -du REGEXP switches that on, and a mark after that is the first that "
			  "helps\n");
	const result future = slabinfo({"--since-mark=99999999999999"});

	EXPECT_EQ(future.status, 1);
	EXPECT_TRUE(contains(future.err, "slabinfo: 99999999999999 is no mark of process " + pid))
		<< future.err;
}

/* --- sampling and fault injection ------------------------------------------------------ */

TEST_F(SlabinfoDebugTest, SampleSetsTheInterval)
{
	server process;
	const result on = slabinfo({"--sample=1000", "entry|pblock"});

	EXPECT_EQ(on.status, 0);
	EXPECT_EQ(on.out, "entry                 sampling off -> one in 1000\n"
			  "pblock                sampling off -> one in 1000\n");
	EXPECT_EQ(slabinfo({"--sample", "0", "entry"}).out,
		  "entry                 sampling one in 1000 -> off\n");
	EXPECT_TRUE(contains(slabinfo({"--json", "pblock"}).out, "\"sample\": 1000"));
}

TEST_F(SlabinfoDebugTest, FailMakesAllocationsFail)
{
	server process;
	const std::string who = std::to_string(process.pid()) + " (control_server)";
	const result on = slabinfo({"--fail=cache=entry,interval=2"});

	EXPECT_EQ(on.status, 0);
	EXPECT_EQ(on.out, "Allocations fail in process " + who +
				  ": cache=entry,interval=2; --fail=- ends that\n");
	EXPECT_EQ(process.do_task('c'), "5 failed");
	EXPECT_EQ(slabinfo({"--fail=-"}).out,
		  "No allocations fail in process " + who + " any more\n");
	EXPECT_EQ(process.do_task('c'), "0 failed");
	const result bad = slabinfo({"--fail=sometimes"});

	EXPECT_EQ(bad.status, 2);
	EXPECT_TRUE(contains(bad.err, "\"sometimes\" says no failures; accepted: ")) << bad.err;
}

TEST_F(SlabinfoDebugTest, ValuesAreOneLine)
{
	server process;

	for (const char *end : {"\n", "\r", "\nfoo", "\r\n"}) {
		const result fail = slabinfo({"--fail", std::string("interval=1") + end});
		const result set =
			slabinfo({"--set", std::string("entry") + end + ".limit=1000000"});

		EXPECT_EQ(fail.status, 2);
		EXPECT_EQ(fail.out, "");
		EXPECT_TRUE(contains(fail.err, "control character")) << fail.err;
		EXPECT_EQ(lines_of(fail.err).size(), 1U);
		EXPECT_NE(set.status, 0);
		EXPECT_EQ(set.out, "");
		EXPECT_EQ(lines_of(set.err).size(), 1U);
		EXPECT_EQ(slabinfo({"--set", std::string("entry.limit=1000000") + end}).status, 2);
	}
	EXPECT_EQ(process.do_task('c'), "0 failed");
}

/* --- what may go wrong ------------------------------------------------------------------ */

TEST_F(SlabinfoDebugTest, BadUsage)
{
	const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
		{{"-dx"},
		 "slabinfo: 'x' is not a debug flag; -d takes f z p u t, a for f z p u, "
		 "A for fault injection, and nothing for off\n"},
		{{"--debug=f,z"}, "slabinfo: ',' is not a debug flag; "},
		{{"-da", "-T"}, "slabinfo: -d and -T cannot be combined; give one of them\n"},
		{{"-da", "-v"}, "slabinfo: -d and -v cannot be combined; give one of them\n"},
		{{"-v", "--json"},
		 "slabinfo: -v and --json cannot be combined; give one of them\n"},
		{{"-d", "a", "entry"},
		 "slabinfo: one regular expression is enough; \"entry\" is one "
		 "too many; flags follow -d without a blank: -da\n"},
		{{"-N", "0"},
		 "slabinfo: \"0\" is not a number of lines; -N takes a number from 1 on\n"},
		{{"-N", "x"}, "slabinfo: \"x\" is not a number of lines"},
		{{"--sample=x"},
		 "slabinfo: \"x\" is not a number of allocations; --sample takes one "
		 "from 1 on, and 0 for off\n"},
		{{"--sample=-1"}, "slabinfo: \"-1\" is not a number of allocations"},
		{{"--sample"}, "slabinfo: --sample needs a value; --help shows the options\n"},
		{{"--fail"}, "slabinfo: --fail needs a value; --help shows the options\n"},
		{{"--fail=-", "entry"},
		 "slabinfo: --fail is for the whole process; it takes no "
		 "regular expression \"entry\"\n"},
		{{"--mark", "entry"},
		 "slabinfo: --mark is for the whole process; it takes no regular "
		 "expression \"entry\"\n"},
		{{"--since-mark=x"},
		 "slabinfo: \"x\" is not a mark; --since-mark takes the number "
		 "that --mark printed, or nothing for the last one\n"},
		{{"--mark", "--since-mark"},
		 "slabinfo: --mark and --since-mark cannot be combined"},
	};

	for (const auto &[words, message] : cases) {
		const result got = slabinfo(words);

		EXPECT_EQ(got.status, 2) << message;
		EXPECT_EQ(got.err.compare(0, message.size(), message), 0) << got.err;
		EXPECT_EQ(got.out, "");
	}
}

TEST_F(SlabinfoDebugTest, WasteAndRangesStandAsInTheKernelsTool)
{
	with_impostor(
		dir,
		"{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"slab-32\",\"slabs\":1,"
		"\"object_size\":32,\"objects\":12}],\"tracked\":true,\"sites\":[{\"count\":12,"
		"\"waste\":168,\"age_min\":950,\"age_avg\":12345,\"age_max\":190000000,"
		"\"tid_min\":7,\"tid_max\":9,\"cpus\":\"0,2-3\",\"nodes\":\"0-1\",\"stack\":["
		"{\"address\":4660},{\"address\":4661,\"file\":\"/no/such.so\","
		"\"offset\":255}]}]}\n",
		[](pid_t) {
			const std::vector<std::string> lines = lines_of(slabinfo({"-t"}).out);

			EXPECT_EQ(lines.at(0), "slab-32: allocated objects by call site");
			EXPECT_EQ(lines.at(1),
				  "     12 0x1234 waste=168/14 age=950ms/12.3s/2d04h pid=7-9 "
				  "cpus=0,2-3 nodes=0-1");
			EXPECT_EQ(lines.at(2), "        such.so+0xff");
		});
}

TEST_F(SlabinfoDebugTest, StrangeAnswersDoNoHarm)
{
	const std::vector<std::vector<std::string>> runs = {
		{"-z", "-t"}, {"-z", "-t", "--json"}, {"--since-mark=1"}, {"--mark"},
		{"-da"},      {"--sample=1"},         {"--fail=-"},       {"-r"},
	};

	for (const char *answer :
	     {"{\"ok\":true,\"caches\":[7,{},{\"name\":7,\"flags\":8,\"debug_flags\":{}}]}",
	      "{\"ok\":true,\"process\":{\"now\":9,\"mark\":1},\"caches\":[{\"name\":\"a\","
	      "\"flags\":8}],\"tracked\":true,\"legacy\":[7,{}],\"sites\":[7,{},"
	      "{\"stack\":7,\"waste\":1},{\"count\":1,\"stack\":[7,{},{\"file\":7}]}]}",
	      "{\"ok\":true,\"process\":7,\"caches\":[{\"name\":\"a\",\"flags\":8}],"
	      "\"tracked\":7,\"legacy\":7,\"sites\":{}}"}) {
		with_impostor(dir, answer, [&](pid_t) {
			for (const std::vector<std::string> &words : runs)
				EXPECT_GE(slabinfo(words).status, 0) << words[0] << answer;
		});
	}
}

} /* namespace */
