/* SPDX-License-Identifier: MIT */
/* The slapi_ch_* names: what they promise beyond slab_ch_*, which malloc_test tries. */
#include <slab/dirsrv/slapi_ch.h>

#include "../../../tests/support/process.h"

namespace
{

TEST(SlapiChTest, EachDoesWhatItsNameSays)
{
	auto *block = static_cast<char *>(slapi_ch_malloc(100));
	void *zeros = slapi_ch_calloc(10, 100), *aligned = slapi_ch_memalign(100, 4096);
	char *copy = slapi_ch_strdup("content");

	EXPECT_GE(slab_usable_size(block), 100u);
	EXPECT_EQ(std::string(static_cast<char *>(zeros), 1000), std::string(1000, '\0'));
	EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 4096, 0u);
	copy = static_cast<char *>(slapi_ch_realloc(copy, 5000));
	EXPECT_STREQ(copy, "content");
	EXPECT_EQ(slapi_ch_strdup(nullptr), nullptr);
	for (void *memory : {static_cast<void *>(block), zeros, aligned, static_cast<void *>(copy)})
		slab_mfree(memory);
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

/* What the functions write for a size of 0. */
template <typename Function> std::string lines_of(Function function)
{
	testing::internal::CaptureStderr();
	function();
	return testing::internal::GetCapturedStderr();
}

TEST(SlapiChTest, ASizeOfZeroIsNullAndALine)
{
	EXPECT_EQ(lines_of([] { EXPECT_EQ(slapi_ch_malloc(0), nullptr); }),
		  "libslab: slapi_ch_malloc: a size of 0 is not allowed\n");
	EXPECT_EQ(lines_of([] { EXPECT_EQ(slapi_ch_calloc(0, 8), nullptr); }),
		  "libslab: slapi_ch_calloc: a size of 0 is not allowed\n");
	EXPECT_EQ(lines_of([] { EXPECT_EQ(slapi_ch_calloc(8, 0), nullptr); }),
		  "libslab: slapi_ch_calloc: a size of 0 is not allowed\n");
	EXPECT_EQ(lines_of([] { EXPECT_EQ(slapi_ch_memalign(0, 64), nullptr); }),
		  "libslab: slapi_ch_memalign: a size of 0 is not allowed\n");
	EXPECT_EQ(lines_of([] { EXPECT_EQ(slapi_ch_realloc(nullptr, 0), nullptr); }),
		  "libslab: slapi_ch_malloc: a size of 0 is not allowed\n");
	char *block = slapi_ch_strdup("content");

	EXPECT_EQ(lines_of([block] { EXPECT_EQ(slapi_ch_realloc(block, 0), block); }),
		  "libslab: slapi_ch_realloc: a size of 0 is not allowed\n");
	EXPECT_STREQ(block, "content");
	slapi_ch_free_string(&block);
}

/* The call site of the only object in the cache of 1,234 bytes. */
const void *only_call_site(struct slab_cache *cache)
{
	const void *frame = nullptr;

	EXPECT_EQ(slab_cache_traces(
			  cache, SLAB_TRACES_ALLOCATED, 0,
			  [](const struct slab_call_site *site, void *arg) {
				  *static_cast<const void **>(arg) = site->frame[0];
				  return 0;
			  },
			  &frame),
		  1);
	return frame;
}

template <typename Function> __attribute__((noinline)) const void *call(Function function)
{
	char *block = function();
	const void *site = only_call_site(slab_cache_of(block));

	slapi_ch_free_string(&block);
	return site;
}

/* Each has a place of its own, and none of them is in the functions themselves. */
TEST(SlapiChTest, CallSitesAreThoseOfTheCaller)
{
	const std::string text(1233, 's');
	char *first = slapi_ch_malloc(1234);
	struct slab_cache *cache = slab_cache_of(first);
	std::set<const void *> sites;

	slapi_ch_free_string(&first);
	ASSERT_EQ(slab_cache_debug(cache, SLAB_STORE_USER), 0);
	for (int i = 0; i < 2; i++) {
		sites.insert(call([] { return slapi_ch_malloc(1234); }));
		sites.insert(call([] { return slapi_ch_malloc(1235); }));
		sites.insert(call([] { return slapi_ch_calloc(1, 1234); }));
		sites.insert(call([] { return slapi_ch_realloc(nullptr, 1234); }));
		sites.insert(call([&text] { return slapi_ch_strdup(text.c_str()); }));
	}
	EXPECT_EQ(sites.size(), 5u);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
}

TEST(SlapiChDeathTest, WithoutMemoryTheProcessEndsWithAMessage)
{
	use_threadsafe_death_tests();
	EXPECT_DEATH((void)slapi_ch_malloc(SIZE_MAX), std::to_string(SIZE_MAX));
	EXPECT_DEATH((void)slapi_ch_calloc(SIZE_MAX, 2), "2");
	EXPECT_DEATH((void)slapi_ch_memalign(100, 24), "24");
}

} // namespace
