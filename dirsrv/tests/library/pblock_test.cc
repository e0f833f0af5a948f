/* SPDX-License-Identifier: MIT */
/*
 * What a pblock does with each of its parameters, whatever its layout: this file is
 * linked with the flat pblock and with the split one.
 */
#include <cerrno>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/stats.h>

#include "pblock_memory.h"
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
	pblock() : before(allocations()), pb(slapi_pblock_new())
	{
		EXPECT_NE(pb, nullptr);
	}
	~pblock()
	{
		slapi_pblock_destroy(pb);
		EXPECT_EQ(allocations(), before);
	}
	pblock(const pblock &) = delete;
	pblock &operator=(const pblock &) = delete;
	operator Slapi_PBlock *() const
	{
		return pb;
	}

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

TEST_P(each_parameter, is_got_as_it_was_set)
{
	pblock pb;

	EXPECT_EQ(set_value(pb, p, 0), 0);
	EXPECT_EQ(get_value(pb, p), value_of(p, 0));
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

TEST_P(each_parameter, needs_no_memory_to_be_set_to_its_default)
{
	pblock pb;
	std::size_t ever = allocations_ever();

	EXPECT_EQ(set_default(pb, p), 0);
	EXPECT_EQ(allocations_ever(), ever);
	EXPECT_EQ(get_value(pb, p), default_of(p));
	EXPECT_EQ(set_value(pb, p, 0), 0);
	EXPECT_EQ(set_default(pb, p), 0);
	EXPECT_EQ(get_value(pb, p), default_of(p));
}

TEST_P(each_parameter, is_forgotten_by_init)
{
	pblock pb;
	std::size_t memory = allocations();

	EXPECT_EQ(set_value(pb, p, 0), 0);
	slapi_pblock_init(pb);
	EXPECT_EQ(allocations(), memory);
	EXPECT_EQ(get_value(pb, p), default_of(p));
	EXPECT_EQ(set_value(pb, p, 1), 0);
	EXPECT_EQ(get_value(pb, p), value_of(p, 1));
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

TEST_P(each_parameter, keeps_its_default_when_there_is_no_memory_to_set_it)
{
	pblock pb;
	bool failed = true;

	for (int n = 0; failed; n++) {
		prepared_value value(p, 0);
		failing_allocation failing(n);

		errno = 0;
		int result = value.set(pb);

		failed = failing.stop();
		EXPECT_EQ(result, failed ? -1 : 0);
		EXPECT_EQ(errno, failed ? ENOMEM : 0);
		EXPECT_EQ(get_value(pb, p), failed ? default_of(p) : value_of(p, 0));
		expect_defaults_except(pb, p.number);
	}
}

TEST_P(each_parameter, stays_when_there_is_no_memory_to_overwrite_it)
{
	pblock pb;

	EXPECT_EQ(set_value(pb, p, 0), 0);
	prepared_value value(p, 1);
	failing_allocation failing(0);
	bool copied = is_copied_in(p);

	EXPECT_EQ(value.set(pb), copied ? -1 : 0);
	EXPECT_EQ(failing.stop(), copied);
	EXPECT_EQ(get_value(pb, p), value_of(p, copied ? 0 : 1));
}

TEST_P(each_parameter, stays_when_there_is_no_memory_for_a_clone)
{
	pblock pb;
	bool failed = true;

	EXPECT_EQ(set_value(pb, p, 0), 0);
	std::size_t memory = allocations();

	for (int n = 0; failed; n++) {
		failing_allocation failing(n);

		errno = 0;
		Slapi_PBlock *clone = slapi_pblock_clone(pb);

		failed = failing.stop();
		if (failed) {
			EXPECT_EQ(clone, nullptr);
			EXPECT_EQ(errno, ENOMEM);
			EXPECT_EQ(allocations(), memory);
			EXPECT_EQ(get_value(pb, p), value_of(p, 0));
		}
		slapi_pblock_destroy(clone);
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

TEST(pblock_test, null_is_no_pblock)
{
	for (const parameter &p : all_parameters()) {
		struct slapi_pblock_address value = {};

		EXPECT_EQ(slapi_pblock_get(nullptr, p.number, &value), -1) << p;
		EXPECT_EQ(slapi_pblock_set(nullptr, p.number, &value), -1) << p;
	}
	slapi_pblock_init(nullptr);
	slapi_pblock_destroy(nullptr);
	EXPECT_EQ(slapi_pblock_clone(nullptr), nullptr);
}

TEST(pblock_test, null_is_no_place_for_a_value)
{
	pblock pb;

	for (const parameter &p : all_parameters())
		EXPECT_EQ(slapi_pblock_get(pb, p.number, nullptr), -1) << p;
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

TEST(pblock_test, a_clone_has_everything)
{
	pblock pb;

	set_all(pb, 0);
	Slapi_PBlock *clone = slapi_pblock_clone(pb);

	expect_all(clone, 0);
	for (const parameter &p : all_parameters())
		EXPECT_EQ(get_value(pb, p), moves(p) ? default_of(p) : value_of(p, 0)) << p;
	slapi_pblock_destroy(clone);
}

TEST(pblock_test, nothing_changes_when_any_allocation_of_a_clone_fails)
{
	pblock pb;
	bool failed = true;

	set_all(pb, 0);
	std::size_t memory = allocations();

	for (int n = 0; failed; n++) {
		failing_allocation failing(n);
		Slapi_PBlock *clone = slapi_pblock_clone(pb);

		failed = failing.stop();
		EXPECT_EQ(clone == nullptr, failed);
		if (failed) {
			EXPECT_EQ(allocations(), memory);
			expect_all(pb, 0);
		}
		slapi_pblock_destroy(clone);
	}
}

TEST(pblock_test, new_returns_null_without_memory)
{
	failing_allocation failing(0);

	errno = 0;
	EXPECT_EQ(slapi_pblock_new(), nullptr);
	EXPECT_EQ(errno, ENOMEM);
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

TEST(pblock_test, a_copied_text_is_not_the_callers)
{
	pblock pb;
	char text[] = "no such object", *got = nullptr;

	EXPECT_EQ(slapi_pblock_set(pb, SLAPI_PB_RESULT_TEXT, text), 0);
	text[0] = 'N';
	EXPECT_EQ(slapi_pblock_get(pb, SLAPI_PB_RESULT_TEXT, &got), 0);
	EXPECT_STREQ(got, "no such object");
}

TEST(pblock_test, a_copied_text_can_be_set_to_what_was_got)
{
	pblock pb;
	char text[] = "no such object", *got = nullptr;

	EXPECT_EQ(slapi_pblock_set(pb, SLAPI_PB_RESULT_TEXT, text), 0);
	EXPECT_EQ(slapi_pblock_get(pb, SLAPI_PB_RESULT_TEXT, &got), 0);
	EXPECT_EQ(slapi_pblock_set(pb, SLAPI_PB_RESULT_TEXT, got), 0);
	EXPECT_EQ(slapi_pblock_get(pb, SLAPI_PB_RESULT_TEXT, &got), 0);
	EXPECT_STREQ(got, "no such object");
}

TEST(pblock_test, a_copy_that_has_no_memory_is_null)
{
	pblock pb;

	for (const parameter &p : all_parameters()) {
		if (!is_copied_out(p))
			continue;
		EXPECT_EQ(set_value(pb, p, 0), 0);
		char *got = const_cast<char *>("untouched");
		failing_allocation failing(0);

		errno = 0;
		EXPECT_EQ(slapi_pblock_get(pb, p.number, &got), -1) << p;
		EXPECT_TRUE(failing.stop()) << p;
		EXPECT_EQ(errno, ENOMEM) << p;
		EXPECT_EQ(got, nullptr) << p;
		EXPECT_EQ(get_value(pb, p), value_of(p, 0)) << p;
	}
}

TEST(pblock_test, aliases_are_the_same_parameters)
{
	EXPECT_EQ(SLAPI_SEARCH_TARGET, SLAPI_TARGET_DN);
	EXPECT_EQ(SLAPI_MODRDN_TARGET_SDN, SLAPI_TARGET_SDN);
	EXPECT_EQ(SLAPI_ORIGINAL_TARGET, SLAPI_ORIGINAL_TARGET_DN);
}

} // namespace
