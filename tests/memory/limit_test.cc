/* SPDX-License-Identifier: MIT */
/*
 * The limit of the process. Its handler, and limits of a cache: limit_cache_test.cc. No
 * memory at all: out_of_memory_test.cc.
 */
#include "../support/limits.h"
#include "../support/process.h"
#include "../support/units.h"

namespace
{

/* --- the process ------------------------------------------------------------------------- */

TEST_F(LimitTest, TheProcessHasNoneByDefault)
{
	EXPECT_EQ(slab_limit(), 0U);
	EXPECT_EQ(slab_set_limit(123456), 0);
	EXPECT_EQ(slab_limit(), 123456U);
	EXPECT_EQ(slab_set_limit(0), 0);
	EXPECT_EQ(slab_limit(), 0U);
}

TEST_F(LimitTest, OfTheProcessHoldsOneSlabAtLeast)
{
	ASSERT_EQ(slab_set_limit(mib), 0);
	for (std::size_t bytes : {1UL, 4096UL, 16383UL}) {
		errno = 0;
		EXPECT_EQ(slab_set_limit(bytes), -EINVAL);
		EXPECT_EQ(errno, EINVAL);
		EXPECT_EQ(slab_limit(), mib);
	}
	EXPECT_EQ(slab_set_limit(16384), 0);
}

TEST_F(LimitTest, AllOfTheProcessesCanBeUsedAndNothingBeyond)
{
	test_cache cache(1000);
	const std::size_t bytes = slab_bytes_of(cache);
	process_limit limit(3 * bytes);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), 3 * stats_of(cache).objects_per_slab);
	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(slab_alloc_node(cache, 0), nullptr);
	EXPECT_EQ(slab_zalloc(cache), nullptr);
	EXPECT_EQ(used_bytes(), limit.bytes);
	free_many(cache, objects);
}

TEST_F(LimitTest, SlabsWithDebugFlagsAreTheProcessesToo)
{
	test_cache cache(1000, SLAB_RED_ZONE | SLAB_STORE_USER);
	process_limit limit(mib);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_GT(objects.size(), 500U);
	EXPECT_LE(used_bytes(), limit.bytes);
	free_many(cache, objects);
}

TEST_F(LimitTest, BelowWhatTheProcessUsesItOnlyStopsGrowth)
{
	test_cache cache(1000);
	std::vector<void *> objects = alloc_many(cache, 1000);

	ASSERT_EQ(slab_set_limit(65536), 0);
	const std::vector<void *> more = allocate_all(cache);

	EXPECT_LT(more.size(), stats_of(cache).objects_per_slab);
	EXPECT_TRUE(all_distinct(objects));
	slab_set_limit(0);
	objects.push_back(slab_alloc(cache));
	EXPECT_NE(objects.back(), nullptr);
	free_many(cache, objects);
	free_many(cache, more);
}

