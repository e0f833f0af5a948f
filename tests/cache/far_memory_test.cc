/* SPDX-License-Identifier: MIT */
/*
 * Memory far from the first segment of the process, outside the window of marks: between them lies
 * a range of addresses that the test has taken.
 */
#include "../inspect/inspection.h"
#include "../support/answers.h"
#include "../support/units.h"

namespace
{

constexpr std::size_t taken = std::size_t(3) << 40;
constexpr std::size_t tries = 4096;

bool is_far(const void *ptr)
{
	return segment_in_window(ptr) >= SEGMENT_MARKS;
}

class FarMemoryTest : public testing::Test
{
protected:
	static void SetUpTestSuite()
	{
		slab_mfree(slab_malloc(1)); /* the first segment */
		range = mmap(nullptr, taken, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			     -1, 0);
	}

	static void TearDownTestSuite()
	{
		if (range != MAP_FAILED)
			munmap(range, taken);
	}

	void SetUp() override
	{
		if (range == MAP_FAILED)
			GTEST_SKIP() << "the kernel has no such range of addresses";
	}

	void TearDown() override
	{
		for (void *ptr : blocks_)
			EXPECT_TRUE(slab_free_any(ptr));
	}

	/* A block outside the window; NULL: there is none. */
	char *far(std::size_t size)
	{
		for (std::size_t i = 0; i < tries; i++) {
			char *ptr = static_cast<char *>(slab_malloc(size));

			if (!ptr || is_far(ptr))
				return ptr;
			blocks_.push_back(ptr);
		}
		return nullptr;
	}

	static void *range;
	std::vector<void *> blocks_;
};

void *FarMemoryTest::range = MAP_FAILED;

TEST_F(FarMemoryTest, BlocksOfSlabsAreKnownAndFreed)
{
	char *ptr = far(32768);

	if (!ptr)
		GTEST_SKIP() << "the kernel gives out other addresses";
	EXPECT_EQ(segment_mark_of(ptr), SEGMENT_MARK_SLABS);
	EXPECT_TRUE(slab_owns(ptr + 100));
	EXPECT_FALSE(slab_owns(range));
	EXPECT_EQ(slab_usable_size(ptr), 32768u);
	std::memset(ptr, 1, 32768);
	ptr = static_cast<char *>(slab_realloc(ptr, 1000));
	EXPECT_EQ(ptr[999], 1);
	slab_mfree(ptr);
	ptr = far(32768);
	slab_mfree(ptr);
	ptr = far(32768);
	EXPECT_TRUE(slab_free_any(ptr));
}

TEST_F(FarMemoryTest, MappingsAreKnownAndListed)
{
	char *ptr = far(40 * mib);

	if (!ptr)
		GTEST_SKIP() << "the kernel gives out other addresses";
	EXPECT_TRUE(slab_owns(ptr + 39 * mib));
	EXPECT_TRUE(contains(inspect("regions").text,
			     "[\"large\"," + std::to_string(reinterpret_cast<std::uintptr_t>(ptr)) +
				     "," + std::to_string(40 * mib) + "]"));
	ptr = static_cast<char *>(slab_realloc(ptr, 90 * mib));
	EXPECT_TRUE(slab_owns(ptr + 89 * mib));
	slab_mfree(ptr);
	EXPECT_FALSE(slab_owns(ptr));
}

} /* namespace */
