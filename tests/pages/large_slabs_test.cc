/* SPDX-License-Identifier: MIT */
/* Users of the page layer: large allocations that are slabs, and sizes of the slabs of caches. */
#include "../support/objects.h"
#include "segments.h"

namespace
{

using LargeSlabs = SegmentTest;

/* Up to the largest slab, large allocations are slabs that are used again. */
TEST_F(LargeSlabs, LargeAllocationsThatFitAreSlabs)
{
	const std::uint64_t before = slab_pages.large_bytes;
	void *first = large_alloc(100000, 1);
	struct slab *slab = slab_of(first);

	ASSERT_NE(first, nullptr);
	EXPECT_NE(slab->shift, 0u);
	EXPECT_EQ(slab->large, 100000u);
	EXPECT_GE(slab->populated, 100000u);
	EXPECT_EQ(large_usable(slab), os_pages(100000));
	EXPECT_EQ(slab_pages.large_bytes, before + os_pages(100000));
	large_free(slab, first, nullptr);
	EXPECT_EQ(slab_of(first), &slab_none);
	EXPECT_EQ(slab_pages.large_bytes, before);
	first = large_alloc(70000, 1);
	EXPECT_NE(slab_of(first)->populated, 0u) << "what the first one left";
	large_free(slab_of(first), first, nullptr);
}

TEST_F(LargeSlabs, EverySizeOfObjectsHasSlabs)
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

} /* namespace */
