/* SPDX-License-Identifier: MIT */
/* What a process takes back from caches that are not in use before it grows further. */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

/* Bytes that slabs hold, in use or free. */
std::uint64_t held()
{
	return account_used() + process_stats().cached_bytes;
}

TEST(GrowthReviewTest, StringsThatGrowUseTheirMemoryAgain)
{
	static std::array<char *, 1000> string;
	constexpr std::size_t step = 40, most = 4096;

	for (std::size_t size = step; size <= most; size += step)
		for (char *&one : string) {
			one = static_cast<char *>(slab_realloc(one, size));
			ASSERT_NE(one, nullptr);
			std::memset(one + size - step, 1, step);
		}
	EXPECT_LT(held(), 3 * most * string.size());
	for (char *one : string)
		slab_mfree(one);
}

class GrowthReview : public testing::Test
{
protected:
	const on_one_cpu here_;
	test_cache owner_{512};
	struct slab_cache *const cache_ = owner_;
};

TEST_F(GrowthReview, ReleasesEmptySlabsOfCachesThatWereNotUsed)
{
	free_many(cache_, alloc_many(cache_, 100));
	growth_review();
	growth_review();
	EXPECT_EQ(stats_of(cache_).slabs, 0u);
}

TEST_F(GrowthReview, ReleasesThoseOfManyCachesAfterSomeReviews)
{
	constexpr unsigned caches = 40, reviews = 12; /* eight caches in each, and two rounds */
	std::vector<std::unique_ptr<test_cache>> unused;

	for (unsigned i = 0; i < caches; i++) {
		unused.push_back(std::make_unique<test_cache>(512));
		slab_free(*unused.back(), slab_alloc(*unused.back()));
	}
	for (unsigned i = 0; i < reviews; i++)
		growth_review();
	for (const auto &cache : unused)
		EXPECT_EQ(stats_of(*cache).slabs, 0u);
}

TEST_F(GrowthReview, LeavesWhatCpusHoldOfCachesThatWereUsed)
{
	free_many(cache_, alloc_many(cache_, 100));
	growth_review();
	free_many(cache_, alloc_many(cache_, 1));
	void *obj = slab_alloc(cache_);

	growth_review();
	EXPECT_NE(stats_of(cache_).slabs, 0u);
	EXPECT_NE(arrays_objects(cache_), 0u);
	slab_free(cache_, obj);
}

TEST_F(GrowthReview, LeavesObjectsInUse)
{
	std::vector<void *> objs = alloc_many(cache_, 100);

	slab_free(cache_, objs.back());
	objs.pop_back();
	growth_review();
	growth_review();
	EXPECT_EQ(arrays_objects(cache_), 0u);
	EXPECT_EQ(stats_of(cache_).objects, objs.size());
	EXPECT_EQ(slab_cache_validate(cache_), 0);
	free_many(cache_, objs);
}

TEST(GrowthReviewTest, CallsNoDestructor)
{
	static unsigned destroyed;
	struct slab_cache_args args = {};

	args.ctor = [](void *, void *) { return 0; };
	args.dtor = [](void *, void *) { destroyed++; };
	struct slab_cache *cache = slab_cache_create("destructed", 512, &args, 0);

	free_many(cache, alloc_many(cache, 100));
	for (int i = 0; i < 3; i++)
		growth_review();
	EXPECT_EQ(destroyed, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* The program stops to allocate from a cache, and frees on: its CPUs need none of these objects. */
TEST_F(GrowthReview, ReleasesWhatCpusHoldOfCachesWhoseObjectsAreOnlyFreed)
{
	std::vector<void *> objs = alloc_many(cache_, 20000);
	const std::vector<void *> first(objs.begin(), objs.begin() + 10000);

	objs.erase(objs.begin(), objs.begin() + 10000);
	growth_review();
	free_many(cache_, first);
	growth_review();
	EXPECT_EQ(arrays_objects(cache_), 0u);
	free_many(cache_, objs);
}

TEST(GrowthFrom, RisesByAThirtySecond)
{
	growth_review();
	const std::uint64_t used = account_used(), step = growth_from - used;

	EXPECT_GE(step, used / 32);
	EXPECT_LE(step, used / 32 + (512u << 10));
}

/* Every second block is freed, and the free units are too small for the blocks that follow. */
TEST(GrowthPeak, FreeUnitsThatDoNotFitAreReturnedFirst)
{
	constexpr std::size_t blocks = 64, size = 512 << 10;
	std::vector<char *> held;

	slab_trim();
	for (std::size_t i = 0; i < blocks; i++)
		held.push_back(static_cast<char *>(slab_malloc(size)));
	growth_review();
	const std::uint64_t peak = account_resident();

	for (std::size_t i = 0; i < blocks; i += 2)
		slab_mfree(std::exchange(held[i], nullptr));
	for (std::size_t i = 0; i < blocks / 4; i++)
		held.push_back(static_cast<char *>(slab_malloc(2 * size)));
	EXPECT_LE(account_resident(), peak + peak / 8);
	for (char *block : held)
		slab_mfree(block);
}

/* A cache that needs a slab takes it from another one; a review then looks at what else is free. */
TEST(GrowthFrom, IsReachedByTakingFromOtherCaches)
{
	const on_one_cpu here;
	test_cache from{512}, to{640};
	std::vector<void *> objs;

	slab_trim();
	free_many(from, alloc_many(from, 20000));
	growth_review();
	growth_from = account_used() + slab_pages.reaped + (512u << 10);
	const std::uint64_t before = growth_from;

	for (unsigned i = 0; i < 20000 && growth_from == before; i++)
		objs.push_back(slab_alloc(to));
	EXPECT_NE(growth_from, before);
	EXPECT_LT(objs.size() * 640, 9u << 20);
	free_many(to, objs);
}

TEST(GrowthFrom, FallsWhenTheProcessHasShrunk)
{
	growth_from = UINT64_C(1) << 40;
	growth_after_decay();
	EXPECT_LT(growth_from, UINT64_C(1) << 40);
}

} /* namespace */
