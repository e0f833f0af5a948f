/* SPDX-License-Identifier: MIT */
/*
 * Reserves: creation, allocations that get their objects, and frees that fill them again.
 * What they survive: reserve_kept_test.cc.
 */
#include "../support/debugging.h"
#include "../support/limits.h"
#include "reserving.h"

namespace
{

/* --- creation ------------------------------------------------------------------------- */

TEST(ReserveTest, ItExistsFromTheStartAndIsNotInUse)
{
	reserving_cache cache;
	const struct slab_stats stats = stats_of(cache);

	EXPECT_EQ(stats.reserve, kept);
	EXPECT_EQ(stats.reserve_left, kept);
	EXPECT_EQ(stats.objects, 0U);
	EXPECT_GE(stats.total_objects, kept);
	EXPECT_TRUE(is_fast(cache));
}

/* The error of a creation that fails, and leaves nothing behind. */
int creation_error(const struct slab_cache_args &args)
{
	const std::size_t before = used_bytes();
	struct slab_cache *cache;
	int error;

	errno = 0;
	cache = slab_cache_create("reserving", object_size, &args, 0);
	error = errno;
	EXPECT_EQ(cache, nullptr);
	EXPECT_EQ(used_bytes(), before);
	return error;
}

TEST(ReserveTest, ACacheThatCannotHaveItIsNotCreated)
{
	struct slab_cache_args args = reserving(1000), modest = reserving(10);

	args.limit = 512 << 10;
	EXPECT_EQ(creation_error(args), ENOMEM);
	for (std::size_t impossible : {~std::size_t{0}, ~std::size_t{0} / 8})
		EXPECT_EQ(creation_error(reserving(impossible)), ENOMEM) << impossible;
	for (const char *spec : {"times=1", "times=1,interval=2", "times=-1"}) {
		failing fail(spec);

		EXPECT_EQ(creation_error(modest), ENOMEM) << spec;
	}
	args.limit = 4 << 20;

	struct slab_cache *cache = slab_cache_create("reserving", object_size, &args, 0);

	ASSERT_NE(cache, nullptr);
	EXPECT_EQ(stats_of(cache).reserve_left, 1000U);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(ReserveTest, AConstructorThatFailsIsNoMemory)
{
	static int calls;
	struct slab_cache_args args = reserving(100);

	calls = 0;
	args.ctor = [](void *, void *) { return ++calls > 30 ? 1 : 0; };
	EXPECT_EQ(creation_error(args), ENOMEM);
}

/* --- taking ----------------------------------------------------------------------------- */

TEST(ReserveTest, EachOfThemIsToBeHadWhenThereAreNoPages)
{
	reserving_cache cache;
	failing fail(no_pages);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_GE(objects.size(), kept);
	EXPECT_TRUE(all_distinct(objects));
	EXPECT_EQ(cache.left(), 0U);
	EXPECT_EQ(errno, ENOMEM);
	for (std::size_t i = 0; i < objects.size(); i++)
		fill(objects[i], object_size, i);
	for (std::size_t i = 0; i < objects.size(); i++)
		EXPECT_TRUE(intact(objects[i], object_size, i));
	EXPECT_EQ(stats_of(cache).objects, objects.size());
	free_many(cache, objects);
}

TEST(ReserveTest, EachOfThemIsToBeHadAtTheLimit)
{
	struct slab_cache_args args = reserving(kept);

	args.limit = 512 << 10;
	reserving_cache cache(0, args);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), room_within(cache, args.limit));
	EXPECT_EQ(cache.left(), 0U);
	EXPECT_EQ(stats_of(cache).limit_hits, 1U);
	free_many(cache, objects);
}

TEST(ReserveTest, EachOfThemIsToBeHadAtTheLimitOfTheProcess)
{
	reserving_cache cache;
	process_limit limit(0);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_GE(objects.size(), kept);
	EXPECT_EQ(cache.left(), 0U);
	EXPECT_LE(used_bytes(), limit.bytes);
	free_many(cache, objects);
}

TEST(ReserveTest, ExactlyItsObjectsServeWhenObjectsFail)
{
	reserving_cache cache(SLAB_FAILSLAB);
	failing fail(no_pages);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), kept);
	EXPECT_TRUE(all_distinct(objects));
	free_many(cache, objects);
	EXPECT_EQ(allocate_all(cache).size(), 0U) << "what was freed is not in the reserve";
	slab_set_fail(nullptr);
	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(cache.left(), kept);
}

TEST(ReserveTest, ThreadsGetEachOfThemOnce)
{
	for (int round = 0; round < 20; round++) {
		reserving_cache cache(SLAB_FAILSLAB);
		std::vector<std::vector<void *>> got(8);
		std::vector<std::thread> threads;
		std::vector<void *> all;
		failing fail(no_pages);

		for (std::vector<void *> &mine : got)
			threads.emplace_back([&] { mine = allocate_all(cache); });
		join_all(threads);
		for (const std::vector<void *> &mine : got)
			all.insert(all.end(), mine.begin(), mine.end());
		EXPECT_EQ(all.size(), kept);
		EXPECT_TRUE(all_distinct(all));
		free_many(cache, all);
	}
}

