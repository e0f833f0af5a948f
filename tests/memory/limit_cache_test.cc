/* SPDX-License-Identifier: MIT */
/* The limit of a cache, which is never exceeded. */
#include "../support/limits.h"
#include "../support/process.h"
#include "../support/units.h"

namespace
{

/* A cache that may have `slabs` slabs. */
struct limited_cache : test_cache {
	explicit limited_cache(std::size_t slabs, std::size_t size = 1000) : test_cache(size)
	{
		limit = slabs * slab_bytes_of(*this);
		room = slabs * stats_of(*this).objects_per_slab;
		EXPECT_EQ(slab_stat_write(*this, "limit", limit), 0);
	}

	std::size_t limit, room;
};

TEST_F(LimitTest, AllOfItCanBeUsedAndNothingBeyond)
{
	limited_cache cache(3);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), cache.room);
	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(slab_zalloc(cache), nullptr);
	EXPECT_EQ(slab_alloc_node(cache, 0), nullptr);
	EXPECT_EQ(read_stat(cache, "slabs"), 3U);
	EXPECT_EQ(read_stat(cache, "limit"), cache.limit);
	slab_free(cache, objects.back());
	EXPECT_EQ(slab_alloc(cache), objects.back());
	free_many(cache, objects);
}

TEST_F(LimitTest, BulkAllocationGetsWhatThereIs)
{
	limited_cache cache(2);
	std::vector<void *> objects(cache.room + 10);
	const std::size_t got =
		slab_alloc_bulk(cache, SLAB_ALLOC_FULL, objects.size(), objects.data());

	EXPECT_EQ(got, cache.room);
	EXPECT_EQ(errno, ENOMEM);
	slab_free_bulk(cache, got, objects.data());
}

TEST_F(LimitTest, ItIsAnArgumentOfCreation)
{
	struct slab_cache_args args = {};

	args.limit = 1 << 20;
	test_cache cache(1000, 0, &args);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), room_within(cache, args.limit));
	free_many(cache, objects);
}

TEST_F(LimitTest, LessThanASlabIsNoLimitForACreation)
{
	struct slab_cache_args args = {};

	args.limit = 4096;
	errno = 0;
	EXPECT_EQ(slab_cache_create("too_tight", 1000, &args, 0), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

/* As creation: what cannot serve a single allocation is refused. */
TEST_F(LimitTest, LessThanASlabIsNoLimitLater)
{
	for (const std::size_t size : {64u, 32768u}) {
		test_cache cache(size);
		struct slab_cache_args args = {};
		const std::size_t least = slab_bytes_of(cache);

		for (const std::size_t bytes : {std::size_t{1}, least - 1}) {
			errno = 0;
			EXPECT_EQ(slab_stat_write(cache, "limit", bytes), -ERANGE);
			EXPECT_EQ(errno, ERANGE);
			EXPECT_EQ(read_stat(cache, "limit"), 0u);
			args.limit = bytes;
			EXPECT_EQ(slab_cache_create("too_tight", size, &args, 0), nullptr);
		}
		EXPECT_EQ(slab_stat_write(cache, "limit", least), 0);
		args.limit = least;
		test_cache same(size, 0, &args);
	}
}

TEST_F(LimitTest, BelowWhatIsInUseItOnlyStopsGrowth)
{
	test_cache cache(1000);
	std::vector<void *> objects = allocate_all(cache, 1000);
	const std::uint64_t slabs = read_stat(cache, "slabs");
	std::vector<void *> more;

	ASSERT_EQ(slab_stat_write(cache, "limit", slab_bytes_of(cache)), 0);
	EXPECT_EQ(read_stat(cache, "objects"), 1000U);
	more = allocate_all(cache);
	EXPECT_EQ(read_stat(cache, "slabs"), slabs);
	ASSERT_EQ(slab_stat_write(cache, "limit", 0), 0);
	more.push_back(slab_alloc(cache));
	EXPECT_NE(more.back(), nullptr);
	free_many(cache, objects);
	free_many(cache, more);
}

TEST_F(LimitTest, WhatOtherThreadsLeftFreeIsTakenBack)
{
	limited_cache cache(4);

	/* Each leaves slabs with its CPU, of which an object is in use. */
	std::vector<void *> kept;

	for (int i = 0; i < 4; i++)
		std::thread([&cache, &kept, i] {
			pin(static_cast<std::size_t>(i));
			std::vector<void *> objects = allocate_all(cache);

			if (objects.empty())
				return;
			kept.push_back(objects.back());
			objects.pop_back();
			free_many(cache, objects);
		}).join();

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size() + kept.size(), cache.room);
	free_many(cache, objects);
	free_many(cache, kept);
}

/* A guarded slab has 4 pages at least. */
TEST_F(LimitTest, GuardedObjectsDoNotCount)
{
	const std::size_t slab = std::max(std::size_t{64 << 10}, 4 * os_page_size());
	limited_cache cache(2 * slab >> 16);
	const std::size_t more = 4 * cache.limit / slab;
	std::vector<void *> guarded;

	ASSERT_EQ(slab_cache_sample(cache, 1), 0);
	for (std::size_t i = 0; i < more; i++)
		guarded.push_back(slab_alloc(cache));
	EXPECT_EQ(read_stat(cache, "guarded_slabs"), more);
	ASSERT_EQ(slab_cache_sample(cache, 0), 0);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), cache.room);
	free_many(cache, objects);
	free_many(cache, guarded);
}

