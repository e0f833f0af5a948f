/* SPDX-License-Identifier: MIT */
/*
 * The page layer: what segments cost, that each slab has one owner, and that memory of
 * free slabs is kept and given back as promised. Layouts: segment_layout_test.cc.
 */
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <slab/malloc.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "segments.h"

extern "C" {
#include "cache/large.h"
#include "core/slab.h"
#include "cpu_slab.h"
#include "memory/decay.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/free_slabs.h"
#include "pages/segment.h"
#include "registry/init.h"
}

using namespace slab_test;

namespace
{

std::uintptr_t address(const void *ptr)
{
	return reinterpret_cast<std::uintptr_t>(ptr);
}

/* Of a slab's memory, whatever this machine's pages are. */
std::size_t resident_bytes(const struct slab *slab)
{
	return resident_pages(slab->cpu.base, slab_bytes(slab)) *
	       static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/* What a segment costs */

/* The whole of a segment's table is on the page of its head, or on few behind it. */
TEST_F(SegmentTest, AFurtherGeometryNeedsNoSegment)
{
	take(16, 64);
	const std::uint64_t before = process_stats().segments;

	for (unsigned objects = 64; objects <= 4096; objects += 64)
		take(16, objects);
	EXPECT_LE(process_stats().segments, before + 1);
}

/* 8-byte objects: the descriptors and stacks of a whole block take 64 KiB. */
TEST_F(SegmentTest, DescriptorsOfSlabsThatAreNotNeededHoldNoMemory)
{
	EXPECT_EQ(run_in_child([] {
			  const std::uint64_t before = process_stats().metadata_bytes;
			  const struct slab *slab = segment_take_slab(geometry_get(16, 8000), 0);

			  if (!slab)
				  return 1;
			  if (process_stats().metadata_bytes - before > 2 * 17000)
				  return 2;
			  /* Only the page of the descriptor, and neither stack nor links. */
			  const char *start = reinterpret_cast<const char *>(slab);

			  return resident_pages(const_cast<char *>(start), 65536) == 1 ? 0 : 3;
		  }),
		  "");
}

TEST_F(SegmentTest, AddressesOfUnitsWithoutASlabLeadNowhere)
{
	const struct slab *slab = take(17, 4567);
	const struct segment *segment = segment_of(slab->cpu.base);

	for (unsigned unit = 0; unit < SEGMENT_UNITS; unit++)
		if (segment->free[unit / 64] >> unit % 64 & 1) {
			EXPECT_EQ(segment_slab(segment, unit), &slab_none);
		}
	EXPECT_EQ(slab_of(slab->cpu.base), slab);
}

/* 0 under sanitizers, which map memory of their own meanwhile. */
std::size_t mappings()
{
	if (under_asan || under_tsan)
		return 0;

	std::ifstream maps("/proc/self/maps");
	std::string line;
	std::size_t n = 0;

	while (std::getline(maps, line))
		n++;
	return n;
}

/* vm.max_map_count bounds the heap: see docs/memory.md. */
TEST_F(SegmentTest, ASegmentOfSixteenMebibytesIsFourMappings)
{
	constexpr std::uint64_t segments = 8;
	const std::uint64_t before = process_stats().segments;
	const std::size_t mapped = mappings();

	EXPECT_EQ(SEGMENT_SIZE, std::uint64_t{16} << 20);
	while (process_stats().segments < before + segments)
		take(19, 321);
	EXPECT_LE(mappings(), mapped + 4 * segments + 2);
}

/* Too many mappings: no segment without its guards. */
TEST_F(SegmentTest, ASegmentWhoseGuardsCannotBeMadeIsNone)
{
	for (unsigned call : {1u, 2u}) {
		const std::uint64_t before = fill_segments(21);
		const std::size_t mapped = mappings();

		os_protect_fails = call;
		errno = 0;
		EXPECT_EQ(segment_take_slab(geometry_get(21, 1), 0), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(os_protect_fails, 0u);
		EXPECT_EQ(process_stats().segments, before);
		EXPECT_LE(mappings(), mapped);
		EXPECT_NE(take(21, 1), nullptr);
		EXPECT_EQ(process_stats().segments, before + 1);
	}
}

TEST_F(SegmentTest, DescriptorsWhoseGuardCannotBeMadeAreNone)
{
	EXPECT_EQ(run_in_child([] {
			  /* An arena has room for three of them. */
			  struct geometry *geometry = geometry_get_debug(16, 64, 1 << 20);
			  unsigned n = 0;

			  os_protect_fails = 1;
			  while (n < 4 && segment_take_slab(geometry, 0))
				  n++;
			  if (n == 4 || errno != ENOMEM)
				  return 1;
			  return segment_take_slab(geometry, 0) ? 0 : 2;
		  }),
		  "");
}

TEST_F(SegmentTest, ALargeMappingWhoseGuardCannotBeMadeIsNone)
{
	const std::uint64_t before = process_stats().large_bytes;
	const std::size_t mapped = mappings();

	os_protect_fails = 1;
	errno = 0;
	EXPECT_EQ(segment_map_large(std::size_t{5} << 20, 1), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(process_stats().large_bytes, before);
	EXPECT_LE(mappings(), mapped);
}

/* Each maps a segment; one is enough. */
TEST_F(SegmentTest, ThreadsThatNeedASegmentAtOnceGetOne)
{
	struct geometry *geometry = geometry_get(21, 1);
	const std::uint64_t before = fill_segments(21);
	std::vector<struct slab *> slabs(7);
	std::vector<std::thread> threads;
	std::atomic<unsigned> ready{0};

	for (auto &slab : slabs)
		threads.emplace_back([&] {
			for (ready++; ready < slabs.size();)
				std::this_thread::yield();
			slab = segment_take_slab(geometry, 0);
		});
	for (auto &thread : threads)
		thread.join();
	EXPECT_EQ(process_stats().segments, before + 1);
	EXPECT_EQ(std::set<struct slab *>(slabs.begin(), slabs.end()).size(), slabs.size());
	for (struct slab *slab : slabs) {
		ASSERT_NE(slab, nullptr);
		taken_.push_back(slab);
	}
}

/* Geometries */

TEST_F(SegmentTest, LayoutsWithRoomForSimilarNumbersShareAGeometry)
{
	EXPECT_EQ(geometry_get(16, 600), geometry_get(16, 640));
	EXPECT_NE(geometry_get(16, 640), geometry_get(16, 641));
	EXPECT_EQ(geometry_get(16, 1), geometry_get(16, 64));
	EXPECT_NE(geometry_get(16, 64), geometry_get(16, 65));
	EXPECT_NE(geometry_get(16, 64), geometry_get(17, 64));
}

/* There are fewer geometries than layouts; sizes need not that many. */
TEST_F(SegmentTest, EverySizeFindsAGeometry)
{
	for (std::size_t size = 8; size <= SLAB_MAX_OBJECT_SIZE; size += 8) {
		test_cache cache(size);
		const struct slab_cache *c = cache;

		ASSERT_NE(c, nullptr) << size;
		for (const struct slab_order &order : {c->small, c->large}) {
			ASSERT_GE(order.objects, 1u) << size;
			ASSERT_LE(order.objects * c->size, std::size_t{1} << order.shift) << size;
			ASSERT_LE(order.objects, UINT16_MAX) << size;
		}
	}
}

TEST_F(SegmentTest, WhenThereAreTooManyGeometriesMemoryIsShort)
{
	EXPECT_EQ(run_in_child([] {
			  for (std::size_t side = 4096; side < 4096 * 1000; side += 4096)
				  if (!geometry_get_debug(16, 64, side))
					  return errno == ENOMEM ? 0 : 2;
			  return 1;
		  }),
		  "");
}

/* No arena has room for it. */
TEST_F(SegmentTest, RecordsThatFitInNoArenaAreShortOfMemory)
{
	errno = 0;
	EXPECT_EQ(segment_take_slab(geometry_get_debug(19, 65535, std::size_t{8} << 20), 0),
		  nullptr);
	EXPECT_EQ(errno, ENOMEM);
}

/* Slabs and their memory */

TEST_F(SegmentTest, NoSlabIsHandedOutTwice)
{
	std::set<char *> bases;

	for (unsigned i = 0; i < 3 * SEGMENT_UNITS; i++) {
		const struct slab *slab = take(16, i % 3 ? 600 : 64);

		EXPECT_TRUE(bases.insert(slab->cpu.base).second);
	}
	EXPECT_EQ(std::set<struct slab *>(taken_.begin(), taken_.end()).size(), taken_.size());
}

TEST_F(SegmentTest, SegmentsAreListedNewestFirst)
{
	const std::uint64_t before = process_stats().segments;
	unsigned listed = 0;

	do
		take(18, 777);
	while (process_stats().segments == before);
	EXPECT_EQ(segment_first(), segment_of(taken_.back()->cpu.base));
	for (struct segment *s = segment_first(); s; s = s->next)
		listed++;
	EXPECT_EQ(process_stats().segments, listed);
	EXPECT_EQ(listed, before + 1);
}

TEST_F(SegmentTest, TheSlabFreedLastIsTakenFirst)
{
	struct slab *slab = take(17, 300);

	take(17, 300);
	std::swap(taken_[0], taken_[1]);
	give_back();
	EXPECT_EQ(slab->cpu.user, nullptr);
	EXPECT_EQ(take(17, 300), slab);
}

/* Memory that a cache has freed serves every other one at once. */
TEST_F(SegmentTest, TheSlabFreedLastServesAnotherGeometry)
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

TEST_F(SegmentTest, UnitsOfSlabsWithoutMemoryServeEverySize)
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

/* Of 256 slabs the descriptors, stacks and links. */
/* A slab that became idle later is freed after one that has been idle for longer. */
TEST_F(SegmentTest, DecayFindsTheOldestFreeSlab)
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

TEST_F(SegmentTest, DescriptorsOfFreeSlabsReturnTheirMemory)
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

TEST_F(SegmentTest, PopulateBringsMemoryUpToThatPage)
{
	struct slab *slab = take(19, 900);

	segment_free_slab(slab);
	segment_trim(nullptr);
	ASSERT_EQ(take(19, 900), slab);
	taken_.pop_back();
	EXPECT_EQ(slab->populated, 0u);
	EXPECT_EQ(resident_bytes(slab), 0u);
	slab_populate(slab, 1);
	EXPECT_EQ(slab->populated, page);
	EXPECT_EQ(resident_bytes(slab), 0u) << "a single page is left to its first write";
	std::memset(slab->cpu.base, 1, page);
	slab_populate(slab, 3 * page - 5);
	EXPECT_EQ(slab->populated, 3 * page);
	slab_populate(slab, page);
	EXPECT_EQ(slab->populated, 3 * page);
	EXPECT_EQ(resident_bytes(slab), 3 * page);
	slab_populate(slab, std::size_t{1} << 30);
	EXPECT_EQ(slab->populated, slab_bytes(slab));
	EXPECT_EQ(resident_bytes(slab), slab_bytes(slab));
}

TEST_F(SegmentTest, FreeSlabsKeepTheirMemoryUntilTrimmed)
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

TEST_F(SegmentTest, TrimLeavesSlabsInUseAlone)
{
	struct slab *slab = take(16, 500);

	slab_populate(slab, page);
	slab->cpu.base[100] = 1;
	segment_trim(nullptr);
	EXPECT_EQ(slab->populated, page);
	EXPECT_EQ(slab->cpu.base[100], 1);
}

/* Large allocations */

TEST_F(SegmentTest, LargeMappingsHaveAHeadOfTheirOwn)
{
	for (std::size_t align : {std::size_t{1}, std::size_t{64}, page, page * 16,
				  std::size_t{1} << 20, LARGE_ALIGN_MAX}) {
		const std::uint64_t before = process_stats().large_bytes;
		const std::size_t bytes = (std::size_t{5} << 20) + 1;
		struct slab *slab = segment_map_large(bytes, align);

		ASSERT_NE(slab, nullptr);
		struct segment *segment = segment_of(slab);

		EXPECT_EQ(address(segment) % SEGMENT_SIZE, std::size_t{SEGMENT_HEAD_OFFSET});
		EXPECT_EQ(segment->magic, SEGMENT_MAGIC);
		EXPECT_EQ(slab->geometry, nullptr);
		EXPECT_EQ(address(slab->cpu.base) % align, 0u);
		EXPECT_EQ(slab_of(slab->cpu.base), slab);
		EXPECT_EQ(slab->cpu.user, nullptr);
		EXPECT_EQ(cpu_slab_owner(&slab->cpu), CPU_NONE);
		EXPECT_EQ(slab->large, bytes);
		EXPECT_EQ(process_stats().large_bytes,
			  before + segment->mapped - SEGMENT_HEAD_OFFSET);
		slab->cpu.base[0] = slab->cpu.base[bytes - 1] = 1;
		segment_unmap_large(slab);
		EXPECT_EQ(process_stats().large_bytes, before);
	}
}

TEST_F(SegmentTest, LargeMappingsShrinkAndGrowInPlace)
{
	const std::size_t bytes = std::size_t{3} << 20;
	struct slab *slab = segment_map_large(bytes, 1);
	const std::uint64_t before = process_stats().large_bytes;
	const std::uint64_t mapped = segment_of(slab)->mapped;

	slab->cpu.base[0] = 7;
	ASSERT_TRUE(segment_resize_large(slab, page));
	EXPECT_EQ(segment_of(slab)->mapped, mapped - bytes + page);
	EXPECT_EQ(process_stats().large_bytes, before - bytes + page);
	ASSERT_TRUE(segment_resize_large(slab, 2 * page));
	EXPECT_EQ(slab->cpu.base[0], 7);
	slab->cpu.base[2 * page - 1] = 7;
	EXPECT_FALSE(segment_resize_large(slab, SIZE_MAX - page));
	EXPECT_EQ(segment_of(slab)->mapped, mapped - bytes + 2 * page);
	segment_unmap_large(slab);
}

TEST_F(SegmentTest, LargeMappingsThatCannotBeAreRefused)
{
	for (std::size_t bytes : {SIZE_MAX, SIZE_MAX - page, SIZE_MAX / 2}) {
		errno = 0;
		EXPECT_EQ(segment_map_large(bytes, 1), nullptr);
		EXPECT_EQ(errno, ENOMEM);
	}
}

/* Up to the largest slab, large allocations are slabs that are used again. */
TEST_F(SegmentTest, LargeAllocationsThatFitAreSlabs)
{
	const std::uint64_t before = process_stats().large_bytes;
	void *first = large_alloc(100000, 1);
	struct slab *slab = slab_of(first);

	ASSERT_NE(first, nullptr);
	EXPECT_NE(slab->geometry, nullptr);
	EXPECT_EQ(slab->large, 100000u);
	EXPECT_GE(slab->populated, 100000u);
	EXPECT_EQ(large_usable(slab), os_pages(100000));
	EXPECT_EQ(process_stats().large_bytes, before + os_pages(100000));
	large_free(slab, first, nullptr);
	EXPECT_EQ(slab->large, 0u);
	EXPECT_EQ(process_stats().large_bytes, before);
	EXPECT_EQ(large_alloc(70000, 1), first);
	large_free(slab, first, nullptr);
}

/* A slab that serves one has no user, and is in use all the same. */
TEST_F(SegmentTest, ALargeAllocationUsesItsHugePage)
{
	void *memory = large_alloc((std::size_t{1} << 20) + 1, 1);
	struct slab *slab = slab_of(memory);

	ASSERT_EQ(slab_bytes(slab), std::size_t{2} << 20);
	EXPECT_TRUE(decay_would_waste(slab));
	large_free(slab, memory, nullptr);
	EXPECT_FALSE(decay_would_waste(slab));
}

} /* namespace */