TEST(ReserveTest, EveryWayToAllocateLeadsToIt)
{
	reserving_cache cache(SLAB_FAILSLAB, 10);
	failing fail(no_pages);
	std::vector<void *> objects(14); /* room for what is wanted in vain */

	objects[0] = slab_alloc(cache);
	objects[1] = slab_zalloc(cache);
	objects[2] = slab_alloc_node(cache, 0);
	objects[3] = slab_alloc_node(cache, -1);
	EXPECT_TRUE(all_bytes(objects[1], object_size, 0));
	EXPECT_EQ(slab_alloc_node(cache, SLAB_NODE_STRICT), nullptr);
	EXPECT_EQ(cache.left(), 6U);
	EXPECT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_LOCAL, 6, &objects[4]), 0U);
	EXPECT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 4, &objects[4]), 4U);
	EXPECT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 6, &objects[8]), 2U);
	objects.resize(10);
	EXPECT_TRUE(all_distinct(objects));
	free_many(cache, objects);
}

TEST(ReserveTest, BulkGetsTheRestOfItWhenThereAreNoPages)
{
	reserving_cache cache;
	failing fail(no_pages);
	std::vector<void *> objects(10000);
	const std::size_t got =
		slab_alloc_bulk(cache, SLAB_ALLOC_FULL, objects.size(), objects.data());

	EXPECT_GE(got, kept);
	EXPECT_EQ(cache.left(), 0U);
	objects.resize(got);
	EXPECT_TRUE(all_distinct(objects));
	slab_free_bulk(cache, got, objects.data());
}

TEST(ReserveTest, ItsObjectsAreZeroedWhereAllAre)
{
	reserving_cache cache(SLAB_ZERO | SLAB_FAILSLAB);

	for (int round = 0; round < 2; round++) {
		failing fail(no_pages);
		const std::vector<void *> objects = allocate_all(cache);

		EXPECT_EQ(objects.size(), kept);
		for (void *obj : objects) {
			EXPECT_TRUE(all_bytes(obj, object_size, 0));
			fill(obj, object_size, 3);
		}
		free_many(cache, objects);
		slab_set_fail(nullptr);
		slab_free(cache, slab_alloc(cache));
	}
}

TEST(ReserveTest, ItsObjectsAreConstructed)
{
	struct slab_cache_args args = reserving(kept);

	args.ctor = [](void *obj, void *) {
		fill(obj, object_size, 5);
		return 0;
	};
	reserving_cache cache(SLAB_FAILSLAB, args);
	failing fail(no_pages);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), kept);
	for (void *obj : objects)
		EXPECT_TRUE(intact(obj, object_size, 5));
	free_many(cache, objects);
}

TEST(ReserveTest, AnAllocationFromItHasNotFailed)
{
	static int calls;
	struct slab_cache_args args = reserving(kept);

	calls = 0;
	args.limit = 512 << 10;
	reserving_cache cache(0, args);

	slab_set_limit_handler(
		[](struct slab_cache *, std::size_t, const char *, void *) { calls++; }, nullptr);
	std::vector<void *> objects;

	errno = 0;
	while (cache.left() > 0)
		objects.push_back(slab_alloc(cache));
	EXPECT_EQ(calls, 0);
	EXPECT_EQ(errno, 0);
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(calls, 1);
	slab_set_limit_handler(nullptr, nullptr);
	free_many(cache, objects);
}

/* --- filling ---------------------------------------------------------------------------- */

TEST(ReserveTest, WhatIsFreedBelongsToItFirst)
{
	reserving_cache cache;
	std::vector<void *> objects;
	{
		failing fail(no_pages);

		objects = allocate_all(cache);
		EXPECT_FALSE(is_fast(cache));
		for (int i = 0; i < 5; i++) {
			slab_free(cache, objects.back());
			objects.pop_back();
		}
		objects.push_back(slab_alloc(cache));
		EXPECT_EQ(cache.left(), 4U);
	}
	objects.push_back(slab_alloc(cache));
	EXPECT_EQ(cache.left(), kept);
	EXPECT_TRUE(is_fast(cache));
	EXPECT_TRUE(all_distinct(objects));
	EXPECT_EQ(stats_of(cache).objects, objects.size());
	free_many(cache, objects);
}

TEST(ReserveTest, BulkAndNodesFillItToo)
{
	for (bool bulk : {true, false}) {
		reserving_cache cache;
		std::vector<void *> objects;
		void *obj = nullptr;
		{
			failing fail(no_pages);

			objects = allocate_all(cache);
		}
		if (bulk)
			EXPECT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 1, &obj), 1U);
		else
			obj = slab_alloc_node(cache, 0);
		EXPECT_EQ(cache.left(), kept);
		objects.push_back(obj);
		free_many(cache, objects);
	}
}

/* Taking and filling in turn, by many: it is whole in the end, and nothing is twice. */
TEST(ReserveTest, ThreadsThatComeAndGoLoseNothing)
{
	struct slab_cache_args args = reserving(kept);

	args.limit = 512 << 10;
	reserving_cache cache(0, args);

	EXPECT_LE(most_at_once(cache, 5000), args.limit / object_size);
	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(cache.left(), kept);
	EXPECT_EQ(slab_cache_validate(cache), 0);

	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(stats_of(cache).slab_bytes, args.limit);
	EXPECT_EQ(objects.size(), stats_of(cache).total_objects);
	free_many(cache, objects);
}

} /* namespace */
