/* SPDX-License-Identifier: MIT */
/*
 * slabinfo from the outside: what it prints and how it exits, on servers whose
 * caches are known.
 */
#include "../support/server.h"

#include <json-c/json.h>

namespace
{

const char header[] =
	"Name                   Objects Objsize           Space Slabs/Part/Cpu  O/S O "
	"%Fr %Ef Flg";

class SlabinfoTest : public testing::Test
{
protected:
	runtime_dir dir;
};

TEST_F(SlabinfoTest, TableIsTheDefault)
{
	server process;
	const result got = slabinfo();
	const std::vector<std::string> entry = row_of(got.out, "entry");

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_EQ(got.err, "");
	EXPECT_EQ(lines_of(got.out).at(0), header);
	ASSERT_GE(entry.size(), 9U) << got.out;
	EXPECT_EQ(entry[1], "500");
	EXPECT_EQ(entry[2], "712");
	EXPECT_EQ(entry[3].substr(entry[3].size() - 3), "KiB");
	EXPECT_EQ(caches_part(slabinfo({"-l"}).out), caches_part(got.out));
	EXPECT_EQ(caches_part(slabinfo({"--slabs"}).out), caches_part(got.out));
}

TEST_F(SlabinfoTest, ColumnsStandWhereTheHeaderSays)
{
	server process;

	for (const std::string &line : table_of(slabinfo().out)) {
		ASSERT_GE(line.size(), std::strlen("Name                   Objects"));
		EXPECT_NE(line[29], ' ') << line; /* Objects ends here */
		EXPECT_EQ(line[30], ' ') << line;
		EXPECT_NE(line[37], ' ') << line; /* Objsize */
		EXPECT_EQ(line[38], ' ') << line;
	}
}

TEST_F(SlabinfoTest, SlabsOfARowAddUp)
{
	server process;
	const std::vector<std::string> entry = row_of(slabinfo().out, "entry");
	unsigned others = 0, partial = 0, cpu = 0;

	ASSERT_GE(entry.size(), 8U);
	ASSERT_EQ(std::sscanf(entry[4].c_str(), "%u/%u/%u", &others, &partial, &cpu), 3);
	EXPECT_LE(partial, others);
	EXPECT_GE((others + cpu) * std::stoul(entry[5]), 500U);
}

TEST_F(SlabinfoTest, FlagsShowAlignment)
{
	server process;
	const std::string table = slabinfo().out;

	EXPECT_EQ(row_of(table, "pblock").back(), "A");
}

TEST_F(SlabinfoTest, EmptyCachesOnRequest)
{
	server process;

	EXPECT_TRUE(row_of(slabinfo().out, "empty").empty());
	EXPECT_FALSE(row_of(slabinfo({"-z"}).out, "empty").empty());
	EXPECT_FALSE(row_of(slabinfo({"-z"}).out, "entry").empty());
	EXPECT_FALSE(row_of(slabinfo({"--empty"}).out, "empty").empty());
	EXPECT_TRUE(row_of(slabinfo({"--empty"}).out, "entry").empty());
}

TEST_F(SlabinfoTest, APatternSelectsWithoutRegardToCase)
{
	server process;

	EXPECT_EQ(lines_of(slabinfo({"-l", "ENTR|pbl"}).out).size(), 3U);
	EXPECT_EQ(lines_of(slabinfo({"-l", "^FIRST$"}).out).size(), 2U);
	/* One match alone is shown in full, as the kernel's tool does. */
	EXPECT_TRUE(contains(slabinfo({"entry"}).out, "Slabcache: entry"));
	expect_error({"nobody"},
		     "no cache of process " + std::to_string(process.pid()) +
			     " (control_server) matches \"nobody\"",
		     1);
}

TEST_F(SlabinfoTest, TotalsAddUp)
{
	server process;
	const result got = slabinfo({"-T"});
	unsigned long caches = 0, active = 0, objects = 0;

	EXPECT_EQ(got.status, 0);
	ASSERT_GE(lines_of(got.out).size(), 21U) << got.out;
	EXPECT_EQ(lines_of(got.out)[0], "Slabcache Totals");
	EXPECT_EQ(std::sscanf(lines_of(got.out)[2].c_str(), "Slabcaches : %lu Active : %lu",
			      &caches, &active),
		  2);
	EXPECT_EQ(caches, active + 1); /* "empty" */
	for (const std::string &line : table_of(slabinfo().out))
		if (line != header)
			objects += std::stoul(words_of(line)[1]);
	EXPECT_EQ(objects, 1101U);
	EXPECT_EQ(row_of(got.out, "#Objects").back(), "1.1K");
	EXPECT_EQ(slabinfo({"-T", "entry"}).status, 0);
	EXPECT_EQ(row_of(slabinfo({"--totals", "entry"}).out, "#Objects").back(), "500");
	EXPECT_EQ(slabinfo({"-T", "^empty$"}).out, "No objects\n");
}

TEST_F(SlabinfoTest, ReportShowsSizesAndCounters)
{
	server process;
	const result got = slabinfo({"-r", "pblock"});

	EXPECT_EQ(got.status, 0);
	EXPECT_TRUE(contains(got.out, "Slabcache: pblock           Order : "));
	EXPECT_TRUE(contains(got.out, "** Hardware cacheline aligned"));
	EXPECT_TRUE(contains(got.out, "Sizes (bytes)     Slabs              Debug                "
				      "Memory"));
	EXPECT_TRUE(contains(got.out, "Object :     200  Total  : "));
	EXPECT_TRUE(contains(got.out, "Sanity Checks : Off"));
	EXPECT_TRUE(contains(got.out, "Slab Perf Counter       Alloc     Free %Al %Fr"));
}

TEST_F(SlabinfoTest, NodesAreShownWhereThereAreSeveral)
{
	EXPECT_EQ(setenv("SLAB_FAKE_NODES", "2", 1), 0);
	server process;

	unsetenv("SLAB_FAKE_NODES");
	EXPECT_TRUE(contains(slabinfo({"-r", "entry"}).out, "NUMA nodes           :    0    1"));
}

TEST_F(SlabinfoTest, ShrinkAndValidate)
{
	server process;
	const result shrink = slabinfo({"-s", "entry"});
	const result validate = slabinfo({"--validate"});

	EXPECT_EQ(shrink.status, 0) << shrink.err;
	EXPECT_TRUE(contains(shrink.out, "entry ")) << shrink.out;
	EXPECT_TRUE(contains(shrink.out, " given back\n")) << shrink.out;
	EXPECT_EQ(validate.status, 0) << validate.err;
	EXPECT_TRUE(contains(validate.out, "pblock                no problems found\n"))
		<< validate.out;
}

TEST_F(SlabinfoTest, JsonIsTheWholeDocument)
{
	server process;
	const result got = slabinfo({"--json"});
	struct json_object *document = json_tokener_parse(got.out.c_str());
	struct json_object *caches = nullptr;

	EXPECT_EQ(got.status, 0);
	ASSERT_TRUE(json_object_object_get_ex(document, "caches", &caches));
	EXPECT_EQ(json_object_array_length(caches), 4U);
	json_object_put(document);
	document = json_tokener_parse(slabinfo({"--json", "pblock"}).out.c_str());
	ASSERT_TRUE(json_object_object_get_ex(document, "caches", &caches));
	EXPECT_EQ(json_object_array_length(caches), 1U);
	json_object_put(document);
}

TEST_F(SlabinfoTest, NoProcess)
{
	const result none = slabinfo();

	EXPECT_EQ(none.status, 2);
	EXPECT_EQ(none.err, "slabinfo: no process has slab caches\n");
	EXPECT_EQ(slabinfo({"--list"}).status, 2);
	EXPECT_EQ(slabinfo({"--list", "--json"}).status, 2);
	EXPECT_EQ(slabinfo({"--process", "nobody"}).err,
		  "slabinfo: no process called \"nobody\" has slab caches; --list shows those that "
		  "do\n");
	EXPECT_EQ(slabinfo({"-p", "2147483647"}).err, "slabinfo: there is no process 2147483647\n");
	const result mine = slabinfo({"--pid", std::to_string(getpid())});

	EXPECT_EQ(mine.status, 2);
	EXPECT_TRUE(contains(mine.err, "has no slab caches")) << mine.err;
}

TEST_F(SlabinfoTest, TheOnlyOneWithoutASocketIsChosen)
{
	setenv("SLAB_CONTROL", "off", 1);
	server process;
	const result one = slabinfo({"-l"});

	EXPECT_EQ(one.status, 0) << one.err;
	EXPECT_EQ(row_of(one.out, "entry").at(1), "500");
	server other;
	const result two = slabinfo();

	EXPECT_EQ(two.status, 2);
	EXPECT_TRUE(
		contains(two.err, "several processes have slab caches; choose one with --pid\n"));
	EXPECT_TRUE(contains(two.err, std::to_string(process.pid())));
	EXPECT_TRUE(contains(two.err, std::to_string(other.pid())));
	unsetenv("SLAB_CONTROL");
	/* The process that answers is chosen, where there is one. */
	server asked;

	EXPECT_TRUE(contains(slabinfo({"nobody"}).err, std::to_string(asked.pid())));
}

TEST_F(SlabinfoTest, OneOfSeveralIsChosen)
{
	server first;
	server second;
	const std::string pid = std::to_string(second.pid());
	const result several = slabinfo();

	EXPECT_EQ(several.status, 2);
	EXPECT_TRUE(
		contains(several.err,
			 "slabinfo: several processes have slab caches; choose one with --pid\n"));
	EXPECT_TRUE(
		contains(several.err, std::to_string(first.pid()) + "  control_server   socket\n"));
	EXPECT_EQ(slabinfo({"--pid", pid}).status, 0);
	EXPECT_EQ(slabinfo({"-p" + pid}).status, 0);
	EXPECT_TRUE(contains(slabinfo({"--json", "-p", pid}).out, "\"pid\": " + pid));
	EXPECT_EQ(slabinfo({"--process", "control_server"}).status, 2);
	EXPECT_EQ(lines_of(slabinfo({"--list"}).out).size(), 3U);
	EXPECT_EQ(first.wait(), 0);
	EXPECT_EQ(slabinfo({"--process", "control_server"}).status, 0);
	EXPECT_EQ(slabinfo().status, 0);
}

TEST_F(SlabinfoTest, HelpFitsOneScreen)
{
	const result help = slabinfo({"--help"});

	EXPECT_EQ(help.status, 0);
	EXPECT_LE(lines_of(help.out).size(), 24U);
	for (const std::string &line : lines_of(help.out))
		EXPECT_LE(line.size(), 80U);
	EXPECT_EQ(slabinfo({"--version"}).status, 0);
}

TEST_F(SlabinfoTest, DamageIsAnExitStatus)
{
	with_impostor(
		dir, "{\"slab\":2,\"ok\":true,\"problems\":2,\"caches\":[{\"name\":\"entry\"}]}\n",
		[](pid_t) {
			const result got = slabinfo({"-v"});

			EXPECT_EQ(got.status, 1);
			EXPECT_EQ(got.out, "entry                        2 problems found; the "
					   "process has reported them\n");
		});
}

TEST_F(SlabinfoTest, StrangeAnswersAreRefused)
{
	for (const char *answer : {"", "\n", "hello\n", "{}", "[1,2", "7\n", "{\"ok\":true}",
				   "{\"ok\":true,\"caches\":7}", "{\"ok\":false}"}) {
		with_impostor(dir, answer, [&](pid_t) {
			const result got = slabinfo({"-z"});

			EXPECT_EQ(got.status, 2) << answer;
			EXPECT_EQ(lines_of(got.err).size(), 1U) << got.err;
		});
	}
	with_impostor(dir, "{\"ok\":true,\"caches\":[7,{},{\"name\":7}]}", [](pid_t) {
		EXPECT_EQ(slabinfo({"-z"}).status, 0);
		EXPECT_EQ(slabinfo({"-r"}).status, 0);
		EXPECT_EQ(slabinfo({"-T"}).status, 0);
	});
}

} /* namespace */