TEST_F(LimitTest, SlabsWithDebugFlagsCount)
{
	limited_cache cache(3);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_CONSISTENCY_CHECKS), 0);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_LE(objects.size(), cache.room);
	EXPECT_GT(objects.size(), 0U);
	EXPECT_LE(read_stat(cache, "slab_bytes"), cache.limit);
	free_many(cache, objects);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	free_many(cache, allocate_all(cache));
}

/* Also of sizes that have larger slabs with debug flags than without. */
TEST_F(LimitTest, OneSlabServesWithDebugFlagsToo)
{
	for (std::size_t size = 64; size <= SLAB_MAX_OBJECT_SIZE; size += size / 256 * 8 + 8) {
		struct slab_cache_args args = {};

		args.limit = slab_bytes_of(test_cache(size));
		test_cache cache(size, 0, &args);
		ASSERT_EQ(slab_cache_debug(cache, SLAB_RED_ZONE | SLAB_POISON), 0);
		void *obj = slab_alloc(cache);
		EXPECT_NE(obj, nullptr) << size;
		slab_free(cache, obj);
	}
}

/* Objects in use never need more slabs than the limit allows; all of these can be allocated. */
TEST_F(LimitTest, EightThreadsNeverExceedIt)
{
	limited_cache cache(5);

	EXPECT_LE(most_at_once(cache, 20000), cache.room);
	EXPECT_LE(read_stat(cache, "slabs"), 5U);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), cache.room);
	free_many(cache, objects);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/* The account is right after everything that makes and gives back slabs. */
TEST_F(LimitTest, NothingIsLostOfItOverTime)
{
	limited_cache cache(3);

	for (int round = 0; round < 20; round++) {
		const std::uint64_t debug_flags = round % 2 ? SLAB_RED_ZONE | SLAB_STORE_USER : 0;

		ASSERT_EQ(slab_cache_debug(cache, debug_flags), 0);
		ASSERT_EQ(slab_cache_sample(cache, round % 3 ? 0 : 10), 0);
		free_many(cache, allocate_all(cache));
		slab_cache_shrink(cache);
	}
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	ASSERT_EQ(slab_cache_sample(cache, 0), 0);
	slab_cache_shrink(cache);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), cache.room);
	free_many(cache, objects);
}

/* Allocations that fail at a limit: they are counted, and the handler is called. */

struct call {
	struct slab_cache *cache;
	std::size_t limit;
};

/* Collects the arguments of the handler. */
struct listener {
	listener()
	{
		slab_set_limit_handler(
			[](struct slab_cache *cache, std::size_t limit, const char *, void *arg) {
				static_cast<listener *>(arg)->all.push_back({cache, limit});
				if (static_cast<listener *>(arg)->then)
					static_cast<listener *>(arg)->then();
			},
			this);
	}

	~listener() { slab_set_limit_handler(nullptr, nullptr); }

	std::vector<call> all;
	void (*then)() = nullptr;
};

TEST_F(LimitTest, FailuresByTheLimitOfACacheAreCountedThere)
{
	struct slab_cache_args args = {};

	args.limit = mib;
	test_cache cache(1000, 0, &args);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(stats_of(cache).limit_hits, 1U);
	EXPECT_EQ(slab_zalloc(cache), nullptr);
	EXPECT_EQ(slab_alloc_node(cache, 0), nullptr);
	EXPECT_EQ(stats_of(cache).limit_hits, 3U);
	free_many(cache, objects);
}

