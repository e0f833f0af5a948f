/* SPDX-License-Identifier: MIT */
/* The fixture of tests that take slabs of the page layer. */
#ifndef TESTS_PAGES_SEGMENTS_H
#define TESTS_PAGES_SEGMENTS_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/objects.h"
#include "../support/process.h"

extern "C" {
#include "pages/os.h"
#include "pages/free_slabs.h"
#include "pages/segment.h"
#include "core/init.h"
}

namespace slab_test
{

inline const std::size_t page = os_page_size();

inline std::uintptr_t address(const void *ptr)
{
	return reinterpret_cast<std::uintptr_t>(ptr);
}

/* Of a slab's memory, whatever this machine's pages are. */
inline std::size_t resident_bytes(const struct slab *slab)
{
	return resident_bytes(slab->cpu.base, slab_bytes(slab));
}

class SegmentTest : public testing::Test
{
protected:
	SegmentTest()
	{
		slab_init();
		use_threadsafe_death_tests();
	}

	~SegmentTest() override
	{
		for (struct slab *slab : taken_)
			segment_free_slab(slab);
	}

	struct slab *take(struct geometry *geometry)
	{
		struct slab *slab = segment_take_slab(geometry, 0);

		EXPECT_NE(slab, nullptr);
		taken_.push_back(slab);
		return slab;
	}

	struct slab *take(unsigned slab_shift, unsigned objects)
	{
		return take(geometry_get(slab_shift, objects));
	}

	/* Give back what was taken last. */
	void give_back()
	{
		segment_free_slab(taken_.back());
		taken_.pop_back();
	}

	/* Take slabs until the next one of this size needs a segment. Returns the number of
	 * segments. */
	std::uint64_t fill_segments(unsigned slab_shift)
	{
		segment_trim(nullptr);
		while (segment_has_range(slab_shift, 0))
			take(slab_shift, 1);
		return process_stats().segments;
	}

	std::vector<struct slab *> taken_;
};

} /* namespace slab_test */

#endif /* TESTS_PAGES_SEGMENTS_H */
