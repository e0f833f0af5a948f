/* SPDX-License-Identifier: MIT */
/* The keys of slabinfo --top, and its options: what they change on the screen. */
#include "top.h"

namespace
{

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
	  {"", "ALLOC/s is exact"}}},
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

} /* namespace */
