/* SPDX-License-Identifier: MIT */
/* Reserves: nothing that happens to the cache meanwhile takes an object away. */
#include "../support/debugging.h"
#include "../support/limits.h"
#include "reserving.h"

namespace
{

TEST(ReserveTest, ItSurvivesShrinkingAndValidation)
{
	reserving_cache cache(SLAB_FAILSLAB);

	free_many(cache, alloc_many(cache, 500));
	EXPECT_GE(slab_cache_shrink(cache), 0);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_GT(slab_trim() + 1, 0U);
	EXPECT_EQ(cache.left(), kept);
	EXPECT_LE(stats_of(cache).slabs, kept / stats_of(cache).objects_per_slab + 2);

	failing fail(no_pages);
	const std::vector<void *> objects = allocate_all(cache);

	EXPECT_EQ(objects.size(), kept);
	free_many(cache, objects);
}

TEST(ReserveTest, ItServesWithAnyDebugFlagsWhateverItWasFilledWith)
{
	for (std::uint64_t before : {0UL, SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER})
		for (std::uint64_t after : all_layouts()) {
			reserving_cache cache(before);
			report_capture reports;

			EXPECT_EQ(slab_cache_debug(cache, after | SLAB_FAILSLAB), 0);
			EXPECT_EQ(slab_cache_validate(cache), 0);
			EXPECT_EQ(cache.left(), kept);

			failing fail(no_pages);
			const std::vector<void *> objects = allocate_all(cache);

			EXPECT_EQ(objects.size(), kept);
			for (std::size_t i = 0; i < objects.size(); i++)
				fill(objects[i], object_size, i);
			for (std::size_t i = 0; i < objects.size(); i++)
				EXPECT_TRUE(intact(objects[i], object_size, i));
			EXPECT_EQ(slab_cache_validate(cache), 0);
			free_many(cache, objects);
			EXPECT_TRUE(reports.all().empty()) << reports.text();
			EXPECT_EQ(slab_cache_debug(cache, 0), 0);
			slab_set_fail(nullptr);
			slab_free(cache, slab_alloc(cache));
			EXPECT_EQ(cache.left(), kept);
		}
}

/* The last object that was freed, in the reserve by now. */
void *reserve_again(struct slab_cache *cache, std::vector<void *> &objects)
{
	failing fail(no_pages);
	void *obj;

	for (void *taken : allocate_all(cache))
		objects.push_back(taken);
	obj = objects.back();
	objects.pop_back();
	slab_free(cache, hidden(obj));
	slab_set_fail(nullptr);
	objects.push_back(slab_alloc(cache));
	return obj;
}

TEST(ReserveTest, ADoubleFreeOfItsObjectIsSeen)
{
	for (std::uint64_t debug_flags :
	     {SLAB_CONSISTENCY_CHECKS,
	      SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER}) {
		reserving_cache cache(debug_flags);
		report_capture reports;
		std::vector<void *> objects;
		void *obj = reserve_again(cache, objects);

		ASSERT_TRUE(reports.all().empty()) << reports.text();
		slab_free(cache, hidden(obj));
		ASSERT_EQ(reports.all().size(), 1U);
		EXPECT_EQ(reports.all()[0].info.problem, SLAB_PROBLEM_DOUBLE_FREE);
		EXPECT_EQ(cache.left(), kept);
		free_many(cache, objects);
		EXPECT_EQ(slab_cache_validate(cache), 0);
	}
}

TEST(ReserveTest, ADoubleFreeIsSeenInALegacySlab)
{
	reserving_cache cache;
	report_capture reports;
	std::vector<void *> objects;
	void *obj = reserve_again(cache, objects);
	flagged f(cache, SLAB_CONSISTENCY_CHECKS);

	slab_free(cache, hidden(obj));
	ASSERT_EQ(reports.all().size(), 1U);
	EXPECT_EQ(reports.all()[0].info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	EXPECT_EQ(cache.left(), kept);
	free_many(cache, objects);
}

TEST(ReserveTest, WhatOverwroteItsObjectIsReportedAndPutRight)
{
	reserving_cache cache(SLAB_RED_ZONE);
	report_capture reports;
	std::vector<void *> objects;
	auto *obj = hidden(reserve_again(cache, objects));

	obj[object_size] = 1;
	{
		failing fail(no_pages);

		for (void *taken : allocate_all(cache))
			objects.push_back(taken);
	}
	ASSERT_EQ(reports.all().size(), 1U) << reports.text();
	EXPECT_EQ(reports.all()[0].info.problem, SLAB_PROBLEM_RIGHT_REDZONE);
	EXPECT_EQ(cache.left(), 0U);
	EXPECT_EQ(static_cast<unsigned char>(obj[object_size]), 0xcc);
	free_many(cache, objects);
}

TEST(ReserveTest, ItsObjectsAreTrackedToTheThreadThatAllocates)
{
	reserving_cache cache(SLAB_STORE_USER | SLAB_FAILSLAB);
	failing fail(no_pages);
	void *obj = nullptr;

	std::thread([&] { obj = slab_alloc(cache); }).join();
	ASSERT_NE(obj, nullptr);
	EXPECT_NE(debug_track(slab_of(obj), place(obj).index, TRACK_ALLOC)->tid,
		  static_cast<unsigned>(thread_id()));
	slab_free(cache, obj);
}

TEST(ReserveTest, ItIsNoLeak)
{
	const struct slab_cache_args args = reserving(kept);

	for (std::uint64_t flags : {0UL, SLAB_STORE_USER}) {
		report_capture reports;
		struct slab_cache *cache =
			slab_cache_create("reserving", object_size, &args, flags);

		ASSERT_NE(cache, nullptr);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
		EXPECT_TRUE(reports.all().empty()) << reports.text();
	}
}

TEST(ReserveTest, ItIsWholeWhenTheCacheIsNotDestroyed)
{
	reserving_cache cache;
	void *obj = slab_alloc(cache);
	{
		report_capture reports;

		EXPECT_EQ(cache.destroy(), -EBUSY);
		ASSERT_EQ(reports.all().size(), 1U);
		EXPECT_EQ(reports.all()[0].info.leaked, 1U);
	}
	EXPECT_EQ(cache.left(), kept);
	EXPECT_EQ(stats_of(cache).objects, 1U);
	slab_free(cache, obj);
}

TEST(ReserveTest, AChildHasOneOfItsOwn)
{
	reserving_cache cache(SLAB_FAILSLAB);
	std::atomic<bool> stop{false};
	/* No malloc in this thread: a child whose parent forked within AddressSanitizer's malloc
	 * may find a lock of its stack depot taken for ever (gcc 12). */
	std::thread taker([&] {
		std::array<void *, 5> objs;

		while (!stop) {
			for (void *&obj : objs)
				obj = slab_alloc(cache);
			for (void *obj : objs)
				slab_free(cache, obj);
		}
	});

	for (int i = 0; i < 10; i++)
		EXPECT_IN_CHILD([&] {
			slab_free(cache, slab_alloc(cache));
			if (cache.left() != kept)
				return 1;
			slab_set_fail(no_pages);
			return allocate_all(cache).size() == kept ? 0 : 2;
		});
	stop = true;
	taker.join();
	EXPECT_EQ(cache.left(), kept);
}

} /* namespace */
