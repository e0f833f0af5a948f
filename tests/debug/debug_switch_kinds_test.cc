/* SPDX-License-Identifier: MIT */
/*
 * Debug flags that change in caches of each kind (with constructor, of a size class), under objects
 * of other threads and in a child; and what is refused.
 */
#include "../support/switching.h"

namespace
{

/* --- kinds of caches -------------------------------------------------------------------------- */

struct constructions {
	long live = 0;
	bool bad = false;

	static int construct(void *obj, void *arg)
	{
		static_cast<constructions *>(arg)->live++;
		fill(obj, object_size, 7);
		return 0;
	}

	static void destruct(void *obj, void *arg)
	{
		auto *self = static_cast<constructions *>(arg);

		self->live--;
		self->bad |= !intact(obj, object_size, 7);
	}
};

TEST_F(SwitchTest, ConstructedObjectsStayConstructed)
{
	constructions counts;
	struct slab_cache_args args = {};

	args.ctor = constructions::construct;
	args.dtor = constructions::destruct;
	args.arg = &counts;
	{
		test_cache cache(object_size, 0, &args);

		for (std::uint64_t to : all_layouts()) {
			set(cache, to);
			for (int i = 0; i < 700; i++) {
				objs_.push_back(slab_alloc(cache));
				ASSERT_TRUE(intact(objs_.back(), object_size, 7)) << to;
			}
			shuffle(objs_);
			while (objs_.size() > 300) {
				slab_free(cache, objs_.back());
				objs_.pop_back();
			}
			EXPECT_EQ(slab_cache_validate(cache), 0);
		}
		free_many(cache, objs_);
	}
	EXPECT_EQ(counts.live, 0);
	EXPECT_FALSE(counts.bad);
}

TEST_F(SwitchTest, SizeClassesChangeLikeOthers)
{
	struct slab_cache *cache = cache_of_size(112);
	char *older = hidden(slab_malloc(100));

	fill(older, 100, 1);
	EXPECT_EQ(slab_usable_size(older), 112u);
	set(cache, all_debug_flags);
	EXPECT_EQ(slab_usable_size(older), 112u);
	char *younger = hidden(slab_malloc(100));
	fill(younger, 100, 2);
	EXPECT_EQ(slab_usable_size(younger), 100u);
	set(cache, 0);
	EXPECT_EQ(slab_usable_size(younger), 100u);
	EXPECT_TRUE(intact(older, 100, 1));
	EXPECT_TRUE(intact(younger, 100, 2));
	older = hidden(slab_realloc(older, 200));
	younger = hidden(slab_realloc(younger, 200));
	EXPECT_TRUE(intact(older, 96, 1));
	EXPECT_TRUE(intact(younger, 96, 2));
	slab_mfree(older);
	slab_mfree(younger);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(stats_of(cache).debug_slabs, 0u);
}

TEST_F(SwitchTest, SizesStayTheSame)
{
	test_cache cache(41);

	EXPECT_EQ(slab_cache_size(cache), 41u);
	set(cache, all_debug_flags);
	EXPECT_EQ(slab_cache_size(cache), 41u);
	EXPECT_EQ(stats_of(cache).object_size, 41u);
	void *obj = slab_alloc(cache);
	set(cache, 0);
	EXPECT_EQ(slab_cache_size(cache), 41u);
	slab_free(cache, obj);
}

/* --- threads and processes -------------------------------------------------------------------- */

TEST_F(SwitchTest, SlabsOfOtherCpusBecomeLegacy)
{
	test_cache cache(object_size);

	for (std::size_t cpu = 0; cpu < allowed_cpus().size(); cpu++)
		std::thread([&] {
			pin(cpu);
			allocate(cache, 1000);
			for (int i = 0; i < 300; i++) {
				slab_free(cache, objs_.back());
				objs_.pop_back();
			}
		}).join();
	set(cache, all_debug_flags);
	EXPECT_EQ(stats_of(cache).cpu_objects, 0u);
	expect_intact(cache);
	free_all(cache);
	EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
}

TEST_F(SwitchTest, AChildGoesOnAfterASwitch)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	test_cache cache(object_size);

	allocate(cache, 500);
	set(cache, all_debug_flags);
	allocate(cache, 500);
	EXPECT_IN_CHILD([&] {
		for (std::size_t i = 0; i < objs_.size(); i++)
			if (!intact(objs_[i], object_size, i))
				return 1;
		slab_cache_debug(cache, SLAB_RED_ZONE);
		free_many(cache, alloc_many(cache, 500));
		slab_cache_debug(cache, 0);
		free_many(cache, objs_);
		free_many(cache, alloc_many(cache, 500));
		if (reports_.count() || slab_cache_validate(cache) != 0)
			return 2;
		return slab_cache_destroy(cache) == 0 ? 0 : 3;
	});
	expect_intact(cache);
	free_all(cache);
}

/* --- arguments -------------------------------------------------------------------------------- */

TEST_F(SwitchTest, OtherFlagsAreRefused)
{
	test_cache cache(object_size, SLAB_RED_ZONE);

	for (std::uint64_t flag :
	     {SLAB_ZERO, SLAB_HWCACHE_ALIGN, UINT64_C(1) << 6, UINT64_C(1) << 63}) {
		errno = 0;
		EXPECT_EQ(slab_cache_debug(cache, flag | SLAB_POISON), -EINVAL);
		EXPECT_EQ(errno, EINVAL);
	}
	EXPECT_EQ(stats_of(cache).flags & SLAB_DEBUG_FLAGS, SLAB_RED_ZONE);
}

TEST_F(SwitchTest, NoCacheAndADestroyedCacheAreRefused)
{
	struct slab_cache *cache = slab_cache_create("destroyed", 64, nullptr, 0);

	ASSERT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_EQ(slab_cache_debug(cache, all_debug_flags), -EINVAL);
	EXPECT_EQ(slab_cache_debug(nullptr, all_debug_flags), -EINVAL);
}

} /* namespace */
