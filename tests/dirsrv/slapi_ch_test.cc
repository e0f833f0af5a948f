/* SPDX-License-Identifier: MIT */
/* The slapi_ch_* names: what they promise beyond slab_ch_*, which malloc_test tries. */
#include <cstdint>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <slab/dirsrv/slapi_ch.h>

#include "../support/process.h"

using namespace slab_test;

namespace
{

TEST(SlapiChTest, MemoryIsOfLibslab)
{
	void *block = slapi_ch_malloc(100);

	EXPECT_GE(slab_usable_size(block), 100u);
	slab_mfree(block);
}

TEST(SlapiChTest, FreeClearsThePointer)
{
	void *block = slapi_ch_malloc(100);
	char *string = slapi_ch_strdup("text");

	slapi_ch_free(&block);
	slapi_ch_free_string(&string);
	EXPECT_EQ(block, nullptr);
	EXPECT_EQ(string, nullptr);
	slapi_ch_free(&block);
	slapi_ch_free_string(&string);
	slapi_ch_free(nullptr);
	slapi_ch_free_string(nullptr);
}

TEST(SlapiChTest, CallocGivesZeros)
{
	void *block = slapi_ch_malloc(1000);

	std::memset(block, 0xff, 1000);
	slapi_ch_free(&block);
	block = slapi_ch_calloc(10, 100);
	for (unsigned i = 0; i < 1000; i++)
		ASSERT_EQ(static_cast<char *>(block)[i], 0) << i;
	slapi_ch_free(&block);
}

TEST(SlapiChTest, ReallocKeepsTheContent)
{
	auto *block = static_cast<char *>(slapi_ch_realloc(nullptr, 8));

	std::memcpy(block, "content", 8);
	block = static_cast<char *>(slapi_ch_realloc(block, 5000));
	EXPECT_STREQ(block, "content");
	slapi_ch_free_string(&block);
}

TEST(SlapiChTest, MemalignAligns)
{
	void *block = slapi_ch_memalign(4096, 100);

	EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0u);
	slapi_ch_free(&block);
}

TEST(SlapiChTest, StrdupOfNullIsNull)
{
	char *string = slapi_ch_strdup("a string");

	EXPECT_STREQ(string, "a string");
	slapi_ch_free_string(&string);
	EXPECT_EQ(slapi_ch_strdup(nullptr), nullptr);
}

TEST(SlapiChDeathTest, WithoutMemoryTheProcessEndsWithAMessage)
{
	use_threadsafe_death_tests();
	EXPECT_DEATH((void)slapi_ch_malloc(SIZE_MAX), std::to_string(SIZE_MAX));
	EXPECT_DEATH((void)slapi_ch_malloc(0), "0 bytes");
	EXPECT_DEATH((void)slapi_ch_calloc(SIZE_MAX, 2), "2");
}

} // namespace
