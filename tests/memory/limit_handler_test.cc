/* SPDX-License-Identifier: MIT */
/* Allocations that fail at a limit: they are counted, and the handler is called. */
#include "../support/limits.h"
#include "../support/process.h"
#include "../support/units.h"

namespace
{

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
