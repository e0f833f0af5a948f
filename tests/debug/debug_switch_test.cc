/* SPDX-License-Identifier: MIT */
/*
 * Debug flags that change while objects are out: these stay as they are and
 * are freed as they were made; their slabs are legacy and go; new objects come with
 * the new debug flags. debug_switch_kinds_test.cc goes through kinds of caches.
 */
#include "../support/switching.h"

namespace
{

/* --- on, off, other ------------------------------------------------------------------ */

TEST_F(SwitchTest, OlderObjectsStayAsTheyAreWhenDebugFlagsAreSwitchedOn)
{
	test_cache cache(object_size);

	allocate(cache, 3000);
	set(cache, all_debug_flags);
	expect_intact(cache);
	allocate(cache, 500);
	expect_intact(cache);
	EXPECT_FALSE(is_debug(objs_[0], all_debug_flags & DEBUG_FLAGS_LAYOUT));
	EXPECT_TRUE(is_debug(objs_[3499], all_debug_flags & DEBUG_FLAGS_LAYOUT));
	free_all(cache);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
}

TEST_F(SwitchTest, OlderObjectsStayAsTheyAreWhenDebugFlagsAreSwitchedOff)
{
	test_cache cache(object_size, all_debug_flags);

	allocate(cache, 3000);
	set(cache, 0);
	expect_intact(cache);
	allocate(cache, 500);
	expect_intact(cache);
	EXPECT_EQ(slab_of(objs_[3499])->debug, nullptr);
	free_all(cache);
	EXPECT_EQ(stats_of(cache).debug_slabs, 0u);
}

TEST_F(SwitchTest, FromAnyDebugFlagsToAnyOther)
{
	test_cache cache(object_size);

	for (std::uint64_t from : all_layouts())
		for (std::uint64_t to : all_layouts()) {
			set(cache, from);
			allocate(cache, 60);
			set(cache, to);
			allocate(cache, 60);
			if (objs_.size() > 3000) {
				expect_intact(cache);
				free_all(cache);
			}
		}
	expect_intact(cache);
	free_all(cache);
	set(cache, 0);
	EXPECT_EQ(stats_of(cache).debug_slabs, 0u);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
}

TEST_F(SwitchTest, ObjectsSurviveManySwitchesAndAreFreedInBetween)
{
	test_cache cache(object_size);
	std::mt19937 random(1);

	for (int round = 0; round < 200; round++) {
		set(cache, random() % 2 ? random() % 16 : 0);
		allocate(cache, random() % 200);
		expect_intact(cache);
		/* The stamps are the indices: only the last ones can go. */
		for (unsigned n = random() % 200; n && !objs_.empty(); n--) {
			slab_free(cache, objs_.back());
			objs_.pop_back();
		}
	}
	expect_intact(cache);
	free_all(cache);
}

/* Nor do the same ones again. */
TEST_F(SwitchTest, DebugFlagsThatChangeNoLayoutKeepTheSlabs)
{
	for (const auto &[before, after] :
	     {std::pair<std::uint64_t, std::uint64_t>{SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE,
						      SLAB_RED_ZONE},
	      {all_debug_flags, all_debug_flags}}) {
		test_cache cache(object_size, before);

		allocate(cache, 10);
		set(cache, after);
		allocate(cache, 10);
		EXPECT_EQ(slab_of(objs_[0]), slab_of(objs_[19]));
		EXPECT_EQ(stats_of(cache).slabs, 1u);
		free_all(cache);
	}
}

TEST_F(SwitchTest, FaultInjectionAloneIsNoDebugging)
{
	test_cache cache(object_size);

	allocate(cache, 10);
	set(cache, SLAB_FAILSLAB);
	allocate(cache, 10);
	EXPECT_EQ(stats_of(cache).debug_slabs, 0u);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
	expect_intact(cache);
	free_all(cache);
}

/* The fast path is the same as before there were debug flags. */
TEST_F(SwitchTest, OffGivesTheFastPathBack)
{
	test_cache cache(object_size);
	struct slab_cache *c = cache;
	const char *arrays = c->alloc_arrays;

	EXPECT_EQ(arrays, c->own_arrays);
	set(cache, SLAB_RED_ZONE);
	EXPECT_EQ(c->alloc_arrays, cpu_arrays_none());
	EXPECT_EQ(c->arrays, arrays);
	set(cache, 0);
	EXPECT_EQ(c->alloc_arrays, arrays);
}

/* As one that was under way when the debug flags were switched on. */
TEST_F(SwitchTest, ALateFreeCountsAsOne)
{
	test_cache cache(64);
	void *kept = slab_alloc(cache), *late[2] = {slab_alloc(cache)};

	ASSERT_EQ(slab_cache_debug(cache, SLAB_DEBUG_DEFAULT), 0);
	ASSERT_EQ(stats_of(cache).objects, 2u);
	objects_free(cache, 1, late, nullptr);
	EXPECT_EQ(stats_of(cache).objects, 1u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(stats_of(cache).objects, 1u);
	slab_free(cache, kept);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

/* --- legacy slabs ----------------------------------------------------------------------------- */

TEST_F(SwitchTest, LegacySlabsAreCountedAndNotAllocatedFrom)
{
	test_cache cache(object_size);

	allocate(cache, 10);
	set(cache, all_debug_flags);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 1u);
	EXPECT_EQ(stats_of(cache).debug_slabs, 0u);
	allocate(cache, 2000);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 1u);
	EXPECT_GT(stats_of(cache).debug_slabs, 1u);
	EXPECT_EQ(stats_of(cache).slabs, stats_of(cache).debug_slabs + 1);
	for (std::size_t i = 10; i < objs_.size(); i++)
		EXPECT_NE(slab_of(objs_[i]), slab_of(objs_[0]));
	free_all(cache);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
}

/* None of its objects is free then, so the slab and the cache stay. */
TEST_F(SwitchTest, ADamagedMapOfALegacySlabIsReportedOnce)
{
	struct slab_cache *cache = slab_cache_create("damaged", object_size, nullptr, 0);

	expected_reports_ = 2; /* and of the objects that remain */
	allocate(cache, 10);
	slab_free(cache, objs_.back());
	objs_.pop_back();
	set(cache, all_debug_flags);
	struct slab *slab = slab_of(objs_[0]);
	slab->free++;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	EXPECT_TRUE(reports_.contains("Map of free objects corrupt")) << reports_.text();
	EXPECT_EQ(slab_cache_validate(cache), 0);
	free_many(cache, objs_);
	EXPECT_EQ(stats_of(cache).objects, slab->initialized - objs_.size());
	EXPECT_EQ(slab_cache_destroy(cache), -EBUSY);
}

/* Slabs of former debug flags become legacy like those without. */
TEST_F(SwitchTest, SlabsOfFormerDebugFlagsAreLegacy)
{
	test_cache cache(object_size, all_debug_flags);

	allocate(cache, 10);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
	for (std::uint64_t to : {std::uint64_t{0}, SLAB_RED_ZONE}) {
		set(cache, to);
		EXPECT_EQ(stats_of(cache).legacy_slabs, 1u);
		EXPECT_EQ(stats_of(cache).debug_slabs, 1u);
	}
	allocate(cache, 10);
	EXPECT_NE(slab_of(objs_[0]), slab_of(objs_[10]));
	EXPECT_EQ(stats_of(cache).legacy_slabs, 1u);
	free_all(cache);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
}

TEST_F(SwitchTest, EmptySlabsGoAtOnce)
{
	test_cache cache(object_size);

	free_many(cache, alloc_many(cache, 3000));
	EXPECT_GT(stats_of(cache).slabs, 0u);
	set(cache, all_debug_flags);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
	free_many(cache, alloc_many(cache, 3000));
	EXPECT_GT(stats_of(cache).debug_slabs, 0u);
	set(cache, 0);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

TEST_F(SwitchTest, ALegacySlabGoesWithItsLastObject)
{
	test_cache cache(object_size);

	allocate(cache, 5);
	set(cache, all_debug_flags);
	while (!objs_.empty()) {
		EXPECT_EQ(stats_of(cache).legacy_slabs, 1u);
		EXPECT_EQ(stats_of(cache).objects, objs_.size());
		slab_free(cache, objs_.back());
		objs_.pop_back();
	}
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

/* Switched off again, a slab without debug flags is what it was. */
TEST_F(SwitchTest, OffMakesLegacySlabsOrdinary)
{
	test_cache cache(object_size);

	allocate(cache, 100);
	for (std::size_t i = 50; i < 100; i++)
		slab_free(cache, objs_[i]);
	objs_.resize(50);
	set(cache, all_debug_flags);
	for (std::size_t i = 25; i < 50; i++)
		slab_free(cache, objs_[i]);
	objs_.resize(25);
	set(cache, 0);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
	expect_intact(cache);
	allocate(cache, 140);
	EXPECT_EQ(stats_of(cache).slabs, 1u);
	expect_intact(cache);
	free_all(cache);
}

TEST_F(SwitchTest, FullSlabsBecomeLegacyToo)
{
	test_cache cache(object_size);
	const unsigned room = stats_of(cache).objects_per_slab;

	allocate(cache, 3 * room);
	set(cache, all_debug_flags);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 3u);
	expect_intact(cache);
	for (int i = 0; i < 10; i++) {
		slab_free(cache, objs_.back());
		objs_.pop_back();
	}
	set(cache, 0);
	expect_intact(cache);
	free_all(cache);
}

/*
 * A free that was on its way when its slab became legacy: it saw a slab without
 * debug flags, put its object into an array, and that is drained.
 */
TEST_F(SwitchTest, FreesUnderWayReachLegacySlabs)
{
	test_cache cache(object_size);

	allocate(cache, 4);
	void *late[4] = {objs_[0], objs_[1], objs_[2]};
	set(cache, all_debug_flags);
	objects_free(cache, 3, late, nullptr);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(stats_of(cache).objects, 1u);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 1u);
	/* They are free: another free is one too many. */
	slab_free(cache, hidden(objs_[1]));
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	expected_reports_ = 1;
	slab_free(cache, objs_[3]);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
}

TEST_F(SwitchTest, TheLastFreeUnderWayIsFoundByShrinking)
{
	test_cache cache(object_size);

	allocate(cache, 1);
	void *late[2] = {objs_[0]};
	set(cache, all_debug_flags);
	objects_free(cache, 1, late, nullptr);
	EXPECT_EQ(slab_cache_shrink(cache), 1);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

/* As a thread does that was allocating while debug flags were switched on. */
TEST_F(SwitchTest, ASlabThatIsListedLaterBecomesLegacyToo)
{
	test_cache cache(object_size);
	struct slab_cache *c = cache;
	void *objs[2];

	set(cache, all_debug_flags);
	ASSERT_EQ(objects_take(c, c->shard, 1, objs, TAKE_NEW), 1u);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
	allocate(cache, 1); /* makes a debug slab */
	EXPECT_EQ(stats_of(cache).legacy_slabs, 1u);
	slab_free(cache, objs[0]);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
	free_all(cache);
}

/* A thread that still sees debug flags when there are none any more looks for slabs
 * that ought to become legacy. */
TEST_F(SwitchTest, NothingIsLegacyWithoutDebugFlags)
{
	test_cache cache(object_size);
	struct slab_cache *c = cache;

	allocate(cache, 10);
	c->plain_left = true;
	legacy_begin_rest(cache);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
	free_all(cache);
}

/* --- back again ------------------------------------------------------------------------------ */

TEST_F(SwitchTest, SwitchedBackTheOldSlabsServeAgain)
{
	test_cache cache(object_size, all_debug_flags);

	allocate(cache, 10);
	set(cache, 0);
	allocate(cache, 10);
	set(cache, all_debug_flags);
	allocate(cache, 10);
	EXPECT_EQ(slab_of(objs_[0]), slab_of(objs_[29]));
	EXPECT_EQ(stats_of(cache).debug_slabs, 1u);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 1u);
	expect_intact(cache);
	free_all(cache);
}

TEST_F(SwitchTest, DamageBeforeASwitchIsFoundAfterIt)
{
	test_cache cache(object_size, all_debug_flags);
	char *obj = hidden(slab_alloc(cache));

	obj[object_size] = 1;
	set(cache, 0);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	EXPECT_EQ(reported().reason, "Right Redzone overwritten");
	obj[-1] = 1;
	slab_free(cache, hidden(obj));
	EXPECT_EQ(reports_.last().reason, "Left Redzone overwritten");
	expected_reports_ = 2;
}

TEST_F(SwitchTest, DoubleFreeAcrossSwitchesIsReported)
{
	test_cache cache(object_size);

	allocate(cache, 2);
	set(cache, all_debug_flags);
	slab_free(cache, hidden(objs_[0]));
	set(cache, SLAB_RED_ZONE);
	slab_free(cache, hidden(objs_[0]));
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	expected_reports_ = 1;
	slab_free(cache, objs_[1]);
}

} /* namespace */
