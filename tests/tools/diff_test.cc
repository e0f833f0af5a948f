/* SPDX-License-Identifier: MIT */
/*
 * slabinfo --diff: what changed between two files of --json, byte by byte
 * (golden/diff*), and what it says about files that are something else.
 */
#include "pictures.h"

namespace
{

/* A cache with slabs of 4096 bytes. */
struct counted {
	const char *name;
	unsigned slabs, objects;
	unsigned flags;
};

struct about {
	unsigned pid;
	const char *command;
	unsigned uptime;
	unsigned long now;
};

constexpr unsigned reclaimable = 1U << 21; /* SLAB_RECLAIM_ACCOUNT */

std::string stats(const about &process, const std::vector<counted> &caches)
{
	std::ostringstream text;

	text << "{\"slab\":2,\"ok\":true,\"process\":{\"pid\":" << process.pid << ",\"command\":\""
	     << process.command << "\",\"uptime\":" << process.uptime << ",\"now\":" << process.now
	     << "},\"caches\":[";
	for (std::size_t i = 0; i < caches.size(); i++)
		text << (i ? "," : "") << "{\"name\":\"" << caches[i].name
		     << "\",\"order\":0,\"slabs\":" << caches[i].slabs
		     << ",\"slab_bytes\":" << 4096 * caches[i].slabs
		     << ",\"objects\":" << caches[i].objects << ",\"flags\":" << caches[i].flags
		     << "}";
	text << "]}\n";
	return text.str();
}

constexpr about morning = {4711, "directory", 60, 8000500};
constexpr about later = {4711, "directory", 663, 8603500};

const std::vector<counted> some = {
	{"entry", 1000, 49900, 0}, {"value", 20, 40000, 0},          {"idle", 0, 0, 0},
	{"operation", 50, 512, 0}, {"pages", 700, 700, reclaimable}, {"steady", 3, 300, 0},
	{"old_index", 2, 100, 0},  {"attribute", 300, 300000, 0},
};
const std::vector<counted> more = {
	{"value", 20, 40500, 0},     {"entry", 4000, 199600, 0},       {"idle", 0, 0, 0},
	{"operation", 7, 40, 0},     {"pages", 900, 900, reclaimable}, {"steady", 3, 300, 0},
	{"new_index", 512, 8192, 0}, {"attribute", 300, 299000, 0},
};

class DiffTest : public testing::Test
{
protected:
	void SetUp() override
	{
		write_file("before.json", stats(morning, some));
		write_file("after.json", stats(later, more));
	}

	/* Its options, and then the two files. */
	static std::string diff(std::vector<std::string> words = {})
	{
		words.insert(words.end(), {"--diff", "before.json", "after.json"});
		return output_of(words);
	}

	/* The names in the table, without its head and its last line. */
	static std::vector<std::string> names(const std::vector<std::string> &words = {})
	{
		std::vector<std::string> found;
		bool in_table = false;

		for (const std::string &line : lines_of(diff(words))) {
			if (in_table && line.compare(0, 6, "Total ") != 0)
				found.push_back(words_of(line)[0]);
			in_table |= line.compare(0, 4, "Name") == 0;
		}
		return found;
	}

	using list = std::vector<std::string>;

