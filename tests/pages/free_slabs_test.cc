/* SPDX-License-Identifier: MIT */
/* Slabs that no cache uses: the order they are taken in, decay and trim. */
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include <sys/mman.h>

#include <gtest/gtest.h>

#include <slab/debug.h>

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

TEST_F(FreeSlabs, WhereAllocationsOfPagesAreToFailNoneIsTaken)
{
	take(17, 300);
	give_back();
	ASSERT_EQ(slab_set_fail("times=1"), 0);
	errno = 0;
	EXPECT_EQ(segment_take_slab(geometry_get(17, 300), 0), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	slab_set_fail(nullptr);
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

/* --- other sizes --- */

constexpr unsigned small = 17, large = 20;

class SplitAndJoin : public SegmentTest
{
protected:
	SplitAndJoin()
	{
		segment_trim(nullptr);
	}

	struct slab *take_populated(unsigned shift)
	{
		struct slab *slab = take(shift, 300);

		slab_populate(slab, slab_bytes(slab));
		slab->cpu.base[0] = 1;
		return slab;
	}

	/* Populated small slabs that fill an aligned range of a large one. Returns its start. */
	char *fill_range()
	{
		constexpr std::uintptr_t bytes = 1u << large;
		char *first = take_populated(large)->cpu.base;

		give_back();
		for (unsigned i = 0; i < 1u << (large - small); i++)
			EXPECT_EQ(address_of(take_populated(small)) / bytes,
				  reinterpret_cast<std::uintptr_t>(first) / bytes);
		return first;
	}

	static std::uintptr_t address_of(const struct slab *slab)
	{
		return reinterpret_cast<std::uintptr_t>(slab->cpu.base);
	}

	void give_all_back()
	{
		while (!taken_.empty())
			give_back();
	}
};

TEST_F(SplitAndJoin, ALargerFreeSlabServesSmallerOnes)
{
	char *base = take_populated(large)->cpu.base;

	give_back();
	const struct slab *slab = take(small, 700);

	EXPECT_EQ(slab->cpu.base, base);
	EXPECT_EQ(slab->populated, slab_bytes(slab));
	EXPECT_EQ(slab_of(base + slab_bytes(slab) - 1), slab);
	EXPECT_NE(slab_of(base + slab_bytes(slab)), slab);
	EXPECT_EQ(process_stats().cached_bytes, (1u << large) - (1u << small));
	EXPECT_EQ(take(small, 700)->cpu.base, base + (1u << small));
}

TEST_F(SplitAndJoin, ThePieceAtTheStartKeepsItsDescriptor)
{
	const struct slab *slab = take_populated(large);

	give_back();
	EXPECT_EQ(take(small, 300), slab);
}

TEST_F(SplitAndJoin, OnlyThePopulatedPartIsFreeMemory)
{
	struct slab *slab = take(large, 300);

	slab_populate(slab, 3u << small);
	give_back();
	take(small, 300);
	EXPECT_EQ(process_stats().cached_bytes, 2u << small);
}

TEST_F(SplitAndJoin, NeighboursServeALargerSlab)
{
	char *first = fill_range();

	give_all_back();
	const struct slab *slab = take(large, 500);

	EXPECT_EQ(slab->cpu.base, first);
	EXPECT_EQ(slab->populated, slab_bytes(slab));
	for (std::size_t at = 0; at < slab_bytes(slab); at += 16384)
		EXPECT_EQ(slab_of(first + at), slab);
	EXPECT_EQ(process_stats().cached_bytes, 0u);
}

TEST_F(SplitAndJoin, ANeighbourInUseIsLeftAlone)
{
	char *first = fill_range();
	struct slab *kept = taken_.front();

	taken_.erase(taken_.begin());
	give_all_back();
	EXPECT_NE(take(large, 500)->cpu.base, first);
	EXPECT_EQ(slab_of(kept->cpu.base), kept);
	segment_free_slab(kept);
}

TEST_F(SplitAndJoin, ANeighbourThatLacksMemoryIsLeftAlone)
{
	char *first = fill_range();

	taken_.back()->populated = page;
	give_all_back();
	EXPECT_NE(take(large, 500)->cpu.base, first);
}

TEST_F(SplitAndJoin, DecayReturnsThePiecesOfAnOldSlab)
{
	constexpr std::uint32_t now = 1000;
	struct slab *slab = take_populated(large);

	slab_set_idle_since(slab, now - DECAY_EPOCHS);
	give_back();
	take(small, 300);
	EXPECT_EQ(segment_decay(now, [](const struct slab *) { return true; }),
		  (1u << large) - (1u << small));
}

/* --- address space --- */

bool is_mapped(const void *address)
{
	unsigned char status;

	return mincore(const_cast<void *>(address), 1, &status) == 0;
}

/* The base of a slab in a segment whose units are all free, and unmapped. */
class UnmappedSegment : public SegmentTest
{
protected:
	UnmappedSegment()
	{
		segment_trim(nullptr);
		while (segments_ == process_stats().segments)
			base_ = take(LARGE_SHIFT_MAX, 1)->cpu.base;
		/* The others stay in use, so no segment has room for a slab of this size. */
		give_back();
		segment_trim(nullptr);
		EXPECT_GE(segment_unmap_free(), SEGMENT_SIZE / 2);
		segments_++;
	}

	std::uint64_t segments_ = process_stats().segments;
	char *base_ = nullptr;
};

TEST_F(UnmappedSegment, HasNoAddressesButThoseOfItsHead)
{
	EXPECT_FALSE(is_mapped(base_));
	EXPECT_TRUE(is_mapped(segment_of(base_)));
	EXPECT_EQ(slab_of(base_), &slab_none);
	EXPECT_EQ(segment_unmap_free(), 0u);
}

TEST_F(UnmappedSegment, IsMappedAgainForTheNextSlab)
{
	EXPECT_EQ(take(LARGE_SHIFT_MAX, 1)->cpu.base, base_);
	base_[0] = 1;
	EXPECT_EQ(process_stats().segments, segments_);
}

TEST_F(UnmappedSegment, IsLeftAloneIfItsAddressesAreInUse)
{
	void *other = mmap(base_, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(other, base_);
	EXPECT_NE(take(LARGE_SHIFT_MAX, 1)->cpu.base, base_);
	EXPECT_EQ(process_stats().segments, segments_ + 1);
	munmap(other, page);
}

TEST_F(FreeSlabs, SegmentsWithASlabInUseStayMapped)
{
	const struct slab *slab = take(small, 100);

	segment_trim(nullptr);
	segment_unmap_free();
	EXPECT_TRUE(is_mapped(slab->cpu.base));
}

} /* namespace */
