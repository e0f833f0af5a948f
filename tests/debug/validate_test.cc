/* SPDX-License-Identifier: MIT */
/*
 * Validation of slabs without debug flags: a damaged freelist is reported and isolated, and
 * a wrong count of a partial list is adjusted.
 */
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/slab.h>

#include "../support/debugging.h"

extern "C" {
#include "core/cache.h"
#include "core/node.h"
#include "cpu_slab.h"
#include "pages/segment.h"
}

using namespace slab_test;

namespace
{

/* A slab on the node's partial list: 16 of its objects are allocated; those returned are free. */
std::vector<void *> make_partial(struct slab_cache *cache, std::vector<void *> &held)
{
	std::vector<void *> freed = alloc_many(cache, 16);

	held = alloc_many(cache, 16);
	free_many(cache, freed);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	return freed;
}

/* A cache that keeps the objects of a damaged freelist, so that it cannot be destroyed. */
struct slab_cache *create_lasting(const char *name)
{
	return slab_cache_create(name, 64, nullptr, SLAB_NO_MERGE);
}

/* What a stray write may do: the freelist has one object twice. */
void damage_freelist(void *freed)
{
	struct slab *slab = slab_of(freed);
	const std::uint16_t offset8 = cpu_slab_offset8(&slab->cpu, freed);

	ASSERT_EQ(cpu_slab_owner(&slab->cpu), CPU_NONE);
	cpu_slab_put(&slab->cpu, 1, &offset8);
}

TEST_F(DebugTest, ADamagedFreelistOfAPlainSlabIsReported)
{
	struct slab_cache *cache = create_lasting("reported");
	std::vector<void *> held;
	const std::vector<void *> freed = make_partial(cache, held);

	damage_freelist(freed[0]);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const caught_report report = reported();
	EXPECT_EQ(report.info.problem, SLAB_PROBLEM_FREELIST);
	EXPECT_EQ(report.reason, "Freechain corrupt");
	EXPECT_NE(report.text.find(" of its entries lead to no object, or to one twice\n"),
		  std::string::npos)
		<< report.text;
	EXPECT_NE(report.text.find(": Isolate corrupted freechain\n"), std::string::npos)
		<< report.text;
	free_many(cache, held);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(slab_cache_destroy(cache), -EBUSY);
}

/* A descriptor that a stray write hit. Its freelist is empty, and nothing can be right with it. */
TEST_F(DebugTest, ASlabWithMoreObjectsThanFitHasAWrongEntry)
{
	struct slab_cache *cache = create_lasting("more");
	std::vector<void *> held;

	make_partial(cache, held);
	struct slab *slab = slab_of(held[0]);
	std::vector<std::uint16_t> taken(cpu_slab_free_count(&slab->cpu));

	cpu_slab_take(&slab->cpu, static_cast<unsigned>(taken.size()), taken.data());
	slab->initialized = static_cast<std::uint16_t>(slab->objects + 1);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const std::string text = reported().text;
	EXPECT_NE(text.find("\n1 of its entries lead to no object"), std::string::npos) << text;
}

TEST_F(DebugTest, ADamagedFreelistIsNeverAllocatedFrom)
{
	struct slab_cache *cache = create_lasting("isolated");
	std::vector<void *> held;
	const std::vector<void *> freed = make_partial(cache, held);

	damage_freelist(freed[0]);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const std::vector<void *> objs = alloc_many(cache, 1000);
	for (void *obj : freed)
		EXPECT_EQ(std::count(objs.begin(), objs.end(), obj), 0);
	free_many(cache, objs);
	free_many(cache, held);
}

TEST_F(DebugTest, AWrongCountOfAPartialListIsAdjusted)
{
	test_cache cache(64, SLAB_NO_MERGE);
	std::vector<void *> held;

	make_partial(cache, held);
	struct node_list &partial = static_cast<struct slab_cache *>(cache)->node[0].partial;
	ASSERT_EQ(partial.count, 1u);
	partial.count = 4;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const caught_report report = reported();
	EXPECT_EQ(report.info.problem, SLAB_PROBLEM_COUNT);
	EXPECT_EQ(report.reason, "1 partial slabs counted but counter=4");
	EXPECT_NE(report.text.find(": Counter of node 0 adjusted\n"), std::string::npos)
		<< report.text;
	EXPECT_EQ(slab_cache_validate(cache), 0);
	free_many(cache, held);
}

} /* namespace */
