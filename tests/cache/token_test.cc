/* SPDX-License-Identifier: MIT */
/* Caches of types, as <slab/token.h> promises them. */
#include <slab/debug.h>
#include <slab/pointer.h>
#include <slab/token.h>

#include "core/cache.h"
#include "../support/debugging.h"

namespace
{

/* Each test has tokens of its own: types stay until the process ends. */
std::uint64_t new_token()
{
	static std::uint64_t last = UINT64_C(0x9e3779b97f4a7c15);

	return last += UINT64_C(0x1000000001);
}

std::string hash_name(std::uint64_t token)
{
	char text[40];

	std::snprintf(text, sizeof(text), "token-%016llX", (unsigned long long)token);
	return text;
}

void *allocate(std::size_t size, std::uint64_t token)
{
	return slab_token_malloc(size, token, __builtin_return_address(0));
}

std::string cache_name(const void *ptr)
{
	return slab_cache_name(slab_cache_of(ptr));
}

/* The cache from which a class of a type is served after some allocations. */
std::string name_when_many(std::size_t size, std::uint64_t token)
{
	std::vector<void *> all;
	std::string name;

	for (unsigned i = 0; i < 100; i++)
		all.push_back(allocate(size, token));
	name = cache_name(all.back());
	for (void *ptr : all)
		slab_mfree(ptr);
	return name;
}

TEST(TokenTest, TheFirstSizeHasACacheOfExactlyThisSize)
{
	const std::uint64_t token = new_token();
	void *ptr = allocate(200, token);

	EXPECT_EQ(cache_name(ptr), hash_name(token));
	EXPECT_EQ(slab_cache_size(slab_cache_of(ptr)), 200u);
	EXPECT_TRUE(aligned(ptr, 16));
	slab_mfree(ptr);
}

TEST(TokenTest, TypesOfOneSizeHaveCachesOfTheirOwn)
{
	const std::uint64_t one = new_token(), other = new_token();
	void *a = allocate(48, one), *b = allocate(48, other);

	EXPECT_NE(slab_cache_of(a), slab_cache_of(b));
	slab_mfree(a);
	slab_mfree(b);
}

TEST(TokenTest, FurtherSizesHaveCachesOfClassesWhenTheyAreMany)
{
	const std::uint64_t token = new_token();
	void *first = allocate(40, token), *few = allocate(300, token);

	EXPECT_EQ(cache_name(few), "size-320");
	EXPECT_EQ(name_when_many(300, token), hash_name(token) + "-320");
	EXPECT_EQ(name_when_many(2000, token), hash_name(token) + "-2k");
	slab_mfree(first);
	slab_mfree(few);
}

TEST(TokenTest, TheClassOfTheFirstSizeIsItsCache)
{
	const std::uint64_t token = new_token();
	void *first = allocate(96, token), *smaller = allocate(90, token);

	EXPECT_EQ(slab_cache_of(first), slab_cache_of(smaller));
	slab_mfree(first);
	slab_mfree(smaller);
}

TEST(TokenTest, WithoutATypeAllocationsAreOrdinary)
{
	void *untyped = allocate(100, 0), *empty = allocate(0, new_token());
	void *large = allocate(100000, new_token());

	EXPECT_EQ(cache_name(untyped), "size-112");
	EXPECT_EQ(cache_name(empty), "size-16");
	EXPECT_EQ(slab_cache_of(large), nullptr);
	for (void *ptr : {untyped, empty, large})
		slab_mfree(ptr);
}

TEST(TokenTest, ThousandsOfTypesAreFoundAgain)
{
	std::vector<std::pair<std::uint64_t, void *>> types;

	for (unsigned i = 0; i < 1000; i++) {
		const std::uint64_t token = new_token();

		types.emplace_back(token, allocate(24, token));
	}
	for (const auto &[token, ptr] : types) {
		void *again = allocate(24, token);

		EXPECT_EQ(slab_cache_of(again), slab_cache_of(ptr));
		EXPECT_EQ(cache_name(ptr), hash_name(token));
		slab_mfree(again);
		slab_mfree(ptr);
	}
}

TEST(TokenTest, CallocZeroes)
{
	const std::uint64_t token = new_token();
	void *dirty = allocate(88, token);

	fill(dirty, 88, 1);
	slab_mfree(dirty);
	void *ptr = slab_token_calloc(11, 8, token, nullptr);
	EXPECT_EQ(cache_name(ptr), hash_name(token));
	EXPECT_TRUE(all_bytes(ptr, 88, 0));
	slab_mfree(ptr);
	EXPECT_EQ(slab_token_calloc(SIZE_MAX, 2, token, nullptr), nullptr);
}

TEST(TokenTest, MemoryIsAligned)
{
	for (std::size_t align = 1; align <= 65536; align *= 2)
		for (std::size_t size : {1u, 24u, 200u, 1000u, 5000u, 40000u}) {
			const std::uint64_t token = new_token();
			void *ptr = slab_token_memalign(align, size, token, nullptr);

			ASSERT_NE(ptr, nullptr);
			EXPECT_TRUE(aligned(ptr, align)) << align << ' ' << size;
			fill(ptr, size, align);
			EXPECT_TRUE(intact(ptr, size, align));
			slab_mfree(ptr);
		}
	EXPECT_EQ(slab_token_memalign(24, 24, new_token(), nullptr), nullptr);
}

/* --- realloc ------------------------------------------------------------------------------- */

TEST(TokenTest, AlignmentsThatACacheDoesNotHaveAreOrdinary)
{
	const std::uint64_t token = new_token(), with_zones = new_token();
	void *odd = allocate(200, token), *large = allocate(8192, with_zones);

	EXPECT_EQ(slab_cache_debug(slab_cache_of(large), SLAB_RED_ZONE), 0);
	for (void *ptr : {slab_token_memalign(64, 192, token, nullptr),
			  slab_token_memalign(8192, 8192, with_zones, nullptr)}) {
		EXPECT_TRUE(aligned(ptr, 64));
		EXPECT_NE(cache_name(ptr), hash_name(token));
		slab_mfree(ptr);
	}
	slab_mfree(odd);
	slab_mfree(large);
}

TEST(TokenTest, ReallocKeepsTheType)
{
	const std::uint64_t token = new_token();
	void *ptr = allocate(40, token);

	name_when_many(300, token);
	fill(ptr, 40, 7);
	ptr = slab_realloc(ptr, 300);
	EXPECT_EQ(cache_name(ptr), hash_name(token) + "-320");
	EXPECT_TRUE(intact(ptr, 40, 7));
	ptr = slab_realloc(ptr, 40);
	EXPECT_EQ(cache_name(ptr), hash_name(token));
	slab_mfree(ptr);
}

TEST(TokenTest, ReallocStaysInPlaceIfTheCacheServesTheSize)
{
	const std::uint64_t token = new_token();
	void *ptr = allocate(200, token);
	void *same = slab_token_realloc(ptr, 196, token, nullptr);

	EXPECT_EQ(same, ptr);
	same = slab_realloc(same, 200);
	EXPECT_EQ(same, ptr);
	/* Beyond the object, although within the size class. */
	same = slab_realloc(same, 208);
	EXPECT_GE(slab_usable_size(same), 208u);
	slab_mfree(same);
}

TEST(TokenTest, ReallocToAnotherTypeMoves)
{
	const std::uint64_t from = new_token(), to = new_token();
	void *ptr = slab_token_realloc(allocate(64, from), 64, to, nullptr);

	EXPECT_EQ(cache_name(ptr), hash_name(to));
	EXPECT_EQ(slab_token_realloc(ptr, 0, to, nullptr), nullptr);
	ptr = slab_token_realloc(nullptr, 64, to, nullptr);
	EXPECT_EQ(cache_name(ptr), hash_name(to));
	slab_mfree(ptr);
}

/* --- names --------------------------------------------------------------------------------- */

TEST(TokenNameTest, NamesFutureCaches)
{
	const std::uint64_t token = new_token();

	EXPECT_EQ(slab_token_name(token, "future"), 0);
	void *ptr = allocate(56, token);
	EXPECT_EQ(cache_name(ptr), "future");
	EXPECT_EQ(name_when_many(400, token), "future-416");
	slab_mfree(ptr);
}

TEST(TokenNameTest, RenamesPresentCaches)
{
	const std::uint64_t token = new_token();
	void *ptr = allocate(56, token);

	name_when_many(400, token);
	EXPECT_EQ(slab_token_name(token, "present"), 0);
	EXPECT_EQ(cache_name(ptr), "present");
	EXPECT_EQ(name_when_many(400, token), "present-416");
	slab_mfree(ptr);
}

TEST(TokenNameTest, ANameOfAnotherCacheIsLeftToIt)
{
	struct slab_cache *other = slab_cache_create("occupied", 8, nullptr, 0);
	const std::uint64_t before = new_token(), behind = new_token();
	void *ptr = allocate(56, before), *later;

	EXPECT_EQ(slab_token_name(before, "occupied"), 0);
	EXPECT_EQ(slab_token_name(behind, "occupied"), 0);
	later = allocate(56, behind);
	EXPECT_EQ(cache_name(ptr), hash_name(before));
	EXPECT_EQ(cache_name(later), hash_name(behind));
	slab_mfree(ptr);
	slab_mfree(later);
	EXPECT_EQ(slab_cache_destroy(other), 0);
}

TEST(TokenNameTest, WrongNamesAreRefused)
{
	const std::string longest(SLAB_TOKEN_NAME_MAX, 'x'), too_long = longest + "x";

	EXPECT_EQ(slab_token_name(new_token(), longest.c_str()), 0);
	for (const char *name : {"", "a b", "size-96", too_long.c_str(), (const char *)nullptr})
		EXPECT_EQ(slab_token_name(new_token(), name), -EINVAL);
	EXPECT_EQ(slab_token_name(0, "zero"), -EINVAL);
}

TEST(TokenTest, ASampledObjectOfAnOddSizeIsAlignedTo16)
{
	const std::uint64_t token = new_token();
	void *first = allocate(24, token), *sampled;

	ASSERT_EQ(slab_cache_sample(slab_cache_of(first), 1), 0);
	for (unsigned i = 0; i < 8; i++) {
		sampled = allocate(24, token);
		EXPECT_TRUE(aligned(sampled, 16));
		slab_mfree(sampled);
	}
	slab_mfree(first);
}

/* --- large allocations ----------------------------------------------------------------------- */

extern "C" struct slab_cache *token_cache_of_large(std::uint64_t token);

/* How many of a type there are, and their bytes. */
std::pair<std::uint64_t, std::uint64_t> large_of(std::uint64_t token)
{
	const struct slab_cache *cache = token_cache_of_large(token);

	return {cache->above.objects, cache->above.bytes};
}

using counts = std::pair<std::uint64_t, std::uint64_t>;

TEST(LargeTokenTest, AllocationsOfEachFunctionAreCountedUntilTheyAreFreed)
{
	const std::uint64_t token = new_token();
	const std::vector<void *> all = {
		allocate(40960, token),
		slab_token_calloc(10, 4096, token, nullptr),
		slab_token_memalign(65536, 40960, token, nullptr),
		slab_token_new(SLAB_PAIR_NEW, 0, 40960, token, nullptr),
		slab_token_realloc(nullptr, 40960, token, nullptr),
		allocate(std::size_t{32} << 20, token), /* a mapping of its own */
	};

	EXPECT_EQ(large_of(token), counts(6, 5 * 40960 + (32 << 20)));
	for (void *ptr : all)
		slab_mfree(ptr);
	EXPECT_EQ(large_of(token), counts(0, 0));
}

TEST(LargeTokenTest, ReallocKeepsTheTypeAndCountsThePresentSize)
{
	const std::uint64_t token = new_token();
	void *ptr = allocate(16, token);

	for (const std::size_t size : {40960, 45056, 1 << 20, 3 << 20, 64 << 20, 80 << 20, 40960}) {
		ptr = slab_realloc(ptr, size);
		EXPECT_EQ(large_of(token), counts(1, size));
	}
	ptr = slab_realloc(ptr, 16);
	EXPECT_EQ(large_of(token), counts(0, 0));
	EXPECT_EQ(cache_name(ptr), hash_name(token));
	slab_mfree(ptr);
}

TEST(LargeTokenTest, ReallocGivesAnotherType)
{
	const std::uint64_t one = new_token(), other = new_token();
	void *ptr = slab_token_realloc(allocate(40960, one), 45056, other, nullptr);

	EXPECT_EQ(large_of(one), counts(0, 0));
	EXPECT_EQ(large_of(other), counts(1, 45056));
	slab_mfree(ptr);
}

TEST(LargeTokenTest, UntypedAllocationsDoNotInheritAType)
{
	const std::uint64_t token = new_token();
	std::vector<void *> all;

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 20; i++)
			all.push_back(allocate(40960, round ? 0 : token));
		EXPECT_EQ(large_of(token).first, round ? 0 : 20);
		for (void *ptr : all)
			slab_mfree(ptr);
		all.clear();
	}
}

