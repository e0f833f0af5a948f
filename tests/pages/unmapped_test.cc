/* SPDX-License-Identifier: MIT */
/* Segments whose units are unmapped, and mapped again. */
#include "segments.h"

namespace
{

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
		segment_trim();
		while (segments_ == slab_pages.segment_count)
			base_ = take(LARGE_SHIFT_MAX, 1)->base;
		/* The others stay in use, so no segment has room for a slab of this size. */
		slab_populate(taken_.back(), 3 * page);
		give_back();
		EXPECT_GE(segment_unmap_free(), SEGMENT_SIZE / 2);
		segments_++;
	}

	std::uint64_t segments_ = slab_pages.segment_count;
	char *base_ = nullptr;
};

TEST_F(UnmappedSegment, HasNoAddressesButThoseOfItsHead)
{
	EXPECT_FALSE(is_mapped(base_));
	EXPECT_TRUE(is_mapped(segment_of(base_)));
	EXPECT_EQ(slab_of(base_), &slab_none);
	EXPECT_EQ(segment_unmap_free(), 0u);
}

TEST_F(UnmappedSegment, HoldsNoMemory)
{
	EXPECT_EQ(cached(), 0u);
}

TEST_F(UnmappedSegment, IsMappedAgainForTheNextSlab)
{
	const struct slab *slab = take(LARGE_SHIFT_MAX, 1);

	EXPECT_EQ(slab->base, base_);
	EXPECT_EQ(slab->populated, 0u);
	base_[0] = 1;
	EXPECT_EQ(slab_pages.segment_count, segments_);
}

TEST_F(UnmappedSegment, IsLeftAloneIfItsAddressesAreInUse)
{
	void *other = mmap(base_, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(other, base_);
	EXPECT_NE(take(LARGE_SHIFT_MAX, 1)->base, base_);
	EXPECT_EQ(slab_pages.segment_count, segments_ + 1);
	munmap(other, page);
}

using MappedSegment = SegmentTest;

TEST_F(MappedSegment, StaysWhileASlabIsInUse)
{
	const struct slab *slab = take(17, 100);

	segment_trim();
	segment_unmap_free();
	EXPECT_TRUE(is_mapped(slab->base));
}

} /* namespace */