TEST_F(LimitTest, FailuresByThatOfTheProcessAreCountedTwice)
{
	test_cache cache(1000);
	process_limit limit(mib);
	const std::uint64_t before = slab_pages.limit_hits;
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(stats_of(cache).limit_hits, 1U);
	EXPECT_EQ(slab_pages.limit_hits, before + 1);
	EXPECT_EQ(slab_malloc(2 * mib), nullptr);
	EXPECT_EQ(stats_of(cache).limit_hits, 1U);
	EXPECT_EQ(slab_pages.limit_hits, before + 2);
	free_many(cache, objects);
}

TEST_F(LimitTest, OtherFailuresAreNone)
{
	test_cache cache(1000);
	listener heard;
	failing fail("times=-1");

	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(slab_malloc(2 * mib), nullptr);
	EXPECT_EQ(stats_of(cache).limit_hits, 0U);
	EXPECT_TRUE(heard.all.empty());
}

TEST_F(LimitTest, TheHandlerIsCalledOnceForEachFailure)
{
	struct slab_cache_args args = {};

	args.limit = mib;
	test_cache cache(1000, 0, &args);
	listener heard;
	const std::vector<void *> objects = allocate_all(cache);

	ASSERT_EQ(heard.all.size(), 1U);
	EXPECT_EQ(heard.all[0].cache, static_cast<struct slab_cache *>(cache));
	EXPECT_EQ(heard.all[0].limit, mib);
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(slab_alloc_node(cache, 0), nullptr);
	EXPECT_EQ(heard.all.size(), 3U);
	free_many(cache, objects);
}

TEST_F(LimitTest, BulkIsOneFailure)
{
	struct slab_cache_args args = {};

	args.limit = mib;
	for (unsigned mode : {SLAB_ALLOC_FULL, SLAB_ALLOC_PARTIAL | SLAB_ALLOC_NEW}) {
		test_cache cache(1000, 0, &args);
		listener heard;
		std::vector<void *> objects(2000);
		std::size_t got = 0, more;

		/* Without FULL it ends with what a fresh slab gives. */
		while ((more = slab_alloc_bulk(cache, mode, objects.size() - got, &objects[got])))
			got += more;
		EXPECT_EQ(got, room_within(cache, mib));
		EXPECT_GE(heard.all.size(), 1U);
		EXPECT_LE(heard.all.size(), 2U);
		EXPECT_EQ(stats_of(cache).limit_hits, heard.all.size());
		slab_free_bulk(cache, got, objects.data());
	}
}

TEST_F(LimitTest, TheProcessHasNoCacheToTell)
{
	test_cache cache(1000);
	process_limit limit(mib);
	listener heard;
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(slab_malloc(2 * mib), nullptr);
	ASSERT_EQ(heard.all.size(), 2U);
	for (const call &call : heard.all) {
		EXPECT_EQ(call.cache, nullptr);
		EXPECT_EQ(call.limit, limit.bytes);
	}
	free_many(cache, objects);
}

TEST_F(LimitTest, AHandlerThatFailsItselfIsNotCalledAgain)
{
	process_limit limit(64 << 10);
	listener heard;

	heard.then = [] { EXPECT_EQ(slab_malloc(2 * mib), nullptr); };
	EXPECT_EQ(slab_malloc(2 * mib), nullptr);
	EXPECT_EQ(heard.all.size(), 1U);
	heard.then = nullptr;
	EXPECT_EQ(slab_malloc(2 * mib), nullptr);
	EXPECT_EQ(heard.all.size(), 2U);
}

/* What it must not do while a lock is held. */
TEST_F(LimitTest, TheHandlerMayUseTheLibrary)
{
	static struct slab_cache *limited;
	struct slab_cache_args args = {};

	args.limit = mib;
	test_cache cache(1000, 0, &args);
	listener heard;

	limited = cache;
	heard.then = [] {
		struct slab_cache *other = slab_cache_create("of-the-handler", 64, nullptr, 0);

		EXPECT_NE(other, nullptr);
		slab_free(other, slab_alloc(other));
		EXPECT_EQ(slab_cache_destroy(other), 0);
		EXPECT_GE(slab_cache_shrink(limited), 0);
		EXPECT_EQ(slab_cache_validate(limited), 0);
	};
	free_many(cache, allocate_all(cache));
	EXPECT_EQ(heard.all.size(), 1U);
}

TEST_F(LimitTest, NoHandlerIsCalledAfterNull)
{
	std::size_t calls;
	{
		process_limit limit(64 << 10);
		listener heard;

		slab_set_limit_handler(nullptr, nullptr);
		EXPECT_EQ(slab_malloc(2 * mib), nullptr);
		calls = heard.all.size();
	}
	EXPECT_EQ(calls, 0U);
}

} /* namespace */
