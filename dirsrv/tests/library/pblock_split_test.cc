/* SPDX-License-Identifier: MIT */
/*
 * What the split is for: how much memory pblocks take, counted by the caches; and what
 * happens when a cache has none.
 */
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/dirsrv/pblock.h>
#include <slab/stats.h>

#include "pblock_parameters.h"

using namespace pblock_test;

namespace
{

struct usage {
	std::size_t objects, bytes;
};

/* What is allocated from caches of pblocks. */
usage now()
{
	usage sum = {};

	slab_for_each_cache(
		[](struct slab_cache *cache, void *arg) {
			auto *total = static_cast<usage *>(arg);
			struct slab_stats stats = {};

			stats.struct_size = sizeof(stats);
			EXPECT_EQ(slab_cache_stats(cache, &stats), 0);
			if (!std::strncmp(stats.name, "pblock", 6)) {
				total->objects += stats.objects;
				total->bytes += stats.objects * stats.object_size;
			}
			return 0;
		},
		&sum);
	return sum;
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
	usage before = now();
	Slapi_PBlock *pb = slapi_pblock_new();

	for (int number : numbers)
		EXPECT_EQ(set_value(pb, parameter_of(number), 1), 0) << number;
	usage with = now();

	slapi_pblock_destroy(pb);
	usage after = now();

	EXPECT_EQ(after.objects, before.objects);
	return {with.objects - before.objects, with.bytes - before.bytes};
}

TEST(pblock_split_test, nine_of_ten_pblocks_are_one_cache_line)
{
	const std::vector<int> numbers = {SLAPI_PLUGIN, SLAPI_PLUGIN_SYNTAX_FILTER_NORMALIZED,
					  SLAPI_PLUGIN_DB_ENTRY_FN, SLAPI_PLUGIN_DB_REFERRAL_FN,
					  SLAPI_PLUGIN_DB_RESULT_FN};
	usage taken = of_pblock_with(numbers);

	EXPECT_EQ(taken.objects, 1u);
	EXPECT_EQ(taken.bytes, 64u);
}

TEST(pblock_split_test, a_search_takes_at_most_280_bytes)
{
	const std::vector<int> numbers = {3,   47,  51,  109, 110, 111, 112, 113, 114,  115,
					  116, 117, 119, 130, 131, 132, 133, 191, 193,  194,
					  195, 198, 214, 215, 216, 712, 860, 881, 1160, 1930};
	usage taken = of_pblock_with(numbers);

	EXPECT_EQ(taken.objects, 2u);
	EXPECT_LE(taken.bytes, 280u);
}

TEST(pblock_split_test, its_size_is_what_the_caches_count)
{
	for (const parameter &p : all_parameters()) {
		Slapi_PBlock *pb = slapi_pblock_new();
		std::size_t without = now().bytes - slab_pblock_size(pb);

		EXPECT_EQ(set_value(pb, p, 1), 0) << p;
		EXPECT_EQ(without + slab_pblock_size(pb), now().bytes) << p;
		slapi_pblock_destroy(pb);
	}
}

TEST(pblock_split_test, reading_takes_no_memory)
{
	usage before = now();
	Slapi_PBlock *pb = slapi_pblock_new();

	for (const parameter &p : all_parameters())
		EXPECT_EQ(get_value(pb, p), default_of(p)) << p;
	EXPECT_EQ(now().objects, before.objects + 1);
	slapi_pblock_destroy(pb);
}

TEST(pblock_split_test, injected_failures_are_minus_one)
{
	Slapi_PBlock *pb = slapi_pblock_new();

	ASSERT_EQ(slab_set_fail("probability=100,cache=pblock*"), 0);
	errno = 0;
	EXPECT_EQ(slapi_pblock_new(), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	for (int number : {SLAPI_OPERATION, SLAPI_ENTRY_PRE_OP, SLAPI_TASK_FLAGS}) {
		const parameter &p = parameter_of(number);

		EXPECT_EQ(set_value(pb, p, 0), -1) << p;
		EXPECT_EQ(get_value(pb, p), default_of(p)) << p;
	}
	ASSERT_EQ(slab_set_fail(""), 0);
	slapi_pblock_destroy(pb);
}

} // namespace
