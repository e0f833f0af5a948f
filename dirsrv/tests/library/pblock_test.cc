/* SPDX-License-Identifier: MIT */
/*
 * What a pblock does with each of its parameters, and how much memory it takes, counted by the
 * caches.
 */
#include <stdexcept>

#include "pblock_parameters.h"

using namespace pblock_test;

namespace
{

/* No damage is found in any cache, not at any time. */
class no_reports : public testing::Environment
{
public:
	void SetUp() override
	{
		slab_set_report_handler([](const struct slab_report *report,
					   void *) { ADD_FAILURE() << report->text; },
					nullptr);
	}
	void TearDown() override
	{
		slab_for_each_cache(
			[](struct slab_cache *cache, void *) {
				EXPECT_EQ(slab_cache_validate(cache), 0) << slab_cache_name(cache);
				return 0;
			},
			nullptr);
	}
};

[[maybe_unused]] const auto *const environment = testing::AddGlobalTestEnvironment(new no_reports);

/* A pblock, and nothing of it left at the end. */
class pblock
{
public:
	pblock() : before(allocations()), pb(slapi_pblock_new()) { EXPECT_NE(pb, nullptr); }
	~pblock()
	{
		slapi_pblock_destroy(pb);
		EXPECT_EQ(allocations(), before);
	}
	pblock(const pblock &) = delete;
	pblock &operator=(const pblock &) = delete;
	operator Slapi_PBlock *() const { return pb; }

private:
	std::size_t before;
	Slapi_PBlock *pb;
};

void expect_defaults_except(Slapi_PBlock *pb, int number)
{
	for (const parameter &p : all_parameters()) {
		if (p.number != number) {
			EXPECT_EQ(get_value(pb, p), default_of(p)) << p;
		}
	}
}

void set_all(Slapi_PBlock *pb, unsigned seed)
{
	for (const parameter &p : all_parameters())
		EXPECT_EQ(set_value(pb, p, seed), 0) << p;
}

void expect_all(Slapi_PBlock *pb, unsigned seed)
{
	for (const parameter &p : all_parameters())
		EXPECT_EQ(get_value(pb, p), value_of(p, seed)) << p;
}

class each_parameter : public testing::TestWithParam<parameter>
{
protected:
	const parameter &p = GetParam();
};

TEST_P(each_parameter, has_its_default_when_nothing_was_set)
{
	pblock pb;

	EXPECT_EQ(get_value(pb, p), default_of(p));
}

TEST_P(each_parameter, changes_no_other_one)
{
	pblock pb;

	EXPECT_EQ(set_value(pb, p, 0), 0);
	expect_defaults_except(pb, p.number);
}

TEST_P(each_parameter, can_be_overwritten)
{
	pblock pb;

	EXPECT_EQ(set_value(pb, p, 0), 0);
	std::size_t memory = allocations();

	for (unsigned seed = 1; seed < 4; seed++) {
		EXPECT_EQ(set_value(pb, p, seed), 0);
		EXPECT_EQ(get_value(pb, p), value_of(p, seed));
		EXPECT_EQ(allocations(), memory);
	}
}

TEST_P(each_parameter, takes_null_as_a_value_or_not_at_all)
{
	pblock pb;

	EXPECT_EQ(slapi_pblock_set(pb, p.number, nullptr), takes_null(p) ? 0 : -1);
	EXPECT_EQ(get_value(pb, p), default_of(p));
	EXPECT_EQ(set_value(pb, p, 1), 0);
	EXPECT_EQ(slapi_pblock_set(pb, p.number, nullptr), takes_null(p) ? 0 : -1);
	EXPECT_EQ(get_value(pb, p), takes_null(p) ? default_of(p) : value_of(p, 1));
}

TEST_P(each_parameter, of_a_destroyed_pblock_is_not_seen_in_the_next)
{
	Slapi_PBlock *first = slapi_pblock_new();

	EXPECT_EQ(set_value(first, p, 0), 0);
	slapi_pblock_destroy(first);
	pblock next;

	EXPECT_EQ(get_value(next, p), default_of(p));
	EXPECT_EQ(set_value(next, all_parameters()[0], 0), 0);
	expect_defaults_except(next, all_parameters()[0].number);
}

TEST_P(each_parameter, is_in_the_clone_and_in_the_source_unless_it_moves)
{
	pblock pb;

	EXPECT_EQ(set_value(pb, p, 0), 0);
	Slapi_PBlock *clone = slapi_pblock_clone(pb);

	EXPECT_EQ(get_value(clone, p), value_of(p, 0));
	expect_defaults_except(clone, p.number);
	EXPECT_EQ(get_value(pb, p), moves(p) ? default_of(p) : value_of(p, 0));
	slapi_pblock_destroy(clone);
}

TEST_P(each_parameter, of_a_clone_is_its_own)
{
	pblock pb;

	EXPECT_EQ(set_value(pb, p, 0), 0);
	Slapi_PBlock *clone = slapi_pblock_clone(pb);

	EXPECT_EQ(set_value(pb, p, 1), 0);
	EXPECT_EQ(set_value(clone, p, 2), 0);
	EXPECT_EQ(get_value(pb, p), value_of(p, 1));
	EXPECT_EQ(get_value(clone, p), value_of(p, 2));
	slapi_pblock_destroy(clone);
}

TEST_P(each_parameter, needs_no_memory_to_be_set_to_its_default)
{
	pblock pb;
	std::size_t memory = allocations();

	EXPECT_EQ(set_default(pb, p), 0);
	EXPECT_EQ(allocations(), memory);
	EXPECT_EQ(get_value(pb, p), default_of(p));
	EXPECT_EQ(set_value(pb, p, 0), 0);
	EXPECT_EQ(set_default(pb, p), 0);
	EXPECT_EQ(get_value(pb, p), default_of(p));
}

TEST_P(each_parameter, stays_when_there_is_no_memory_to_set_it)
{
	pblock pb;

	for (unsigned seed : {0u, 1u}) {
		const bytes before = get_value(pb, p);

		with_failing_allocations([&](unsigned n) {
			prepared_value value(p, seed);
			failing_allocation failing(n);
			const bool done = failing.end(value.set(pb) == 0);

			EXPECT_EQ(get_value(pb, p), done ? value_of(p, seed) : before);
			return done;
		});
	}
}

INSTANTIATE_TEST_SUITE_P(pblock, each_parameter, testing::ValuesIn(all_parameters()),
			 [](const testing::TestParamInfo<parameter> &info) {
				 return info.param.name;
			 });

TEST(pblock_test, has_the_parameters_of_the_api)
{
	std::map<std::string, unsigned> count;

	for (const parameter &p : all_parameters())
		count[p.group]++;
	EXPECT_EQ(all_parameters().size(), 321u);
	EXPECT_EQ(count["plugin"], 143u);
	EXPECT_EQ(count["callback"], 3u);
	EXPECT_EQ(count["op"], 60u);
	EXPECT_EQ(count["intop"], 29u);
	EXPECT_EQ(count["task"], 24u);
	EXPECT_EQ(count["conn"], 16u);
	EXPECT_EQ(count["mr"], 13u);
	EXPECT_EQ(count["intplugin"], 9u);
	EXPECT_EQ(count["dse"], 6u);
}

TEST(pblock_test, knows_no_other_number)
{
	pblock pb;
	std::map<int, bool> known;

	for (const parameter &p : all_parameters())
		known[p.number] = true;
	for (int number = -3; number < 4000; number++) {
		void *value = &pb;

		if (known[number])
			continue;
		EXPECT_EQ(slapi_pblock_get(pb, number, &value), -1) << number;
		EXPECT_EQ(value, &pb) << number;
		EXPECT_EQ(slapi_pblock_set(pb, number, &value), -1) << number;
	}
	for (int number : {INT32_MIN, INT32_MAX}) {
		EXPECT_EQ(slapi_pblock_get(pb, number, &number), -1);
		EXPECT_EQ(slapi_pblock_set(pb, number, &number), -1);
	}
}

TEST(pblock_test, null_is_no_pblock_and_no_place_for_a_value)
{
	pblock pb;

	for (const parameter &p : all_parameters()) {
		struct slapi_pblock_address value = {};

		EXPECT_EQ(slapi_pblock_get(nullptr, p.number, &value), -1) << p;
		EXPECT_EQ(slapi_pblock_set(nullptr, p.number, &value), -1) << p;
		EXPECT_EQ(slapi_pblock_get(pb, p.number, nullptr), -1) << p;
	}
	slapi_pblock_init(nullptr);
	slapi_pblock_destroy(nullptr);
	EXPECT_EQ(slapi_pblock_clone(nullptr), nullptr);
}

TEST(pblock_test, all_parameters_have_room_at_once)
{
	pblock pb;

	set_all(pb, 0);
	expect_all(pb, 0);
	set_all(pb, 1);
	expect_all(pb, 1);
}

TEST(pblock_test, init_forgets_everything)
{
	pblock pb;
	std::size_t memory = allocations();

	set_all(pb, 0);
	slapi_pblock_init(pb);
	EXPECT_EQ(allocations(), memory);
	expect_defaults_except(pb, -1);
}

TEST(pblock_test, its_size_grows_with_what_is_set_until_it_is_as_new)
{
	Slapi_PBlock *pb = slapi_pblock_new();
	std::size_t size = slab_pblock_size(pb);

	EXPECT_GT(size, 0u);
	for (const parameter &p : all_parameters())
		EXPECT_EQ(set_value(pb, p, 1), 0) << p;
	EXPECT_GT(slab_pblock_size(pb), size);
	slapi_pblock_init(pb);
	EXPECT_EQ(slab_pblock_size(pb), size);
	slapi_pblock_destroy(pb);
	EXPECT_EQ(slab_pblock_size(nullptr), 0u);
}

TEST(pblock_test, an_owned_string_can_be_set_again_as_it_is)
{
	pblock pb;
	char *string = slab_ch_strdup("session"), *got = nullptr;

	EXPECT_EQ(slapi_pblock_set(pb, SLAPI_SESSION_TRACKING, string), 0);
	EXPECT_EQ(slapi_pblock_set(pb, SLAPI_SESSION_TRACKING, string), 0);
	EXPECT_EQ(slapi_pblock_get(pb, SLAPI_SESSION_TRACKING, &got), 0);
	EXPECT_EQ(got, string);
}

TEST(pblock_test, a_copied_text_is_its_own_and_can_be_set_to_what_was_got)
{
	pblock pb;
	char text[] = "no such object", *got = nullptr;

	EXPECT_EQ(slapi_pblock_set(pb, SLAPI_PB_RESULT_TEXT, text), 0);
	text[0] = 'N';
	EXPECT_EQ(slapi_pblock_get(pb, SLAPI_PB_RESULT_TEXT, &got), 0);
	EXPECT_EQ(slapi_pblock_set(pb, SLAPI_PB_RESULT_TEXT, got), 0);
	EXPECT_EQ(slapi_pblock_get(pb, SLAPI_PB_RESULT_TEXT, &got), 0);
	EXPECT_STREQ(got, "no such object");
}

/* --- memory ------------------------------------------------------------------------ */

TEST(pblock_test, a_clone_is_whole_or_nothing_changes)
{
	pblock pb;

	set_all(pb, 0);
	const std::size_t memory = allocations();

	with_failing_allocations([&](unsigned n) {
		failing_allocation failing(n);
		Slapi_PBlock *clone = slapi_pblock_clone(pb);

		failing.end(clone != nullptr);
		if (!clone) {
			EXPECT_EQ(allocations(), memory);
			expect_all(pb, 0);
			return false;
		}
		expect_all(clone, 0);
		slapi_pblock_destroy(clone);
		return true;
	});
}

TEST(pblock_test, without_memory_there_is_no_pblock)
{
	failing_allocation failing(1);
	Slapi_PBlock *pb = slapi_pblock_new();

	EXPECT_FALSE(failing.end(pb != nullptr));
	EXPECT_EQ(pb, nullptr);
}

TEST(pblock_test, a_copy_that_has_no_memory_is_null)
{
	pblock pb;

	for (const parameter &p : all_parameters()) {
		if (!is_copied_out(p))
			continue;
		EXPECT_EQ(set_value(pb, p, 0), 0);
		with_failing_allocations([&](unsigned n) {
			char *got = const_cast<char *>("untouched");
			failing_allocation failing(n);
			const bool done = failing.end(slapi_pblock_get(pb, p.number, &got) == 0);

			EXPECT_EQ(got != nullptr, done) << p;
			slab_ch_free_string(&got);
			return done;
		});
		EXPECT_EQ(get_value(pb, p), value_of(p, 0)) << p;
	}
}

const parameter &parameter_of(int number)
{
	for (const parameter &p : all_parameters())
		if (p.number == number)
			return p;
	throw std::out_of_range("no such parameter");
}

/* What a pblock takes in which these were set. */
usage of_pblock_with(const std::vector<int> &numbers)
{
	const usage before = usage_of("pblock");
	pblock pb;

	for (int number : numbers)
		EXPECT_EQ(set_value(pb, parameter_of(number), 1), 0) << number;
	const usage with = usage_of("pblock");

	return {"", with.objects - before.objects, with.bytes - before.bytes};
}

TEST(pblock_test, nine_of_ten_pblocks_are_one_cache_line)
{
	const std::vector<int> numbers = {SLAPI_PLUGIN, SLAPI_PLUGIN_SYNTAX_FILTER_NORMALIZED,
					  SLAPI_PLUGIN_DB_ENTRY_FN, SLAPI_PLUGIN_DB_REFERRAL_FN,
					  SLAPI_PLUGIN_DB_RESULT_FN};
	usage taken = of_pblock_with(numbers);

	EXPECT_EQ(taken.objects, 1u);
	EXPECT_EQ(taken.bytes, 64u);
}

TEST(pblock_test, a_search_takes_at_most_280_bytes)
{
	const std::vector<int> numbers = {3,   47,  51,  109, 110, 111, 112, 113, 114,  115,
					  116, 117, 119, 130, 131, 132, 133, 191, 193,  194,
					  195, 198, 214, 215, 216, 712, 860, 881, 1160, 1930};
	usage taken = of_pblock_with(numbers);

	EXPECT_EQ(taken.objects, 2u);
	EXPECT_LE(taken.bytes, 280u);
}

TEST(pblock_test, its_size_is_what_the_caches_count)
{
	for (const parameter &p : all_parameters()) {
		Slapi_PBlock *pb = slapi_pblock_new();
		std::size_t without = usage_of("pblock").bytes - slab_pblock_size(pb);

		EXPECT_EQ(set_value(pb, p, 1), 0) << p;
		EXPECT_EQ(without + slab_pblock_size(pb), usage_of("pblock").bytes) << p;
		slapi_pblock_destroy(pb);
	}
}

TEST(pblock_test, reading_takes_no_memory)
{
	usage before = usage_of("pblock");
	Slapi_PBlock *pb = slapi_pblock_new();

	for (const parameter &p : all_parameters())
		EXPECT_EQ(get_value(pb, p), default_of(p)) << p;
	EXPECT_EQ(usage_of("pblock").objects, before.objects + 1);
	slapi_pblock_destroy(pb);
}

} // namespace
