/* SPDX-License-Identifier: MIT */
/*
 * slab_ch_malloc() and its family, as 389-ds has them: they never fail, and what is
 * freed is forgotten.
 */
#include "../support/objects.h"
#include "../support/process.h"

namespace
{

/* Takes what the death tests never get to see. */
void discard(const void *) {}

TEST(ChMallocTest, AllocatesLikeMalloc)
{
	void *memory = slab_ch_malloc(100);

	fill(memory, 100, 1);
	memory = slab_ch_realloc(memory, 1000);
	EXPECT_TRUE(intact(memory, 100 & ~7, 1));
	slab_ch_free(&memory);
	void *zeroed = slab_ch_calloc(10, 10);
	EXPECT_TRUE(all_bytes(zeroed, 100, 0));
	slab_ch_free(&zeroed);
	void *page = slab_ch_memalign(4096, 100);
	EXPECT_TRUE(aligned(page, 4096));
	slab_ch_free(&page);
}

TEST(ChMallocTest, FreeClearsThePointer)
{
	void *memory = slab_ch_malloc(100);

	slab_ch_free(&memory);
	EXPECT_EQ(memory, nullptr);
	slab_ch_free(&memory);
	slab_ch_free(nullptr);
}

TEST(ChMallocTest, FreeStringClearsThePointer)
{
	char *string = slab_ch_strdup("dc=example,dc=com");

	EXPECT_STREQ(string, "dc=example,dc=com");
	slab_ch_free_string(&string);
	EXPECT_EQ(string, nullptr);
	slab_ch_free_string(&string);
}

TEST(ChMallocTest, StrdupOfNullIsNull)
{
	EXPECT_EQ(slab_ch_strdup(nullptr), nullptr);
}

TEST(ChMallocTest, StrdupTakesLongStrings)
{
	const std::string text(100000, 's');
	char *copy = slab_ch_strdup(text.c_str());

	EXPECT_EQ(text, copy);
	slab_ch_free_string(&copy);
}

class ChMallocDeathTest : public testing::Test
{
protected:
	static void SetUpTestSuite() { use_threadsafe_death_tests(); }
};

TEST_F(ChMallocDeathTest, SizeZeroAborts)
{
	EXPECT_DEATH(discard(slab_ch_malloc(0)), "slab_ch_malloc.*0");
	EXPECT_DEATH(discard(slab_ch_calloc(0, 10)), "slab_ch_calloc.*0");
	EXPECT_DEATH(discard(slab_ch_calloc(10, 0)), "slab_ch_calloc.*0");
}

TEST_F(ChMallocDeathTest, NoMemoryAborts)
{
	EXPECT_DEATH(discard(slab_ch_malloc(opaque(no_size / 2))),
		     "slab_ch_malloc.*" + std::to_string(no_size / 2));
	EXPECT_DEATH(discard(slab_ch_memalign(4096, opaque(no_size / 2))),
		     "slab_ch_memalign.*" + std::to_string(no_size / 2));
	EXPECT_DEATH(discard(slab_ch_realloc(slab_malloc(10), opaque(no_size / 2))),
		     "slab_ch_realloc.*" + std::to_string(no_size / 2));
}

TEST_F(ChMallocDeathTest, OverflowAborts)
{
	EXPECT_DEATH(discard(slab_ch_calloc(opaque(no_size), 16)), "slab_ch_calloc");
}

TEST_F(ChMallocDeathTest, ABadAlignmentAborts)
{
	EXPECT_DEATH(discard(slab_ch_memalign(opaque(24), 100)), "slab_ch_memalign.*24");
}

} /* namespace */
