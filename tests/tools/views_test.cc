/* SPDX-License-Identifier: MIT */
/*
 * The views of slabinfo, byte by byte: what each option prints (golden/views.txt) of a
 * process that always answers the same. With GOLDEN_WRITE set in the environment the
 * file is written instead of compared.
 */
#include "views.h"

namespace
{

/* --- each view, as it is -------------------------------------------------------------- */

struct view {
	std::string command, text;
};

/* Of golden/views.txt: "$ slabinfo OPTIONS", and what that prints. */
std::vector<view> golden_views()
{
	std::vector<view> views;

	for (const std::string &line : lines_of(file_text(golden_path("views.txt"))))
		if (line.rfind("$ ", 0) == 0)
			views.push_back({line, ""});
		else
			views.back().text += line + "\n";
	return views;
}

void write_golden(const std::string &command, const std::string &text)
{
	std::string all;

	for (const view &view : golden_views())
		all += view.command + "\n" + (view.command == command ? text : view.text);
	write_file(golden_path("views.txt"), all);
}

class GoldenTest : public ViewsTest, public testing::WithParamInterface<view>
{
};

TEST_P(GoldenTest, PrintsWhatItAlwaysPrinted)
{
	std::vector<std::string> words = words_of(GetParam().command);

	words.erase(words.begin(), words.begin() + 2);
	const std::string got = output_of(words);

	if (std::getenv("GOLDEN_WRITE"))
		write_golden(GetParam().command, got);
	else
		EXPECT_EQ(got, GetParam().text) << GetParam().command;
}

INSTANTIATE_TEST_SUITE_P(Views, GoldenTest, testing::ValuesIn(golden_views()));

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
		{{"--json", "-n"}, 6},       {{"--json", "-S", "-N2"}, 2},
		{{"--json", "-T"}, 7},       {{"--json", "-U"}, 6},
		{{"--json", "^backend"}, 1}, {{"--json", "-X", "-N2"}, 7},
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
		  "heads+maps 327680, arrays 131072");
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

TEST_F(ViewsTest, APatternMatchesAPartOfANameInAnyCase)
{
	EXPECT_EQ(names_in({"-l", "BACK"}), (names{"backend"}));
	EXPECT_EQ(names_in({"-l", "^(attribute|entry)$"}), (names{"attribute", "entry"}));
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

} /* namespace */