	work_dir dir;
};

/* --- the table ------------------------------------------------------------------------ */

TEST_F(DiffTest, PrintsWhatItAlwaysPrinted)
{
	expect_golden("diff.txt", diff());
	expect_golden("diff_bytes.txt", diff({"-B"}));
}

TEST_F(DiffTest, WhatGrewMostComesFirstAndWhatShrankLast)
{
	EXPECT_EQ(names(), (list{"entry", "new_index", "pages", "value", "attribute", "old_index",
				 "operation"}));
	EXPECT_EQ(names({"-i"}), (list{"operation", "old_index", "attribute", "value", "pages",
				       "new_index", "entry"}));
}

TEST_F(DiffTest, CachesThatDidNotChangeAreShownOnlyWithZ)
{
	EXPECT_EQ(names({"-z"}), (list{"entry", "new_index", "pages", "value", "idle", "steady",
				       "attribute", "old_index", "operation"}));
}

TEST_F(DiffTest, LinesCanBeCutAndTheTotalStays)
{
	EXPECT_EQ(names({"-N2"}), (list{"entry", "new_index"}));
	EXPECT_EQ(lines_of(diff({"-N2"})).back(), lines_of(diff()).back());
}

TEST_F(DiffTest, ReclaimableCachesCanBeLeftOut)
{
	EXPECT_EQ(names({"-U"}),
		  (list{"entry", "new_index", "value", "attribute", "old_index", "operation"}));
	EXPECT_TRUE(contains(diff({"-U"}), "Total of 8 caches"));
}

TEST_F(DiffTest, CachesThatCameOrWentAreMarked)
{
	for (const std::string &line : lines_of(diff({"-z"}))) {
		const std::vector<std::string> words = words_of(line);
		const std::string name = words.empty() ? "" : words[0];

		EXPECT_EQ(contains(line, " new"), name == "new_index") << line;
		EXPECT_EQ(contains(line, " gone"), name == "old_index") << line;
	}
}

TEST_F(DiffTest, AnEmptyCacheThatCameIsAChange)
{
	write_file("before.json", stats(morning, {}));
	write_file("after.json", stats(later, {{"young", 0, 0, 0}}));
	EXPECT_EQ(names(), list{"young"});
}

TEST_F(DiffTest, CachesOfOneNameArePairedInTheirOrder)
{
	write_file("before.json", stats(morning, {{"twin", 1, 10, 0}, {"twin", 5, 20, 0}}));
	write_file("after.json", stats(later, {{"twin", 1, 10, 0}, {"twin", 6, 25, 0}}));
	EXPECT_EQ(row_of(diff({"-B"}), "twin"),
		  (list{"twin", "20", "25", "+5", "20480", "24576", "+4096"}));
	EXPECT_EQ(names(), list{"twin"});
}

TEST_F(DiffTest, TheSameFileTwiceHasNoChanges)
{
	write_file("after.json", file_text("before.json"));
	EXPECT_EQ(names(), list());
	EXPECT_EQ(words_of(lines_of(diff()).back()),
		  (list{"Total", "of", "8", "caches", "391512", "391512", "0", "8.1MiB", "8.1MiB",
			"0"}));
}

/* --- the head ------------------------------------------------------------------------- */

TEST_F(DiffTest, ShowsHowLongTheyAreApart)
{
	EXPECT_EQ(lines_of(diff())[0],
		  "Process 4711 (directory): after.json is 10m03s later than before.json");
	EXPECT_EQ(lines_of(output_of({"--diff", "after.json", "before.json"}))[0],
		  "Process 4711 (directory): before.json is 10m03s earlier than after.json");
}

TEST_F(DiffTest, TimesOfCoreFilesAreNotKnown)
{
	write_file("after.json", stats({4711, "directory", 663, 0}, more));
	EXPECT_TRUE(contains(diff(), "after.json is 10m03s later than before.json\n"));
}

TEST_F(DiffTest, TwoProcessesAreNamed)
{
	const about others[] = {
		{4712, "directory", 663, 8603500}, /* another number */
		{4711, "slapd", 663, 8603500},    /* another program */
		{4711, "directory", 3, 8603500},   /* the number was given again */
	};

	for (const about &other : others) {
		write_file("after.json", stats(other, more));
		const std::vector<std::string> lines = lines_of(diff());

		EXPECT_EQ(lines[0], "These are two processes:");
		EXPECT_EQ(lines[1], "before: 4711 (directory), up 1m00s, of before.json");
		EXPECT_EQ(lines[2], "after:  " + std::to_string(other.pid) + " (" + other.command +
					    "), up " + (other.uptime == 3 ? "3.0s" : "11m03s") +
					    ", of after.json");
	}
}

/* --- JSON ----------------------------------------------------------------------------- */

TEST_F(DiffTest, JsonHasTheSame)
{
	const std::string document = diff({"--json"});

	expect_golden("diff.json", diff({"--json", "-N2"}));
	expect_valid(document);
	expect_not_valid(replaced(document, "\"gone\"", "\"away\""));
	expect_not_valid(replaced(document, "\"growth\"", "\"more\""));
	expect_not_valid(replaced(document, "\"total\"", "\"sum\""));
}

TEST_F(DiffTest, JsonHasTheChangesOfTheTable)
{
	json all(json_tokener_parse(diff({"--json", "-z"}).c_str()));
	json first(json_tokener_parse(diff({"--json", "-N1"}).c_str()));

	EXPECT_EQ(json_object_array_length(member(all.get(), "changes")), 9U);
	ASSERT_EQ(json_object_array_length(member(first.get(), "changes")), 1U);
	EXPECT_EQ(json_object_equal(member(all.get(), "total"), member(first.get(), "total")), 1);
	expect_valid(diff({"--json", "-z"}));
}

/* --- where the files come from ---------------------------------------------------------- */

TEST_F(DiffTest, ReadsEveryJsonOfAProcess)
{
	server process;

	write_file("before.json", output_of({"--json", "-S"}));
	process.do_task('l');
	write_file("after.json", output_of({"--json", "-X"}));
	const std::vector<std::string> row = row_of(diff(), "entry");

	ASSERT_GE(row.size(), 4U);
	EXPECT_EQ(row[3], "+100");
	EXPECT_TRUE(contains(lines_of(diff())[0], "Process " + std::to_string(process.pid()) +
							  " (control_server): after.json is "));
	expect_valid(diff({"--json"}));
}

TEST_F(DiffTest, OneOfThemMayBeStandardInput)
{
	child_process tool({SLABINFO, "--diff", "before.json", "-"});

	tool.write_line(file_text("after.json"));
	tool.end_input();
	EXPECT_EQ(tool.rest_of_output(), replaced(diff(), "after.json", "standard input"));
	EXPECT_EQ(tool.wait(), 0);
}

/* --- what is refused --------------------------------------------------------------------- */

TEST_F(DiffTest, FilesThatAreSomethingElseAreNamed)
{
	const std::string whole = stats(morning, some);
	const std::vector<std::pair<std::string, std::string>> cases = {
		{"", "is empty"},
		{"Name  Objects\nentry 1\n", "is no JSON"},
		{std::string(1, '\0'), "is no JSON"},
		{whole.substr(0, whole.size() / 2), "is incomplete"},
		{" \n", "is incomplete"},
		{whole + whole, "goes on behind its end"},
		{"[]", "has no list of caches"},
		{"7\n", "has no list of caches"},
		{"{\"processes\":[]}", "has no list of caches"},
		{"{\"slab\":2,\"ok\":true,\"caches\":{}}", "has no list of caches"},
		{"{\"slab\":2,\"ok\":true,\"caches\":[7]}", "has a cache without a name"},
		{"{\"slab\":3,\"ok\":true,\"caches\":[]}", "is of another version of slabinfo"},
		{"{\"slab_recording\":2,\"ms\":1,\"caches\":[]}",
		 "is a recording, which --plot draws"},
	};

	for (const auto &[text, wrong] : cases) {
		const std::string message =
			"bad.json " + wrong +
			"; --diff compares two files that slabinfo --json wrote";

		write_file("bad.json", text);
		expect_error({"--diff", "bad.json", "after.json"}, message);
		expect_error({"--diff", "before.json", "bad.json", "--json"}, message);
	}
}

TEST_F(DiffTest, FilesThatCannotBeReadAreNamed)
{
	expect_error({"--diff", "before.json", "no.json"},
		     "no.json cannot be opened: No such file or directory");
	expect_error({"--diff", "/", "after.json"}, "/ cannot be read: Is a directory");
	/* It never ends. */
	expect_error({"--diff", "/dev/zero", "after.json"},
		     "/dev/zero is no JSON; --diff compares two files that slabinfo --json "
		     "wrote");
}

TEST_F(DiffTest, TwoFilesAreCompared)
{
	expect_error({"--diff", "before.json"},
		     "--diff compares two files that --json wrote, and 1 is given");
	expect_error({"--diff", "a", "b", "c"},
		     "--diff compares two files that --json wrote, and 3 are given");
}

} /* namespace */
