/* SPDX-License-Identifier: MIT */
/* The layout of debug slabs, by computation: every size, alignment and combination of debug flags. */
#include "../support/debugging.h"

namespace
{

TEST(LayoutTest, EveryLayoutIsAlignedAndHasRoomForItsRedZones)
{
	alignas(CPU_CACHELINE) char memory[sizeof(struct slab_cache)] = {};
	auto *cache = reinterpret_cast<struct slab_cache *>(memory);

	for (std::size_t size : all_sizes())
		for (std::size_t align = 8; align <= 4096; align *= 2)
			for (std::uint64_t flags : all_layouts()) {
				struct debug_layout layout;

				cache->object_size = size;
				cache->align = align;
				debug_layout(cache, flags, &layout);
				const bool red = flags & SLAB_RED_ZONE;

				SCOPED_TRACE(testing::Message()
					     << size << ' ' << align << ' ' << flags);
				ASSERT_EQ(layout.size % align, 0u);
				ASSERT_EQ(layout.red_left % align, 0u);
				ASSERT_GE(layout.red_left, red ? 8u : 0u);
				ASSERT_GE(layout.inuse, size + (red ? 8 : 0));
				ASSERT_LE(layout.red_left + layout.inuse, layout.size);
				ASSERT_GE(layout.objects, 1u);
				ASSERT_LE(layout.objects * layout.size,
					  std::size_t{1} << layout.slab_shift);
				ASSERT_EQ(layout.stride, flags & SLAB_STORE_USER ? 40u : 8u);
			}
}

} /* namespace */
