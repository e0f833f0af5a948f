/* SPDX-License-Identifier: MIT */
/*
 * slabinfo's options for debugging, on live servers: debug flags under load, sampling,
 * fault injection. Call sites and leaks: slabinfo_tracking_test.cc.
 */
#include "../support/looks.h"
#include "../support/server.h"

namespace
{

class SlabinfoDebugTest : public testing::Test
{
protected:
	runtime_dir dir;
};

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

TEST_F(SlabinfoDebugTest, ACacheMayBeNamedLikeADebugFlag)
{
	with_impostor(dir,
		      "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"u\"},{\"name\":\"z\"}"
		      "],\"before\":\"U\",\"after\":\"-\",\"legacy_slabs\":0}\n",
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
	const json plain = query_json(path, "stats");

	cache = find_cache(plain.get(), "entry");
	EXPECT_EQ(number(cache, "slab_size"), 712U);
	EXPECT_EQ(row_of(slabinfo({"-l"}).out, "entry").at(5),
		  std::to_string((UINT64_C(4096) << number(cache, "order")) / 712));
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
	const std::string name = std::to_string(process.pid()) + " (control_server)";
	const result on = slabinfo({"--fail=cache=entry,interval=2"});

	EXPECT_EQ(on.status, 0);
	EXPECT_EQ(on.out, "Allocations fail in process " + name +
				  ": cache=entry,interval=2; --fail=- ends that\n");
	EXPECT_EQ(process.do_task('c'), "5 failed");
	EXPECT_EQ(slabinfo({"--fail=-"}).out,
		  "No allocations fail in process " + name + " any more\n");
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

TEST_F(SlabinfoDebugTest, StrangeAnswersDoNoHarm)
{
	const std::vector<std::vector<std::string>> runs = {
		{"-z", "-t"}, {"-z", "-t", "--json"}, {"--since-mark=1"}, {"--mark"},
		{"-da"},      {"--sample=1"},         {"--fail=-"},       {"-r"},
	};

	for (const char *answer :
	     {"{\"ok\":true,\"caches\":[7,{},{\"name\":7,\"flags\":8,\"debug_flags\":{}}]}",
	      "{\"ok\":true,\"process\":{\"now\":9,\"mark\":1},\"caches\":[{\"name\":\"a\","
	      "\"flags\":8}],\"tracked\":true,\"legacy_slabs\":[7,{}],\"sites\":[7,{},"
	      "{\"stack\":7,\"waste\":1},{\"count\":1,\"stack\":[7,{},{\"file\":7}]}]}",
	      "{\"ok\":true,\"process\":7,\"caches\":[{\"name\":\"a\",\"flags\":8}],"
	      "\"tracked\":7,\"legacy_slabs\":{},\"sites\":{}}"}) {
		with_impostor(dir, answer, [&](pid_t) {
			for (const std::vector<std::string> &words : runs)
				EXPECT_GE(slabinfo(words).status, 0) << words[0] << answer;
		});
	}
}

} /* namespace */
