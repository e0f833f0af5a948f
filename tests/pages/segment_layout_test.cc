/* SPDX-License-Identifier: MIT */
/*
 * How segments are laid out: every address of one leads to the right descriptor, and no
 * object reaches the descriptors.
 */
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "segments.h"

extern "C" {
#include "core/slab.h"
#include "cpu_slab.h"
#include "pages/segment.h"
}

using namespace slab_test;

namespace
{

std::uintptr_t address(const void *ptr)
{
	return reinterpret_cast<std::uintptr_t>(ptr);
}

/* A size of slab and how many objects it has room for. */
struct layout {
	unsigned slab_shift;
	unsigned objects;
};

class SegmentLayoutTest : public SegmentTest, public testing::WithParamInterface<struct layout>
{
protected:
	SegmentLayoutTest()
		: slab_(take(GetParam().slab_shift, GetParam().objects)),
		  segment_(segment_of(slab_))
	{
		while (segment_->slabs < segment_->room)
			take(GetParam().slab_shift, GetParam().objects);
	}

	std::size_t slab_bytes() const
	{
		return std::size_t{1} << GetParam().slab_shift;
	}

	struct slab *slab_;
	struct segment *segment_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, SegmentLayoutTest,
			 testing::Values(layout{16, 1}, layout{16, 64}, layout{16, 65},
					 layout{16, 8192}, layout{17, 100}, layout{18, 1000},
					 layout{19, 16}, layout{19, 65535}),
			 [](const auto &info) {
				 return "Shift" + std::to_string(info.param.slab_shift) +
					"Objects" + std::to_string(info.param.objects);
			 });

TEST_P(SegmentLayoutTest, HeadDescribesTheSegment)
{
	EXPECT_EQ(address(segment_) % SEGMENT_SIZE, std::size_t{SEGMENT_HEAD_OFFSET});
	EXPECT_EQ(segment_->magic, SEGMENT_MAGIC);
	EXPECT_EQ(segment_->mapped, SEGMENT_SIZE);
	EXPECT_EQ(segment_->slab_shift, GetParam().slab_shift);
	EXPECT_EQ(segment_->geometry, geometry_get(GetParam().slab_shift, GetParam().objects));
	EXPECT_GE(segment_->slabs, 1u);
	EXPECT_LE(SEGMENT_HEAD_OFFSET + sizeof(struct segment), std::size_t{SEGMENT_TABLE_OFFSET});
	EXPECT_LE(SEGMENT_FIRST_OFFSET + sizeof(struct slab), SEGMENT_HEAD_OFFSET + page);
}

/* No slab is lost to a head that would fit beside one more. */
TEST_P(SegmentLayoutTest, SlabsFillTheSegmentToItsEnd)
{
	EXPECT_EQ(address(segment_->base) + segment_->slabs * slab_bytes(),
		  address(segment_start(segment_)) + SEGMENT_SIZE);
	for (unsigned i = 0; i < segment_->slabs; i++) {
		const struct slab *slab = segment_slab(segment_, i);

		EXPECT_EQ(slab->cpu.base, segment_->base + i * slab_bytes());
		EXPECT_EQ(address(slab->cpu.base) % slab_bytes(), 0u);
	}
}

/* Descriptor, stack and links of each slab overlap no other slab's, nor the objects. */
TEST_P(SegmentLayoutTest, DescriptorsStacksAndLinksAreDisjoint)
{
	const std::size_t stack = GetParam().objects * sizeof(std::uint16_t);
	std::set<std::pair<std::uintptr_t, std::uintptr_t>> ranges;

	ranges.insert({address(segment_), address(segment_start(segment_)) + SEGMENT_FIRST_OFFSET});
	for (unsigned i = 0; i < segment_->slabs; i++) {
		const struct slab *slab = segment_slab(segment_, i);

		EXPECT_EQ(address(slab) % CPU_CACHELINE, 0u);
		EXPECT_EQ(address(slab->links) % sizeof(std::uint16_t), 0u);
		ranges.insert({address(slab), address(slab) + CPU_SLAB_STACK + stack});
		ranges.insert({address(slab->links), address(slab->links) + stack});
	}
	ranges.insert(
		{address(segment_->base) - page, address(segment_start(segment_)) + SEGMENT_SIZE});
	ASSERT_EQ(ranges.size(), 2u * segment_->slabs + 2);
	for (auto it = ranges.begin(); std::next(it) != ranges.end(); ++it)
		EXPECT_LE(it->second, std::next(it)->first);
}

TEST_P(SegmentLayoutTest, EveryAddressOfASlabLeadsToItsDescriptor)
{
	for (unsigned i = 0; i < segment_->slabs; i++) {
		struct slab *slab = segment_slab(segment_, i);

		for (std::size_t at = 0; at < slab_bytes(); at += 1024) {
			ASSERT_EQ(slab_of(slab->cpu.base + at), slab);
			ASSERT_EQ(slab_of(slab->cpu.base + at + 1023), slab);
			ASSERT_EQ(segment_of(slab->cpu.base + at), segment_);
		}
	}
}

TEST_P(SegmentLayoutTest, AddressesOfTheHeadLeadNowhere)
{
	for (char *at = reinterpret_cast<char *>(segment_); at < segment_->base; at += 64)
		ASSERT_EQ(slab_of(at), &slab_none);
	EXPECT_EQ(slab_of(segment_->base - 1), &slab_none);
	EXPECT_FALSE(slab_is_object(&slab_none, segment_));
	EXPECT_EQ(cpu_slab_owner(&slab_none.cpu), CPU_NONE);
}

using SegmentGuardDeathTest = SegmentLayoutTest;

INSTANTIATE_TEST_SUITE_P(Layouts, SegmentGuardDeathTest,
			 testing::Values(layout{16, 64}, layout{16, 8192}, layout{19, 16}));

TEST_P(SegmentGuardDeathTest, WritingBelowTheFirstObjectIsFatal)
{
	volatile char *first = segment_->base;

	first[0] = 1;
	EXPECT_EXIT(first[-1] = 1, testing::KilledBySignal(SIGSEGV), "");
	EXPECT_EXIT(first[-static_cast<std::ptrdiff_t>(page)] = 1, testing::KilledBySignal(SIGSEGV),
		    "");
}

/* The segment before ends where this one starts. */
TEST_P(SegmentGuardDeathTest, WritingBelowTheHeadIsFatal)
{
	volatile char *head = segment_start(segment_) + SEGMENT_HEAD_OFFSET;

	EXPECT_EXIT(head[-1] = 1, testing::KilledBySignal(SIGSEGV), "");
	EXPECT_EXIT(head[-SEGMENT_HEAD_OFFSET] = 1, testing::KilledBySignal(SIGSEGV), "");
}

} /* namespace */
