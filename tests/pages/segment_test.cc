/* SPDX-License-Identifier: MIT */
/*
 * The page layer: what segments cost, that each slab has one user, and that memory of
 * free slabs is kept and given back as promised.
 */
#include "segments.h"

namespace
{

/* What a segment costs */

/* Descriptors lie in arenas. */
TEST_F(SegmentTest, FurtherSizesOfDescriptorsNeedNoSegment)
{
	take(16, 64);
	const std::uint64_t before = slab_pages.segment_count;

	for (unsigned objects = 64; objects <= 4096; objects += 64)
		take(16, objects);
	EXPECT_LE(slab_pages.segment_count, before + 1);
}

/* No other test has descriptors of this size. */
TEST_F(SegmentTest, DescriptorsOfSlabsThatAreNotNeededHoldNoMemory)
{
	EXPECT_IN_CHILD([] {
		const std::uint64_t before = slab_pages.metadata_bytes;
		struct slab *slab = take_slab(needs(16, 12345));

		if (!slab)
			return 1;
		if (slab_pages.metadata_bytes - before > 2000)
			return 2;
		return resident_pages(slab, 65536) == 1 ? 0 : 3;
	});
}

TEST_F(SegmentTest, AddressesOfUnitsWithoutASlabLeadNowhere)
{
	const struct slab *slab = take(17, 4567);
	const struct segment *segment = segment_of(slab->base);

	for (unsigned unit = 0; unit < SEGMENT_UNITS; unit++)
		if (segment->free[unit / 64] >> unit % 64 & 1) {
			EXPECT_EQ(segment_slab(segment, unit), &slab_none);
		}
	EXPECT_EQ(slab_of(slab->base), slab);
}

/* Threads that take slabs change the segment's map under it. */
TEST_F(SegmentTest, WhetherAUnitIsFreeIsLookedUpUnderTheLock)
{
	const struct slab *slab = take(17, 4567);
	std::atomic<bool> is_known{false};

	segment_lock();
	std::thread asking([&] {
		segment_unit_is_free(slab->base);
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
	const std::uint64_t before = fill_segments(19);
	const std::size_t mapped = mappings();

	EXPECT_EQ(SEGMENT_SIZE, std::uint64_t{16} << 20);
	while (slab_pages.segment_count < before + segments)
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
		EXPECT_EQ(take_slab(needs(21, 1)), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(os_protect_fails, 0u);
		EXPECT_EQ(slab_pages.segment_count, before);
		EXPECT_LE(mappings(), mapped);
		EXPECT_NE(take(21, 1), nullptr);
		EXPECT_EQ(slab_pages.segment_count, before + 1);
	}
}

TEST_F(SegmentTest, DescriptorsWhoseGuardCannotBeMadeAreNone)
{
	EXPECT_IN_CHILD([] {
			  /* An arena has room for three of them. */
		struct slab_needs debug = needs(16, 0);
		unsigned n = 0;

		debug.side = 1 << 20;
		if (!take_slab(debug))
			return 3;
		os_protect_fails = 1;
		while (n < 4 && take_slab(debug))
			n++;
		if (n == 4 || errno != ENOMEM)
			return 1;
		return take_slab(debug) ? 0 : 2;
	});
}

TEST_F(SegmentTest, ALargeMappingWhoseGuardCannotBeMadeIsNone)
{
	const std::uint64_t before = slab_pages.large_bytes;
	const std::size_t mapped = mappings();

	os_protect_fails = 1;
	errno = 0;
	EXPECT_EQ(segment_map_large(std::size_t{5} << 20, 1), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(slab_pages.large_bytes, before);
	EXPECT_LE(mappings(), mapped);
}

/* Each maps a segment; one is enough. */
TEST_F(SegmentTest, ThreadsThatNeedASegmentAtOnceGetOne)
{
	const std::uint64_t before = fill_segments(21);
	std::vector<struct slab *> slabs(7);
	std::vector<std::thread> threads;
	std::atomic<unsigned> ready{0};

	for (auto &slab : slabs)
		threads.emplace_back([&] {
			for (ready++; ready < slabs.size();)
				std::this_thread::yield();
			slab = take_slab(needs(21, 1));
		});
	join_all(threads);
	EXPECT_EQ(slab_pages.segment_count, before + 1);
	EXPECT_EQ(std::set<struct slab *>(slabs.begin(), slabs.end()).size(), slabs.size());
	for (struct slab *slab : slabs) {
		ASSERT_NE(slab, nullptr);
		taken_.push_back(slab);
	}
}

/* No arena has room for it. */
TEST_F(SegmentTest, RecordsThatFitInNoArenaAreShortOfMemory)
{
	struct slab_needs debug = needs(19, 0);

	debug.side = std::size_t{8} << 20;
	errno = 0;
	EXPECT_EQ(take_slab(debug), nullptr);
	EXPECT_EQ(errno, ENOMEM);
}

/* Slabs and their memory */

TEST_F(SegmentTest, NoSlabIsHandedOutTwice)
{
	std::set<char *> bases;

	for (unsigned i = 0; i < 3 * SEGMENT_UNITS; i++) {
		const struct slab *slab = take(16, i % 3 ? 600 : 64);

		EXPECT_TRUE(bases.insert(slab->base).second);
	}
	EXPECT_EQ(std::set<struct slab *>(taken_.begin(), taken_.end()).size(), taken_.size());
}

TEST_F(SegmentTest, SegmentsAreListedNewestFirst)
{
	const std::uint64_t before = slab_pages.segment_count;
	unsigned listed = 0;

	do
		take(18, 777);
	while (slab_pages.segment_count == before);
	EXPECT_EQ(segment_first(), segment_of(taken_.back()->base));
	for (struct segment *s = segment_first(); s; s = s->next)
		listed++;
	EXPECT_EQ(slab_pages.segment_count, listed);
	EXPECT_EQ(listed, before + 1);
}

TEST_F(SegmentTest, PopulateBringsMemoryUpToThatPage)
{
	segment_trim();
	struct slab *slab = take(19, 900);

	EXPECT_EQ(slab->populated, 0u);
	EXPECT_EQ(resident_bytes(slab), 0u);
	slab_populate(slab, 1);
	EXPECT_EQ(slab->populated, page);
	EXPECT_EQ(resident_bytes(slab), 0u) << "a single page is left to its first write";
	std::memset(slab->base, 1, page);
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
		const std::uint64_t before = slab_pages.large_bytes;
		const std::size_t bytes = (std::size_t{5} << 20) + 1;
		struct slab *slab = segment_map_large(bytes, align);

		ASSERT_NE(slab, nullptr);
		struct segment *segment = segment_of(slab);

		EXPECT_EQ(address(segment) % SEGMENT_SIZE, std::size_t{SEGMENT_HEAD_OFFSET});
		EXPECT_EQ(segment->magic, SEGMENT_MAGIC);
		EXPECT_EQ(slab->shift, 0u);
		EXPECT_EQ(address(slab->base) % align, 0u);
		EXPECT_EQ(segment_find_large(slab->base), slab);
		EXPECT_EQ(slab->user, nullptr);
		EXPECT_EQ(slab->large, bytes);
		EXPECT_EQ(slab_pages.large_bytes, before + segment->mapped - SEGMENT_HEAD_OFFSET);
		slab->base[0] = slab->base[bytes - 1] = 1;
		segment_unmap_large(slab);
		EXPECT_EQ(slab_pages.large_bytes, before);
	}
}

TEST_F(SegmentTest, LargeMappingsShrinkAndGrowInPlace)
{
	const std::size_t bytes = std::size_t{3} << 20;
	struct slab *slab = segment_map_large(bytes, 1);
	const std::uint64_t before = slab_pages.large_bytes;
	const std::uint64_t mapped = segment_of(slab)->mapped;

	slab->base[0] = 7;
	ASSERT_TRUE(segment_resize_large(slab, page));
	EXPECT_EQ(segment_of(slab)->mapped, mapped - bytes + page);
	EXPECT_EQ(slab_pages.large_bytes, before - bytes + page);
	ASSERT_TRUE(segment_resize_large(slab, 2 * page));
	EXPECT_EQ(slab->base[0], 7);
	slab->base[2 * page - 1] = 7;
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

/*
 * How segments and descriptors are laid out: every address of a slab leads to its descriptor, and
 * no object reaches the descriptors.
 */

/* A size of slab and how many objects it has room for. */
struct layout {
	unsigned slab_shift;
	unsigned objects;
};

/* 40 slabs of one layout, and between them slabs of another one. */
class SegmentLayoutTest : public SegmentTest, public testing::WithParamInterface<struct layout>
{
protected:
	SegmentLayoutTest()
	{
		for (unsigned i = 0; i < 40; i++) {
			slabs_.push_back(take(GetParam().slab_shift, GetParam().objects));
			take(17, 300);
		}
		segment_ = segment_of(slabs_[0]->base);
	}

	std::size_t bytes() const { return std::size_t{1} << GetParam().slab_shift; }

	std::vector<struct slab *> slabs_;
	struct segment *segment_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, SegmentLayoutTest,
			 testing::Values(layout{14, 1}, layout{14, 2048}, layout{15, 100},
					 layout{16, 1}, layout{16, 64}, layout{16, 65},
					 layout{16, 8192}, layout{17, 100}, layout{18, 1000},
					 layout{19, 16}, layout{19, 65535}, layout{21, 1}),
			 [](const auto &info) {
				 return "Shift" + std::to_string(info.param.slab_shift) +
					"Objects" + std::to_string(info.param.objects);
			 });

TEST_P(SegmentLayoutTest, HeadDescribesTheSegment)
{
	EXPECT_EQ(address(segment_) % SEGMENT_SIZE, std::size_t{SEGMENT_HEAD_OFFSET});
	EXPECT_EQ(segment_->magic, SEGMENT_MAGIC);
	EXPECT_EQ(segment_->mapped, SEGMENT_SIZE);
	EXPECT_LE(SEGMENT_HEAD_OFFSET + sizeof(struct segment), std::size_t{SEGMENT_USERS_OFFSET});
}

TEST_P(SegmentLayoutTest, DescriptorsDescribeTheirSlabs)
{
	for (const struct slab *slab : slabs_) {
		EXPECT_EQ(slab_bytes(slab), bytes());
		EXPECT_EQ(address(slab->base) % bytes(), 0u);
		EXPECT_EQ(slab->objects, GetParam().objects);
		EXPECT_EQ(slab->node, 0u);
		EXPECT_EQ(slab->user, nullptr);
	}
}

/* Objects and descriptors with their bits overlap nothing else. */
TEST_P(SegmentLayoutTest, SlabsAndDescriptorsAreDisjoint)
{
	const std::size_t bits = map_words(GetParam().objects) * sizeof(std::uint64_t);
	std::set<std::pair<std::uintptr_t, std::uintptr_t>> ranges;

	ranges.insert({address(segment_), address(segment_start(segment_)) + SEGMENT_HEAD_END});
	for (const struct slab *slab : slabs_) {
		EXPECT_EQ(address(slab) % CPU_CACHELINE, 0u);
		ranges.insert({address(slab), address(slab) + sizeof(*slab) + bits});
		ranges.insert({address(slab->base), address(slab->base) + bytes()});
	}
	ASSERT_EQ(ranges.size(), 2 * slabs_.size() + 1);
	for (auto it = ranges.begin(); std::next(it) != ranges.end(); ++it)
		EXPECT_LE(it->second, std::next(it)->first);
}

TEST_P(SegmentLayoutTest, EveryAddressOfASlabLeadsToItsDescriptor)
{
	for (struct slab *slab : slabs_)
		for (std::size_t at = 0; at < bytes(); at += 1024) {
			ASSERT_EQ(slab_of(slab->base + at), slab);
			ASSERT_EQ(slab_of(slab->base + at + 1023), slab);
			ASSERT_TRUE(segment_known(slab->base + at));
		}
}

TEST_P(SegmentLayoutTest, AddressesOfTheHeadLeadNowhere)
{
	for (char *at = reinterpret_cast<char *>(segment_);
	     at < segment_start(segment_) + SEGMENT_HEAD_END; at += 64)
		ASSERT_EQ(slab_of(at), &slab_none);
	EXPECT_EQ(slab_none.user, nullptr);
	EXPECT_EQ(slab_none.shard, nullptr);
	EXPECT_EQ(slab_none.objects, 0u);
}

using SegmentGuardDeathTest = SegmentTest;
using SegmentRangeTest = SegmentTest;

/* The unit behind the head, whichever slab has it. */
TEST_F(SegmentGuardDeathTest, WritingBelowTheFirstUnitIsFatal)
{
	const struct segment *segment = segment_of(take(16, 64)->base);
	unsigned unit = 0;

	while (!(segment->free[unit / 64] >> unit % 64 & 1) &&
	       segment_slab(segment, unit) == &slab_none)
		unit++;
	volatile char *first = segment_start(segment) + (std::size_t{unit} << SEGMENT_UNIT_SHIFT);

	first[0] = first[0];
	EXPECT_EXIT(first[-1] = 1, testing::KilledBySignal(SIGSEGV), "");
	EXPECT_EXIT(first[-static_cast<std::ptrdiff_t>(page)] = 1, testing::KilledBySignal(SIGSEGV),
		    "");
}

/* The segment before ends where this one starts. */
TEST_F(SegmentGuardDeathTest, WritingBelowTheHeadIsFatal)
{
	volatile char *start = segment_start(take(16, 64)->base);

	EXPECT_EXIT(start[SEGMENT_HEAD_OFFSET - 1] = 1, testing::KilledBySignal(SIGSEGV), "");
	EXPECT_EXIT(start[0] = 1, testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(SegmentGuardDeathTest, WritingInFrontOfDescriptorsIsFatal)
{
	constexpr std::uintptr_t arena = std::uintptr_t{4} << 20;
	volatile char *start = reinterpret_cast<char *>(address(take(16, 64)) & ~(arena - 1));

	EXPECT_EXIT(start[SEGMENT_HEAD_OFFSET - 1] = 1, testing::KilledBySignal(SIGSEGV), "");
	EXPECT_EXIT(start[0] = 1, testing::KilledBySignal(SIGSEGV), "");
}

/* One segment is free, and behind it many have single free units. */
TEST_F(SegmentRangeTest, ScatteredFreeUnitsHideNoLargeRange)
{
	std::map<struct segment *, std::vector<struct slab *>> slabs_of;
	std::vector<struct slab *> kept;
	std::uint64_t segments;

	fill_segments(16);
	kept.swap(taken_);
	while (slabs_of.size() < 40) {
		struct slab *slab = take(16, 300);

		slabs_of[segment_of(slab->base)].push_back(slab);
	}
	taken_.swap(kept);
	segments = slab_pages.segment_count;
	bool is_first = true;

	for (auto &[segment, slabs] : slabs_of) {
		const std::size_t left = is_first ? 0 : slabs.size() - 1;

		is_first = false;
		for (std::size_t i = left; i < slabs.size(); i++)
			segment_free_slab(slabs[i]);
		slabs.resize(left);
		taken_.insert(taken_.end(), slabs.begin(), slabs.end());
	}
	for (unsigned i = 0; i < 7; i++)
		take(21, 1);
	EXPECT_EQ(slab_pages.segment_count, segments);
}

} /* namespace */
