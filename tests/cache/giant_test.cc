/* SPDX-License-Identifier: MIT */
/* Giants: allocations that are too large for marks of all their addresses. */
#include "../support/foreign.h"
#include "../support/units.h"
#include "../support/rooms.h"

namespace
{

TEST(GiantTest, AnAddressFarIntoItIsLibslabs)
{
	const std::size_t size = SEGMENT_MARKED_MAX + 200 * mib;
	char *giant = static_cast<char *>(slab_malloc(size));

	if (!giant)
		GTEST_SKIP() << "the machine has no such memory";
	const struct segment *segment = segment_of(giant);
	const char *end = segment_start(giant) + segment->mapped;

	for (std::size_t at = 0; at < size; at += SEGMENT_SIZE / 2)
		ASSERT_TRUE(slab_owns(giant + at)) << at;
	EXPECT_TRUE(slab_owns(end - 1));
	expect_foreign(reinterpret_cast<const void *>(UINT64_C(0x123456789000)));
	EXPECT_TRUE(slab_free_any(giant));
	expect_foreign(giant);
	expect_foreign(end - 1);
}

TEST(GiantTest, ItMayShrinkAndGrow)
{
	const std::size_t size = SEGMENT_MARKED_MAX + 200 * mib;
	void *other = slab_malloc(size);
	char *giant = static_cast<char *>(slab_malloc(size));

	if (!other || !giant)
		GTEST_SKIP() << "the machine has no such memory";
	giant = static_cast<char *>(slab_realloc(giant, SEGMENT_MARKED_MAX / 2 + 100 * mib));
	expect_foreign(giant + size - 1);
	EXPECT_TRUE(slab_owns(giant + SEGMENT_MARKED_MAX / 2));
	giant = static_cast<char *>(slab_realloc(giant, 2 * size));
	EXPECT_TRUE(slab_owns(giant + 2 * size - 1));
	EXPECT_TRUE(slab_free_any(giant));
	expect_foreign(giant + 2 * size - 1);
	EXPECT_TRUE(slab_owns(static_cast<char *>(other) + size - 1));
	EXPECT_TRUE(slab_free_any(other));
}

TEST(GiantTest, TheOlderOneMayBeFreedFirst)
{
	const std::size_t size = SEGMENT_MARKED_MAX + 200 * mib;
	char *older = static_cast<char *>(slab_malloc(size));
	char *newer = static_cast<char *>(slab_malloc(size));

	if (!older || !newer)
		GTEST_SKIP() << "the machine has no such memory";
	EXPECT_TRUE(slab_free_any(older));
	expect_foreign(older + size - 1);
	EXPECT_TRUE(slab_owns(newer + size - 1));
	EXPECT_TRUE(slab_free_any(newer));
	expect_foreign(newer + size - 1);
}

/* Whatever its size is, marks are made for this part. */
TEST(GiantTest, ItHasMarksForItsFirstPartAlone)
{
	char *giant = static_cast<char *>(slab_malloc(2 * SEGMENT_MARKED_MAX));

	if (!giant)
		GTEST_SKIP() << "the machine has no such memory";
	EXPECT_EQ(segment_mark_of(giant + SEGMENT_MARKED_MAX - SEGMENT_SIZE),
		  SEGMENT_MARK_LARGE_REST);
	EXPECT_EQ(segment_mark_of(giant + SEGMENT_MARKED_MAX + SEGMENT_SIZE), SEGMENT_MARK_NONE);
	EXPECT_TRUE(slab_free_any(giant));
}

} /* namespace */
