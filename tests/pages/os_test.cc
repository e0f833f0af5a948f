/* SPDX-License-Identifier: MIT */
/* Mappings of the system. */
#include "../support/process.h"
#include "../support/units.h"
#include "../support/rooms.h"

namespace
{

constexpr std::size_t align = 16 * mib;

/* No other mapping gets this page. Another one may have it already. */
void occupy(std::uintptr_t address)
{
	mmap(reinterpret_cast<void *>(address), os_page_size(), PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Where the kernel maps a page. */
std::uintptr_t preferred()
{
	void *start = mmap(nullptr, os_page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(start, os_page_size());
	return reinterpret_cast<std::uintptr_t>(start);
}

/* There is no room for the padding of an aligned mapping, and what lies below the last one and
 * below the kernel's choice is taken. */
TEST(OsTest, AnAlignedMappingIsFoundFurtherBelowWhereSpaceIsShort)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "a sanitizer needs more address space";
	EXPECT_IN_CHILD([]() -> int {
		const auto last = reinterpret_cast<std::uintptr_t>(os_map(1, align));
		struct rlimit before;

		occupy(last - align);
		occupy(preferred() & ~(align - 1));
		getrlimit(RLIMIT_AS, &before);
		const struct rlimit little = {address_space() + mib, before.rlim_max};

		setrlimit(RLIMIT_AS, &little);
		const auto start = reinterpret_cast<std::uintptr_t>(os_map(1, align));

		setrlimit(RLIMIT_AS, &before);
		return start && start % align == 0 ? 0 : 1;
	});
}

/* One that ended behind the start of a segment would change the segment's mark. */
TEST(SegmentMark, StaysBesideLargeAllocationsWhereSpaceIsShort)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "a sanitizer needs more address space";
	EXPECT_IN_CHILD([]() -> int {
		const struct rlimit little = {300 * mib, RLIM_INFINITY};
		const std::size_t beyond =
			SEGMENT_SIZE + SEGMENT_HEAD_OFFSET / 2 - os_pages(SEGMENT_HEAD_END);

		setrlimit(RLIMIT_AS, &little);
		const char *start = segment_start(slab_malloc(16));
		struct slab *large = segment_map_large(12 * mib, 1);

		if (!cpu_space_is_short() || !large)
			return 1;
		if (segment_start(large) + SEGMENT_SIZE != start)
			return 2;
		if (segment_resize_large(large, beyond))
			return 3;
		segment_unmap_large(large);
		large = segment_map_large(beyond, 1);
		if (!large || segment_mark_of(start) != SEGMENT_MARK_SLABS)
			return 4;
		segment_unmap_large(large);
		return segment_mark_of(start) == SEGMENT_MARK_SLABS ? 0 : 5;
	});
}

} /* namespace */