TEST(LargeTokenTest, AnAllocationBeforeAllSmallOnesIsCountedByTheLargestClass)
{
	const std::uint64_t token = new_token();
	void *large = allocate(40960, token), *small;

	EXPECT_EQ(slab_cache_name(token_cache_of_large(token)), hash_name(token) + "-32k");
	EXPECT_EQ(large_of(token), counts(1, 40960));
	small = allocate(40, token);
	EXPECT_EQ(cache_name(small), hash_name(token));
	slab_mfree(large);
	slab_mfree(small);
}

/* --- threads, forks, limits ---------------------------------------------------------------- */

TEST(TokenTest, ThreadsThatComeFirstAtOnceGetOneCache)
{
	std::vector<std::uint64_t> tokens;
	std::vector<std::thread> threads;
	std::mutex mutex;
	std::map<std::uint64_t, std::set<struct slab_cache *>> caches;

	for (unsigned i = 0; i < 200; i++)
		tokens.push_back(new_token());
	for (unsigned t = 0; t < 4; t++)
		threads.emplace_back([&] {
			for (const std::uint64_t token : tokens) {
				void *ptr = allocate(72, token);
				const std::lock_guard<std::mutex> lock(mutex);

				caches[token].insert(slab_cache_of(ptr));
				slab_mfree(ptr);
			}
		});
	for (auto &thread : threads)
		thread.join();
	for (const auto &[token, found] : caches)
		EXPECT_EQ(found.size(), 1u) << hash_name(token);
}

TEST(TokenTest, AChildGoesOn)
{
	const std::uint64_t token = new_token();
	void *ptr = allocate(72, token);

	EXPECT_EQ(run_in_child([&] {
			  void *mine = allocate(72, token), *fresh = allocate(72, new_token());

			  slab_mfree(ptr);
			  return slab_cache_of(mine) == slab_cache_of(ptr) && fresh ? 0 : 1;
		  }),
		  "");
	slab_mfree(ptr);
}

TEST(TokenTest, BeyondTheLimitTypesAreOrdinary)
{
	EXPECT_EQ(run_in_child([] {
			  bool ordinary = false;

			  for (unsigned i = 0; i <= SLAB_TOKEN_CACHES_MAX; i++)
				  ordinary = cache_name(allocate(16, new_token())) == "size-16";
			  return ordinary ? 0 : 1;
		  }),
		  "");
}

} /* namespace */
