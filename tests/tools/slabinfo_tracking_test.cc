/* SPDX-License-Identifier: MIT */
/* slabinfo on tracked caches: call sites of allocations and frees, leaks since a mark. */
#include "../support/server.h"

namespace
{

class SlabinfoTrackingTest : public testing::Test
{
protected:
	runtime_dir dir;
};

/* --- call sites ------------------------------------------------------------------ */

TEST_F(SlabinfoTrackingTest, NamesCallSitesOfAllocationsAndFrees)
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
	EXPECT_TRUE(contains(allocated.out, "\n        ")) << "the callers of that";
	EXPECT_TRUE(contains(allocated.out, "main+0x"));
	process.do_task('f');
	EXPECT_TRUE(contains(line_with(slabinfo({"--tracking", "entry"}).out, "free_entries"),
			     " (control_server.c:"));
}

TEST_F(SlabinfoTrackingTest, WithoutDataItShowsHowToGetSome)
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

TEST_F(SlabinfoTrackingTest, LinesLimitsCallSitesAndRows)
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

TEST_F(SlabinfoTrackingTest, JsonHasSymbols)
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

/* A shell reads the command in the advice, and slabinfo a regular expression in it. */
TEST_F(SlabinfoTrackingTest, AdviceMeansThisCacheWhateverItsName)
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

TEST_F(SlabinfoTrackingTest, WasteAndRangesStandAsInTheKernelsTool)
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

/* --- leaks --------------------------------------------------------------------------- */

TEST_F(SlabinfoTrackingTest, ALeakSinceTheMarkIsFoundWithFunctionAndLine)
{
	server process("load");
	const std::string name = std::to_string(process.pid()) + " (control_server)";

	slabinfo({"-du", "entry"});
	const result mark = slabinfo({"--mark"});

	EXPECT_EQ(mark.status, 0) << mark.err;
	EXPECT_TRUE(contains(mark.out, " is set in process " + name + ".\n")) << mark.out;
	EXPECT_TRUE(contains(mark.out, "in the 1 cache with debug flag U.\n")) << mark.out;
	process.do_task('l');
	sleep(2);
	const result leak = slabinfo({"--since-mark"});
	const std::vector<std::string> lines = lines_of(leak.out);

	EXPECT_EQ(leak.status, 0) << leak.err;
	EXPECT_EQ(lines.at(0).compare(0, 8 + name.size(), "Process " + name), 0) << leak.out;
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

TEST_F(SlabinfoTrackingTest, WhatIsFreedAgainIsNoLeak)
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

TEST_F(SlabinfoTrackingTest, LeaksComeWithTheMostObjectsFirst)
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

TEST_F(SlabinfoTrackingTest, AMarkMayBeGivenByItsNumber)
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

TEST_F(SlabinfoTrackingTest, WithoutAMarkOrTrackingThereIsNoLeakReport)
{
	server process;
	const std::string pid = std::to_string(process.pid());

	expect_error({"--since-mark"},
		     "process " + pid + " (control_server) has no mark yet; --mark sets one", 1);
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

/* --- waste ------------------------------------------------------------------------ */

TEST_F(SlabinfoTrackingTest, WasteIsThatOfCachesUntilCallSitesAreKnown)
{
	server process;
	const std::string pid = std::to_string(process.pid());
	const std::string caches = slabinfo({"--waste"}).out;

	EXPECT_EQ(caches.find("Slabs of process " + pid + " (control_server) have "), 0U);
	EXPECT_TRUE(contains(line_with(caches, "entry "), "     500     712 ")) << caches;
	EXPECT_TRUE(contains(caches, " is not recorded; slabinfo -p " + pid + " -du REGEXP"));
	EXPECT_FALSE(contains(caches, "Each  Cache"));
	slabinfo({"-du", "entry"});
	process.do_task('l');
	const std::string sites = slabinfo({"--waste", "^entry$"}).out;

	EXPECT_TRUE(contains(sites, "      100 ")) << sites;
	EXPECT_TRUE(contains(sites, "  entry\n        leak_entries+0x")) << sites;
	EXPECT_FALSE(contains(sites, "pblock")) << sites;
}

TEST_F(SlabinfoTrackingTest, WasteIsDrawnByCallSite)
{
	server process;
	const result nobody = slabinfo({"--waste", "--flame=-"});

	EXPECT_EQ(nobody.status, 1);
	EXPECT_TRUE(contains(nobody.err, "no cache of process ")) << nobody.err;
	slabinfo({"-du", "entry"});
	process.do_task('l');
	const std::string picture = slabinfo({"--waste", "--flame=-"}).out;

	EXPECT_TRUE(contains(picture, "<title>leak_entries: ")) << picture;
	EXPECT_TRUE(contains(picture, "Free memory that objects of process "));
}

TEST_F(SlabinfoTrackingTest, SamplesAreChargedWithTheWasteOfTheirCache)
{
	server process;

	slabinfo({"--profile=1"});
	process.do_task('l');
	const std::string sites = slabinfo({"--waste"}).out;

	EXPECT_TRUE(contains(sites, "  entry, by the heap profile\n        leak_entries+0x"))
		<< sites;
	EXPECT_TRUE(contains(sites, "      100 ")) << "as many as are sampled" << sites;
}

} /* namespace */
