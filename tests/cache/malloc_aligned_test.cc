/* SPDX-License-Identifier: MIT */
/* Alignments of a segment and more: the base of such an allocation is not in the segment that has
 * its descriptor. */
#include "../support/debugging.h"
#include "../support/objects.h"
#include "../support/reports.h"
#include "../support/units.h"

namespace
{

class WideAlignment : public testing::TestWithParam<std::size_t>
{
protected:
	WideAlignment() : memory_(static_cast<char *>(slab_memalign(GetParam(), size))) {}

	~WideAlignment() override
	{
		slab_mfree(memory_);
		EXPECT_EQ(process_stats().large_bytes, before_);
	}

	static constexpr std::size_t size = 3 * mib;
	const std::uint64_t before_ = process_stats().large_bytes;
	char *memory_;
};

TEST_P(WideAlignment, IsThatOfTheAllocation)
{
	ASSERT_NE(memory_, nullptr);
	EXPECT_TRUE(aligned(memory_, GetParam()));
	std::memset(memory_, 1, size);
	EXPECT_GE(slab_usable_size(memory_), size);
	EXPECT_TRUE(slab_owns(memory_));
	EXPECT_TRUE(slab_owns(memory_ + size - 1));
	EXPECT_EQ(slab_cache_of(memory_), nullptr);
}

TEST_P(WideAlignment, TakesItsSizeOfMemory)
{
	ASSERT_NE(memory_, nullptr);
	EXPECT_LE(process_stats().large_bytes - before_, SEGMENT_SIZE + size);
}

TEST_P(WideAlignment, MayBeLostWhenTheAllocationGrows)
{
	ASSERT_NE(memory_, nullptr);
	std::memset(memory_, 7, size);
	memory_ = static_cast<char *>(slab_realloc(memory_, 80 * mib));
	ASSERT_NE(memory_, nullptr);
	for (std::size_t i = 0; i < size; i += 1000)
		ASSERT_EQ(memory_[i], 7) << i;
	memory_[80 * mib - 1] = 1;
	EXPECT_GE(slab_usable_size(memory_), 80 * mib);
}

TEST_P(WideAlignment, AllowsAFreeByPointerAndOneBySize)
{
	ASSERT_NE(memory_, nullptr);
	EXPECT_TRUE(slab_free_any(memory_));
	memory_ = static_cast<char *>(slab_memalign(GetParam(), 1));
	ASSERT_NE(memory_, nullptr);
	slab_free_sized(memory_, 1);
	memory_ = nullptr;
}

TEST_P(WideAlignment, FreesOfOtherAddressesAreReported)
{
	report_capture reports;

	ASSERT_NE(memory_, nullptr);
	slab_mfree(hidden(memory_ + 64));
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_NE(reports.text().find("It points into"), std::string::npos) << reports.text();
}

TEST_P(WideAlignment, ReallocsOfOtherAddressesAreReported)
{
	report_capture reports;

	ASSERT_NE(memory_, nullptr);
	errno = 0;
	EXPECT_EQ(slab_realloc(hidden(memory_ + 64), 80 * mib), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(reports.count(), 1u);
	EXPECT_NE(reports.text().find("It points into"), std::string::npos) << reports.text();
}

INSTANTIATE_TEST_SUITE_P(Alignments, WideAlignment,
			 testing::Values(16 * mib, 32 * mib, 1024 * mib));

TEST(WideAlignmentTest, MoreThanTheAddressSpaceIsNoMemory)
{
	for (unsigned shift = 48; shift < 64; shift++) {
		errno = 0;
		EXPECT_EQ(slab_memalign(std::size_t(1) << shift, 100), nullptr) << shift;
		EXPECT_EQ(errno, ENOMEM) << shift;
	}
}

} /* namespace */