TEST_F(LimitTest, LargeAllocationsCount)
{
	const std::size_t before = used_bytes();
	process_limit limit(4 * mib);
	void *mapped = slab_malloc(3 * mib), *slab;

	ASSERT_NE(mapped, nullptr);
	errno = 0;
	EXPECT_EQ(slab_malloc(3 * mib), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	slab = slab_malloc(300000);
	EXPECT_NE(slab, nullptr);
	EXPECT_EQ(slab_malloc(800000), nullptr);
	EXPECT_LE(used_bytes(), limit.bytes);
	slab_mfree(mapped);
	slab_mfree(slab);
	EXPECT_EQ(used_bytes(), before);
}

TEST_F(LimitTest, GrowingALargeAllocationCounts)
{
	const std::size_t before = used_bytes();
	process_limit limit(4 * mib);
	void *ptr = slab_malloc(3 * mib);

	ASSERT_NE(ptr, nullptr);
	fill(ptr, 3 * mib, 7);
	errno = 0;
	EXPECT_EQ(slab_realloc(ptr, 5 * mib), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_TRUE(intact(ptr, 3 * mib, 7));
	EXPECT_LE(used_bytes(), limit.bytes);
	ptr = slab_realloc(ptr, mib * 5 / 2);
	EXPECT_LE(used_bytes(), before + mib * 5 / 2 + 65536);
	slab_mfree(ptr);
	EXPECT_EQ(used_bytes(), before);
}

TEST_F(LimitTest, ALargeAllocationCountsAsItsPages)
{
	const std::size_t before = used_bytes(), large = process_stats().large_bytes;
	process_limit limit(4 * mib);
	std::vector<void *> all;

	for (void *ptr; (ptr = slab_malloc((1200 << 10) - 100));)
		all.push_back(ptr);
	EXPECT_EQ(all.size(), 3U);
	EXPECT_EQ(used_bytes() - before, 3U * os_pages(1200 << 10));
	EXPECT_EQ(process_stats().large_bytes - large, 3U * os_pages(1200 << 10));
	/* However it is aligned. */
	all.push_back(slab_memalign(2 * mib, 100));
	EXPECT_NE(all.back(), nullptr);
	EXPECT_EQ(used_bytes() - before, 3U * os_pages(1200 << 10) + os_page_size());
	for (void *ptr : all)
		slab_mfree(ptr);
	EXPECT_EQ(used_bytes(), before);
	EXPECT_EQ(process_stats().large_bytes, large);
}

TEST_F(LimitTest, WhatALargeAllocationGrowsAndShrinksInPlaceCounts)
{
	const std::size_t before = used_bytes();
	void *ptr = slab_malloc(300 << 10), *same;

	for (std::size_t size : {500U << 10, 512U << 10, 256U << 10, 400U << 10}) {
		same = slab_realloc(ptr, size);
		EXPECT_EQ(same, ptr);
		EXPECT_EQ(used_bytes() - before, os_pages(size));
	}
	{
		process_limit limit(48 << 10);

		EXPECT_EQ(slab_realloc(ptr, 500 << 10), nullptr);
		same = slab_realloc(ptr, 448 << 10);
		EXPECT_EQ(same, ptr);
	}
	EXPECT_EQ(used_bytes() - before, 448U << 10);
	slab_mfree(same);
	EXPECT_EQ(used_bytes(), before);
}

TEST_F(LimitTest, ShrinkingInPlaceIsAllowedAboveIt)
{
	for (std::size_t size : {std::size_t{500} << 10, 10 * mib}) {
		const std::size_t before = used_bytes();
		void *ptr = slab_malloc(size), *same;

		ASSERT_EQ(slab_set_limit(65536), 0);
		same = slab_realloc(ptr, size * 3 / 4);
		EXPECT_EQ(same, ptr);
		EXPECT_LE(used_bytes() - before, size * 3 / 4 + 5 * os_page_size());
		slab_set_limit(0);
		slab_mfree(ptr);
		EXPECT_EQ(used_bytes(), before);
	}
}

/* Half a MiB of objects that args.reclaim frees. */
class giving_cache
{
public:
	giving_cache() : cache_(512, 0, &args())
	{
		slab_cache_shrink(cache_);
		objects_ = alloc_many(cache_, 1000);
		self() = this;
	}

	~giving_cache() { free_many(cache_, objects_); }

	unsigned calls = 0;

private:
	static giving_cache *&self()
	{
		static giving_cache *one;

		return one;
	}

	static const struct slab_cache_args &args()
	{
		static struct slab_cache_args args = {};

		args.reclaim = [](struct slab_cache *cache, void *) -> std::size_t {
			const std::size_t n = self()->objects_.size();

			self()->calls++;
			free_many(cache, self()->objects_);
			self()->objects_.clear();
			return n;
		};
		return args;
	}

	test_cache cache_;
	std::vector<void *> objects_;
};

TEST_F(LimitTest, NoCacheReclaimsForWhatFits)
{
	giving_cache giving;
	process_limit limit(1300 << 10);
	void *ptr = slab_malloc(1100 << 10);

	EXPECT_NE(ptr, nullptr);
	EXPECT_EQ(giving.calls, 0U);
	slab_mfree(ptr);
}

TEST_F(LimitTest, NoCacheReclaimsForALargeOneBeyondTheLimit)
{
	giving_cache giving;
	const std::size_t size = used_bytes() + 9 * mib;

	slab_set_limit(size);
	EXPECT_EQ(slab_malloc(size + 1), nullptr);
	/* A mapping has a head, too, and is aligned. */
	EXPECT_EQ(slab_malloc(size - os_page_size() + 1), nullptr);
	EXPECT_EQ(slab_memalign(mib, size - mib + SEGMENT_HEAD_OFFSET + 1), nullptr);
	EXPECT_EQ(giving.calls, 0U);
}

TEST_F(LimitTest, CachesReclaimForWhatALargeOneGrowsInPlace)
{
	giving_cache giving;
	void *ptr = slab_malloc(1100 << 10), *same;

	fill(ptr, 1100 << 10, 5);
	process_limit limit(100 << 10);

	errno = 7;
	same = slab_realloc(ptr, 1500 << 10);
	EXPECT_EQ(same, ptr);
	EXPECT_EQ(errno, 7);
	EXPECT_EQ(giving.calls, 1U);
	EXPECT_TRUE(intact(ptr, 1100 << 10, 5));
	EXPECT_LE(used_bytes(), limit.bytes);
	slab_mfree(ptr);
}

/* The object fills its slab, so it cannot grow in place. This is not a lack of memory, though the
 * thread's last allocation failed at a limit, which is higher now. */
TEST_F(LimitTest, NoCacheReclaimsForWhatCannotGrowInPlace)
{
	void *ptr = slab_malloc(1000 << 10);
	giving_cache giving;
	unsigned calls;

	{
		process_limit limit(100 << 10);

		EXPECT_EQ(slab_malloc(2 * mib), nullptr);
		calls = giving.calls;
	}
	process_limit limit(1024 * mib);

	ptr = slab_realloc(ptr, 3 * mib);
	EXPECT_NE(ptr, nullptr);
	EXPECT_EQ(giving.calls, calls);
	slab_mfree(ptr);
}

TEST_F(LimitTest, AMappingGrowsInPlaceUpToTheLimit)
{
	void *ptr = slab_realloc(slab_malloc(10 * mib), 20 * mib), *same;

	ptr = slab_realloc(ptr, 10 * mib); /* addresses above it are free now */
	ASSERT_NE(ptr, nullptr);
	process_limit limit(6 * mib);

	same = slab_realloc(ptr, 16 * mib);
	EXPECT_EQ(same, ptr);
	EXPECT_EQ(used_bytes(), limit.bytes);
	slab_mfree(same);
}

TEST_F(LimitTest, EmptySlabsOfOtherCachesAreTakenBack)
{
	test_cache holder(1000), cache(500);

	free_many(holder, alloc_many(holder, 500));
	ASSERT_GT(stats_of(holder).slabs, 2U);

	process_limit limit(0);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_GT(objects.size(), stats_of(cache).objects_per_slab);
	EXPECT_EQ(stats_of(holder).slabs, 0U);
	EXPECT_LE(used_bytes(), limit.bytes);
	free_many(cache, objects);
}

TEST_F(LimitTest, NoThreadGetsTheProcessAboveIt)
{
	test_cache a(1000), b(300);
	const std::size_t before = used_bytes();
	process_limit limit(2 * mib);
	std::atomic<bool> exceeded{false};
	std::atomic<unsigned> refused{0};
	std::vector<std::thread> threads;

	for (unsigned t = 0; t < 8; t++)
		threads.emplace_back([&, t] {
			std::vector<std::pair<struct slab_cache *, void *>> mine;
			std::vector<void *> large;
			std::mt19937 random(t);

			for (int i = 0; i < 3000; i++) {
				struct slab_cache *cache = random() % 2 ? a : b;

				if (used_bytes() > limit.bytes)
					exceeded = true;
				if (random() % 100 == 0 && large.size() < 2) {
					if (void *ptr = slab_malloc(40000 + random() % 900000))
						large.push_back(ptr);
				} else if (!large.empty() && random() % 50 == 0) {
					slab_mfree(large.back());
					large.pop_back();
				} else if (!mine.empty() && random() % 100 < 45) {
					slab_free(mine.back().first, mine.back().second);
					mine.pop_back();
				} else if (void *obj = slab_alloc(cache)) {
					mine.emplace_back(cache, obj);
				} else {
					refused++;
				}
			}
			for (const auto &object : mine)
				slab_free(object.first, object.second);
			for (void *ptr : large)
				slab_mfree(ptr);
		});
	join_all(threads);
	EXPECT_FALSE(exceeded);
	slab_cache_shrink(a);
	slab_cache_shrink(b);
	EXPECT_EQ(used_bytes(), before);
	EXPECT_EQ(slab_cache_validate(a) + slab_cache_validate(b), 0);

	const std::vector<void *> objects = allocate_all(a);

	EXPECT_EQ(objects.size(), room_within(a, 2 * mib));
	free_many(a, objects);
}

/* --- the environment ------------------------------------------------------------------------ */

std::size_t parsed(const char *value, int complaints = 0)
{
	static const char *text;
	static struct slab_options options;
	static struct slab_option_texts texts;

	text = value;
	EXPECT_EQ(slab_options_parse(
			  &options, &texts,
			  [](const char *name) -> char * {
				  return std::strcmp(name, "SLAB_LIMIT") == 0
						 ? const_cast<char *>(text)
						 : nullptr;
			  },
			  [](const char *) {}),
		  complaints)
		<< value;
	return options.limit;
}

TEST_F(LimitTest, TheVariableTakesBytesAndSuffixes)
{
	EXPECT_EQ(parsed("0"), 0U);
	EXPECT_EQ(parsed("123456789"), 123456789U);
	EXPECT_EQ(parsed("64k"), 64U << 10);
	EXPECT_EQ(parsed("512M"), 512U << 20);
	EXPECT_EQ(parsed("16g"), std::size_t{16} << 30);
	for (const char *bad :
	     {"k", "-1", "1t", "1kk", "m1", "9999999999g", "1 g", "0x10", "1", "16383", "15k"})
		EXPECT_EQ(parsed(bad, 1), 0U) << bad;
}

TEST_F(LimitTest, TheVariableSetsIt)
{
	if (running_again()) {
		test_cache cache(1000);

		EXPECT_EQ(slab_limit(), mib);
		EXPECT_LE(allocate_all(cache, 5000).size(), mib / 1000);
		_exit(HasFailure());
	}
	const second_run run = run_again({"SLAB_LIMIT=1m"});

	EXPECT_EQ(run.failure, "") << run.output;
}

} /* namespace */
