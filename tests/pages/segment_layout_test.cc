/* SPDX-License-Identifier: MIT */
/*
 * How segments and descriptors are laid out: every address of a slab leads to its descriptor, and
 * no object reaches the descriptors.
 */
#include "segments.h"

namespace
{

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
