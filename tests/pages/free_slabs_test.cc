/* SPDX-License-Identifier: MIT */
/* Slabs that no cache uses: the order they are taken in, decay and trim. */
#include <cstring>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "segments.h"

extern "C" {
#include "core/slab.h"
#include "cpu_slab.h"
#include "memory/decay.h"
#include "pages/idle.h"
}

using namespace slab_test;

namespace
{

class FreeSlabs : public SegmentTest
{
};

TEST_F(FreeSlabs, TheSlabFreedLastIsTakenFirst)
{
	struct slab *slab = take(17, 300);

	take(17, 300);
	std::swap(taken_[0], taken_[1]);
	give_back();
	EXPECT_EQ(slab->cpu.user, nullptr);
	EXPECT_EQ(take(17, 300), slab);
}

/* Memory that a cache has freed serves every other one at once. */
TEST_F(FreeSlabs, TheSlabFreedLastServesAnotherGeometry)
{
	struct slab *slab = take(16, 300);
	char *base = slab->cpu.base;

	slab_populate(slab, slab_bytes(slab));
	base[5] = 5;
	give_back();
	const struct slab *other = take(16, 700);

	EXPECT_EQ(other->cpu.base, base);
	EXPECT_NE(other, slab);
	EXPECT_EQ(other->populated, slab_bytes(other));
	EXPECT_EQ(base[5], 5);
	EXPECT_EQ(slab_of(base), other);
	EXPECT_EQ(slab_of(base + slab_bytes(other) - 1), other);
}

TEST_F(FreeSlabs, UnitsOfSlabsWithoutMemoryServeEverySize)
{
	std::set<char *> bases;

	segment_trim(nullptr);
	for (unsigned i = 0; i < 8 * 32; i++) {
		struct slab *slab = take(16, 300);

		slab_populate(slab, page);
		bases.insert(slab->cpu.base);
	}
	const std::uint64_t before = process_stats().segments;

	while (!taken_.empty())
		give_back();
	segment_trim(nullptr);
	for (char *base : bases)
		EXPECT_EQ(slab_of(base), &slab_none);
	for (unsigned i = 0; i < 7; i++)
		take(21, 1);
	EXPECT_EQ(process_stats().segments, before);
}

/* A slab that became idle later is freed after one that has been idle for longer. */
TEST_F(FreeSlabs, DecayFindsTheOldestFreeSlab)
{
	constexpr std::uint32_t now = 1000, old = now - DECAY_EPOCHS;
	const auto any = [](const struct slab *) { return true; };

	segment_trim(nullptr);
	for (const std::uint32_t since : {now, old}) {
		struct slab *slab = take(16, 300);

		slab_populate(slab, slab_bytes(slab));
		slab_set_idle_since(slab, since);
	}
	give_back();
	give_back();
	EXPECT_EQ(segment_decay(now, any), std::size_t{1} << 16);
	EXPECT_EQ(segment_decay(now, any), 0u);
	segment_trim(nullptr);
}

/* Of 256 slabs the descriptors, stacks and links. */
TEST_F(FreeSlabs, DescriptorsOfFreeSlabsReturnTheirMemory)
{
	segment_trim(nullptr);
	const std::uint64_t before = process_stats().metadata_bytes;

	for (unsigned i = 0; i < 256; i++)
		slab_populate(take(16, 4096), page);
	EXPECT_GE(process_stats().metadata_bytes, before + 256 * 16384);
	while (!taken_.empty())
		give_back();
	segment_trim(nullptr);
	EXPECT_LE(process_stats().metadata_bytes, before + 65536);
}

TEST_F(FreeSlabs, FreeSlabsKeepTheirMemoryUntilTrimmed)
{
	struct slab *slab = take(16, 500);
	segment_trim(nullptr);
	const std::uint64_t cached = process_stats().cached_bytes;

	slab_populate(slab, slab_bytes(slab));
	std::memset(slab->cpu.base, 1, slab_bytes(slab));
	EXPECT_EQ(process_stats().cached_bytes, cached);
	give_back();
	EXPECT_EQ(process_stats().cached_bytes, cached + slab_bytes(slab));
	EXPECT_EQ(resident_bytes(slab), slab_bytes(slab));
	EXPECT_GE(segment_trim(nullptr), 1u);
	EXPECT_EQ(process_stats().cached_bytes, 0u);
	EXPECT_EQ(slab->populated, 0u);
	EXPECT_EQ(resident_bytes(slab), 0u);
	EXPECT_EQ(segment_trim(nullptr), 0u);
	ASSERT_EQ(take(16, 500), slab);
	EXPECT_EQ(slab->cpu.base[100], 0);
}

TEST_F(FreeSlabs, TrimLeavesSlabsInUseAlone)
{
	struct slab *slab = take(16, 500);

	slab_populate(slab, page);
	slab->cpu.base[100] = 1;
	segment_trim(nullptr);
	EXPECT_EQ(slab->populated, page);
	EXPECT_EQ(slab->cpu.base[100], 1);
}

} /* namespace */
