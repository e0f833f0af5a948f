/* SPDX-License-Identifier: MIT */
/* The fixture of tests that take slabs of the page layer. */
#pragma once

#include "../support/process.h"
#include "../support/rooms.h"

inline const std::size_t page = os_page_size();

inline std::uintptr_t address(const void *ptr)
{
	return reinterpret_cast<std::uintptr_t>(ptr);
}

/* Of a slab's memory, whatever this machine's pages are. */
inline std::size_t resident_bytes(const struct slab *slab)
{
	return resident_bytes(slab->base, slab_bytes(slab));
}

/* The bytes of free units that hold memory. */
inline std::uint64_t cached()
{
	return slab_pages.free_slab_bytes;
}

inline struct slab_needs needs(unsigned shift, unsigned objects)
{
	struct slab_needs result = {};

	result.shift = shift;
	result.objects = objects;
	result.may_grow = true;
	return result;
}

/* NULL and ENOMEM: as segment_take_slab(). */
inline struct slab *take_slab(const struct slab_needs &what)
{
	return segment_take_slab(&what);
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

	struct slab *take(const struct slab_needs &what)
	{
		struct slab *slab = take_slab(what);

		EXPECT_NE(slab, nullptr);
		taken_.push_back(slab);
		return slab;
	}

	struct slab *take(unsigned shift, unsigned objects) { return take(needs(shift, objects)); }

	/* A slab whose memory is populated, and used. */
	struct slab *take_populated(unsigned shift)
	{
		struct slab *slab = take(shift, 300);

		slab_populate(slab, slab_bytes(slab));
		slab->base[0] = 1;
		return slab;
	}

	/* Give back what was taken last. */
	void give_back()
	{
		segment_free_slab(taken_.back());
		taken_.pop_back();
	}

	void give_back(struct slab *slab)
	{
		taken_.erase(std::find(taken_.begin(), taken_.end(), slab));
		segment_free_slab(slab);
	}

	void give_all_back()
	{
		while (!taken_.empty())
			give_back();
	}

	/* Take slabs until the next one of this size needs a new segment, and none that was
	 * unmapped. Returns the number of segments. */
	std::uint64_t fill_segments(unsigned shift)
	{
		const std::uint64_t before = slab_pages.segment_count;

		segment_trim();
		while (slab_pages.segment_count == before)
			take(LARGE_SHIFT_MAX, 1);
		while (segment_has_range(shift, 0))
			take(shift, 1);
		return slab_pages.segment_count;
	}

	/* Take slabs until there is no descriptor for the next one. */
	void fill_metadata(const struct slab_needs &what)
	{
		const std::size_t bytes = sizeof(struct slab) + what.side +
					  (map_words(what.objects) + what.waiting) * 8;

		do
			take(what);
		while (metadata_has(metadata_class(bytes), 0));
	}

	std::vector<struct slab *> taken_;
};
