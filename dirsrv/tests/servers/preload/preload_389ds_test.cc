/* SPDX-License-Identifier: MIT */
/*
 * libslab-389ds.so, over any malloc(), under a program that calls a library like libslapd
 * (stub.h). The program runs with it in LD_PRELOAD.
 */
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>
#include <slab/pointer.h>
#include <slab/slab.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stub.h"

namespace
{

/* More than a call site allocates before it has a cache. */
constexpr int OFTEN = 600;

/* Half of all sizes: the compiler warns of products that it knows to be too large. */
volatile std::size_t half = SIZE_MAX / 2;

/* The cache of memory of libslapd, or "" if malloc() has served it. */
std::string name_of(const void *ptr)
{
	const slab_cache *cache = slab_cache_of(ptr);
	const std::string name = cache ? slab_cache_name(cache) : "";

	return name.compare(0, 5, "size-") == 0 ? "" : name;
}

std::string named(void *ptr)
{
	const std::string name = name_of(ptr);

	slapi_ch_free(&ptr);
	return name;
}

/* The cache that serves a site in the end. */
template <typename Allocate> std::string name_in_the_end(const Allocate &allocate)
{
	for (int i = 0; i < OFTEN; i++) {
		void *ptr = allocate();

		slapi_ch_free(&ptr);
	}
	return named(allocate());
}

bool is_zero(const void *ptr, std::size_t size)
{
	const char *bytes = static_cast<const char *>(ptr);

	for (std::size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

TEST(Preload389, TypesHaveACacheFromTheirFirstAllocation)
{
	EXPECT_EQ(named(slapi_entry_alloc()), "entry");
	EXPECT_EQ(named(slapi_attr_new()), "attr");
}

TEST(Preload389, ConstructorsThatJumpHaveTheirOwnName)
{
	EXPECT_EQ(named(slapi_pblock_new()), "pblock");
	EXPECT_EQ(named(csn_new()), "csn");
	EXPECT_EQ(named(operation_parameters_new()), "operation_params");
}

TEST(Preload389, AConstructorThatAllocatesNothingNamesNothing)
{
	EXPECT_EQ(slapi_mods_new(), nullptr);
	EXPECT_EQ(named(slapi_entry_alloc()), "entry");
}

TEST(Preload389, SizesTellTypesOfOneFunctionApart)
{
	EXPECT_EQ(named(slapi_pblock_set(72)), "pblock_intplugin");
	EXPECT_EQ(named(slapi_pblock_set(88)), "pblock_deprecated");
	EXPECT_EQ(named(slapi_pblock_set(96)), "pblock_matching_rule");
	EXPECT_EQ(named(slapi_pblock_set(200)), "pblock_intop");
}

TEST(Preload389, ObjectsHaveTheSizeOfTheirType)
{
	void *entry = slapi_entry_alloc();

	EXPECT_EQ(slab_cache_size(slab_cache_of(entry)), 184u);
	EXPECT_TRUE(is_zero(entry, 184));
	slapi_ch_free(&entry);
}

TEST(Preload389, MemoryIsZeroAgainAfterUse)
{
	void *entry = slapi_entry_alloc();

	std::memset(entry, 0xa5, 184);
	slapi_ch_free(&entry);
	entry = slapi_entry_alloc();
	EXPECT_TRUE(is_zero(entry, 184));
	slapi_ch_free(&entry);
}

TEST(Preload389, StringsHaveCachesBySize)
{
	EXPECT_EQ(name_in_the_end([] { return slapi_ch_strdup("cn=admin"); }), "string-16");
	EXPECT_EQ(name_in_the_end([] { return slapi_ch_strdup("0123456789012345678901234"); }),
		  "string-32");
	EXPECT_EQ(slapi_ch_strdup(nullptr), nullptr);
}

TEST(Preload389, AStringIsCopied)
{
	for (int i = 0; i < OFTEN; i++) {
		char *copy = slapi_ch_strdup("dc=example");
		void *ptr = copy;

		ASSERT_STREQ(copy, "dc=example");
		slapi_ch_free(&ptr);
	}
}

TEST(Preload389, TypesOfManySizesHaveSeveralCaches)
{
	EXPECT_EQ(name_in_the_end([] { return slapi_value_set_string(20); }), "value_bytes-24");
	EXPECT_EQ(name_in_the_end([] { return slapi_value_set_string(80); }), "value_bytes-96");
	EXPECT_EQ(name_in_the_end([] { return slapi_value_set_string(1024); }), "value_bytes-1024");
}

TEST(Preload389, OtherFunctionsNameTheCachesOfWhatTheyAllocateOften)
{
	EXPECT_EQ(named(stub_unknown(40)), "");
	EXPECT_EQ(name_in_the_end([] { return stub_unknown(40); }), "stub_unknown-40");
}

TEST(Preload389, HiddenFunctionsHaveTheNameOfTheirLibrary)
{
	EXPECT_EQ(name_in_the_end([] { return stub_hidden(48); }), "preload_stub-48");
}

TEST(Preload389, LargeMemoryIsOfMalloc)
{
	EXPECT_EQ(name_in_the_end([] { return stub_unknown(1025); }), "");
	EXPECT_EQ(name_in_the_end([] { return stub_unknown(100000); }), "");
}

TEST(Preload389, SizesThatAreNoneAreLibslapdsAffair)
{
	const unsigned long before = stub_calls;

	EXPECT_EQ(slapi_ch_malloc(0), nullptr);
	EXPECT_EQ(slapi_ch_calloc(0, 8), nullptr);
	EXPECT_EQ(slapi_ch_calloc(half, 4), nullptr);
	EXPECT_EQ(stub_calls, before + 3);
}

TEST(Preload389, AllocationsLeaveErrnoAlone)
{
	errno = 4711;
	for (int i = 0; i < OFTEN; i++)
		named(stub_unknown(56));
	EXPECT_EQ(errno, 4711);
}

TEST(Preload389, FreeTakesMemoryOfBothKinds)
{
	void *of_malloc = std::malloc(100), *typed = slapi_entry_alloc();

	slapi_ch_free(&of_malloc);
	std::free(typed);
	std::free(nullptr);
	EXPECT_EQ(of_malloc, nullptr);
}

TEST(Preload389, ReallocKeepsTheContents)
{
	char *ptr = static_cast<char *>(slapi_entry_alloc());

	std::memset(ptr, 'x', 184);
	ptr = slapi_ch_realloc(ptr, 4000);
	EXPECT_EQ(name_of(ptr), "");
	EXPECT_EQ(std::string(ptr, 184), std::string(184, 'x'));
	std::free(ptr);
}

TEST(Preload389, ReallocToASizeThatFitsKeepsTheObject)
{
	void *ptr = slapi_entry_alloc(), *same = std::realloc(ptr, 170);

	EXPECT_EQ(name_of(same), "entry");
	EXPECT_NE(std::realloc(same, 8), nullptr);
}

TEST(Preload389, ReallocToNothingFrees)
{
	EXPECT_EQ(std::realloc(slapi_entry_alloc(), 0), nullptr);
}

TEST(Preload389, ReallocarrayTakesObjects)
{
	void *ptr = reallocarray(slapi_entry_alloc(), 100, 100);

	ASSERT_NE(ptr, nullptr);
	errno = 0;
	EXPECT_EQ(reallocarray(ptr, half, 4), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	std::free(ptr);
}

TEST(Preload389, UsableSizeIsThatOfTheCache)
{
	void *typed = slapi_entry_alloc(), *of_malloc = std::malloc(100);

	EXPECT_EQ(malloc_usable_size(typed), 184u);
	EXPECT_GE(malloc_usable_size(of_malloc), 100u);
	EXPECT_EQ(malloc_usable_size(nullptr), 0u);
	std::free(typed);
	std::free(of_malloc);
}

/* Threads that free what others have allocated, while caches come into being. */
TEST(Preload389Threads, AllocateAndFreeForEachOther)
{
	constexpr int THREADS = 4, OBJECTS = 20000;
	std::vector<std::vector<void *>> found(THREADS, std::vector<void *>(OBJECTS));
	std::vector<std::thread> threads;

	for (int t = 0; t < THREADS; t++)
		threads.emplace_back([&mine = found[t]] {
			for (int i = 0; i < OBJECTS; i++)
				mine[i] = i % 3 ? stub_unknown(60 + i % 64) : slapi_entry_alloc();
		});
	for (std::thread &thread : threads)
		thread.join();
	threads.clear();
	for (int t = 0; t < THREADS; t++)
		threads.emplace_back([&others = found[(t + 1) % THREADS]] {
			for (void *ptr : others)
				std::free(ptr);
		});
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(named(slapi_entry_alloc()), "entry");
}

TEST(Preload389Threads, CreateOneCacheTogether)
{
	std::vector<std::thread> threads;
	std::vector<slab_cache *> caches(8);

	for (slab_cache *&cache : caches)
		threads.emplace_back([&cache] {
			void *ptr = slapi_pblock_set(152);

			cache = slab_cache_of(ptr);
			slapi_ch_free(&ptr);
		});
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(std::set<slab_cache *>(caches.begin(), caches.end()).size(), 1u);
	EXPECT_STREQ(slab_cache_name(caches[0]), "pblock_task");
}

TEST(Preload389Fork, ParentAndChildGoOn)
{
	void *before = slapi_entry_alloc();
	const pid_t child = fork();

	if (child == 0) {
		const bool is_named = named(slapi_pblock_set(24)) == "pblock_dse_or_misc";

		slapi_ch_free(&before);
		_exit(is_named && named(slapi_entry_alloc()) == "entry" ? 0 : 1);
	}
	int status = -1;
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(named(before), "entry");
}

/* Run with SLAB_389DS_CACHES=1. */
TEST(Preload389Limit, HoldsForAllNames)
{
	EXPECT_EQ(named(slapi_entry_alloc()), "entry");
	EXPECT_EQ(named(slapi_attr_new()), "");
	EXPECT_EQ(name_in_the_end([] { return stub_unknown(40); }), "");
	EXPECT_EQ(named(slapi_entry_alloc()), "entry");
}

/* Run with SLAB_389DS_NAMES=types. */
TEST(Preload389Types, OtherFunctionsHaveNoCache)
{
	EXPECT_EQ(name_in_the_end([] { return stub_unknown(40); }), "");
	EXPECT_EQ(named(slapi_entry_alloc()), "entry");
}

} // namespace
