/* SPDX-License-Identifier: MIT */
/*
 * The page layer: what segments cost, that each slab has one owner, and that memory of
 * free slabs is kept and given back as promised. Layouts: segment_layout_test.cc.
 */
#include <atomic>
#include <cerrno>
#include <chrono>
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
#include "core/init.h"
}

using namespace slab_test;

namespace
{

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

/* Threads that take slabs change the segment's map under it. */
TEST_F(SegmentTest, WhetherAUnitIsFreeIsLookedUpUnderTheLock)
{
	const struct slab *slab = take(17, 4567);
	std::atomic<bool> is_known{false};

	segment_lock();
	std::thread asking([&] {
		segment_unit_is_free(slab->cpu.base);
		is_known = true;
	});
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	EXPECT_FALSE(is_known);
	segment_unlock();
	asking.join();
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
	for (std::size_t size = 8; size <= SLAB_MAX_OBJECT_SIZE; size += 8 + size / 512 * 8) {
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

/* Large allocations */

TEST_F(SegmentTest, LargeMappingsHaveAHeadOfTheirOwn)
{
	for (std::size_t align :
	     {std::size_t{1}, std::size_t{64}, page, page * 16, std::size_t{8} << 20,
	      std::size_t{16} << 20, std::size_t{1} << 30}) {
		const std::uint64_t before = process_stats().large_bytes;
		const std::size_t bytes = (std::size_t{5} << 20) + 1;
		struct slab *slab = segment_map_large(bytes, align);

		ASSERT_NE(slab, nullptr);
		struct segment *segment = segment_of(slab);

		EXPECT_EQ(address(segment) % SEGMENT_SIZE, std::size_t{SEGMENT_HEAD_OFFSET});
		EXPECT_EQ(segment->magic, SEGMENT_MAGIC);
		EXPECT_EQ(slab->geometry, nullptr);
		EXPECT_EQ(address(slab->cpu.base) % align, 0u);
		EXPECT_EQ(large_slab_of(slab->cpu.base), slab);
		EXPECT_EQ(slab->cpu.user, nullptr);
		EXPECT_EQ(slab->cpu.owner, CPU_NONE);
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
