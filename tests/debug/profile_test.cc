/* SPDX-License-Identifier: MIT */
/*
 * Samples of the heap profile: objects like all others, whichever way they were allocated, and
 * their frees. How often allocations are sampled, and switching: profile_switch_test.cc.
 */
#include "../support/debugging.h"
#include "../support/profiled.h"

namespace
{

constexpr std::size_t object_size = 328; /* that no other cache has */

/* --- objects like all others ---------------------------------------------------------------- */

TEST_F(ProfileTest, SamplesOfAnySizeAreWholeAndAligned)
{
	profile_every(every_one);
	for (std::size_t size = 40; size <= SLAB_MAX_OBJECT_SIZE; size += size / 3 + 1)
		for (std::size_t align : {0u, 8u, 64u, 4096u}) {
			struct slab_cache_args args = {};

			args.align = align;
			test_cache cache(size, 0, &args);
			std::vector<void *> objs = alloc_many(cache, 5);

			EXPECT_TRUE(all_distinct(objs));
			for (std::size_t i = 0; i < objs.size(); i++) {
				ASSERT_TRUE(is_profiled(objs[i])) << size;
				EXPECT_TRUE(aligned(objs[i], align ? align : 8)) << size;
				fill(objs[i], size, i);
			}
			for (std::size_t i = 0; i < objs.size(); i++)
				EXPECT_TRUE(intact(objs[i], size, i)) << size;
			free_many(cache, objs);
		}
}

TEST_F(ProfileTest, MemoryBySizeKeepsItsUsableSizeAndAlignment)
{
	for (std::size_t size : {100u, 1000u, 32768u}) {
		void *plain = slab_malloc(size);
		const std::size_t usable = slab_usable_size(plain);

		profile_every(every_one);
		void *sample = slab_malloc(size), *aligned_sample = slab_memalign(64, size);

		EXPECT_TRUE(is_profiled(sample)) << size;
		EXPECT_TRUE(is_profiled(aligned_sample)) << size;
		EXPECT_EQ(slab_usable_size(sample), usable);
		EXPECT_TRUE(aligned(sample, 16));
		EXPECT_TRUE(aligned(aligned_sample, 64));
		std::memset(sample, 'x', size);
		sample = slab_realloc(sample, size + size / 2);
		EXPECT_TRUE(all_bytes(sample, size, 'x'));
		profile_every(0);
		slab_mfree(plain);
		slab_mfree(sample);
		slab_mfree(aligned_sample);
	}
}

TEST_F(ProfileTest, SamplesAreConstructedAndDestroyed)
{
	static unsigned living;
	struct slab_cache_args args = {};

	args.ctor = [](void *obj, void *) {
		living++;
		return fill(obj, object_size, 42), 0;
	};
	args.dtor = [](void *obj, void *) { living -= intact(obj, object_size, 42); };
	{
		test_cache cache(object_size, 0, &args);

		profile_every(every_one);
		for (void *obj : alloc_many(cache, 100)) {
			EXPECT_TRUE(is_profiled(obj));
			EXPECT_TRUE(intact(obj, object_size, 42));
			slab_free(cache, obj);
		}
	}
	EXPECT_EQ(living, 0U);
}

TEST_F(ProfileTest, SamplesAreZeroWhereTheCacheSaysSo)
{
	test_cache cache(object_size, SLAB_ZERO);

	profile_every(every_one);
	for (int i = 0; i < 3; i++) {
		void *obj = slab_alloc(cache), *zero = slab_zalloc(cache);

		EXPECT_TRUE(is_profiled(obj));
		EXPECT_TRUE(all_bytes(obj, object_size, 0));
		EXPECT_TRUE(all_bytes(zero, object_size, 0));
		std::memset(obj, 1, object_size);
		std::memset(zero, 1, object_size);
		slab_free(cache, obj);
		slab_free(cache, zero);
	}
}

TEST_F(ProfileTest, ErrnoIsUntouched)
{
	test_cache cache(object_size);

	profile_every(every_one);
	errno = EDOM;
	slab_free(cache, slab_alloc(cache));
	slab_mfree(slab_malloc(1 << 20));
	EXPECT_EQ(errno, EDOM);
}

TEST_F(ProfileTest, ASecondFreeOfASampleIsReported)
{
	test_cache cache(object_size);
	report_capture reports;

	profile_every(every_one);
	void *obj = slab_alloc(cache), *volatile again = obj;

	slab_free(cache, obj);
	slab_free(cache, again);
	EXPECT_EQ(reports.count(), 1U);
	EXPECT_EQ(samples_of(object_size, every_one).inuse(), 0U);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST_F(ProfileTest, ASampleThatIsLeftKeepsItsCache)
{
	test_cache cache(object_size);
	report_capture reports;

	profile_every(every_one);
	void *obj = slab_alloc(cache);

	EXPECT_EQ(cache.destroy(), -EBUSY);
	slab_free(cache, obj);
}

/* --- every way to allocate ------------------------------------------------------------------ */

/* The samples that `act` adds to those of this size. */
template <typename Act> samples added(std::size_t size, Act act)
{
	const samples before = samples_of(size, every_one);

	act();
	const samples after = samples_of(size, every_one);

	return {after.allocated - before.allocated, after.freed - before.freed};
}

TEST_F(ProfileTest, EveryWayToAllocateAnObjectIsSampled)
{
	test_cache cache(object_size);
	void *obj = nullptr;

	profile_every(every_one);
	const auto expect_sample = [&](const char *way, auto allocate) {
		const samples more = added(object_size, [&] {
			obj = allocate();
			EXPECT_TRUE(is_profiled(obj)) << way;
			slab_free(cache, obj);
		});

		EXPECT_EQ(more.allocated, 1U) << way;
		EXPECT_EQ(more.freed, 1U) << way;
	};

	expect_sample("slab_alloc", [&] { return slab_alloc(cache); });
	expect_sample("slab_zalloc", [&] { return slab_zalloc(cache); });
	expect_sample("slab_alloc_node", [&] { return slab_alloc_node(cache, 0); });
	expect_sample("slab_alloc_node(-1)", [&] { return slab_alloc_node(cache, -1); });
}

TEST_F(ProfileTest, AllocationsOfANodeAreSampledUnlessTheyAreStrict)
{
	test_cache cache(object_size);
	const auto is_sampled = [&](int node) {
		void *obj = slab_alloc_node(cache, node);
		const bool sampled = is_profiled(obj);

		slab_free(cache, obj);
		return sampled;
	};

	EXPECT_FALSE(is_sampled(0));
	profile_every(every_one);
	EXPECT_TRUE(is_sampled(0));
	EXPECT_FALSE(is_sampled(0 | SLAB_NODE_STRICT));
}

TEST_F(ProfileTest, BulkAllocationsAreSampled)
{
	test_cache cache(object_size);
	void *objs[100];

	profile_every(every_one);
	for (unsigned mode : {SLAB_ALLOC_FULL, SLAB_ALLOC_NEW, SLAB_ALLOC_LOCAL}) {
		std::size_t n = 0;
		const samples more = added(object_size, [&] {
			n = slab_alloc_bulk(cache, mode, 100, objs);
			for (std::size_t i = 0; i < n; i++)
				EXPECT_TRUE(is_profiled(objs[i]));
			slab_free_bulk(cache, n, objs);
		});

		EXPECT_EQ(more.allocated, n) << mode;
		EXPECT_EQ(more.freed, n) << mode;
		EXPECT_TRUE(n == 100 || mode != SLAB_ALLOC_FULL);
	}
}

TEST_F(ProfileTest, LargeAllocationsAreSampled)
{
	constexpr std::size_t sizes[] = {40000, 300000, 3000000, 30000000};

	profile_every(every_one);
	for (std::size_t size : sizes) {
		const samples more = added(size, [&] {
			void *obj = slab_malloc(size), *zero = slab_calloc(1, size);
			void *aligned_obj = slab_memalign(4096, size);

			EXPECT_TRUE(is_profiled(obj));
			slab_mfree(obj);
			slab_mfree(zero);
			slab_mfree(aligned_obj);
		});

		EXPECT_EQ(more.allocated, 3U) << size;
		EXPECT_EQ(more.freed, 3U) << size;
	}
}

TEST_F(ProfileTest, TheBytesInUseFollowALargeAllocationThatIsResized)
{
	profile_every(every_one);
	char *obj = static_cast<char *>(slab_malloc(5000000));

	for (std::size_t size : {5004096u, 40000000u, 6000000u, 100000u}) {
		obj = static_cast<char *>(slab_realloc(obj, size));
		EXPECT_EQ(samples_of(5000000, every_one).inuse(), 0U) << size;
		EXPECT_EQ(samples_of(size, every_one).inuse(), 1U) << size;
		EXPECT_TRUE(is_profiled(obj));
	}
	slab_mfree(obj);
	EXPECT_EQ(samples_of(100000, every_one).inuse(), 0U);
}

/* --- frees ----------------------------------------------------------------------------------- */

TEST_F(ProfileTest, FreesByOtherThreadsAreCounted)
{
	test_cache cache(object_size);

	profile_every(every_one);
	const samples more = added(object_size, [&] {
		const std::vector<void *> objs = alloc_many(cache, 1000);

		std::thread([&] { free_many(cache, objs); }).join();
	});

	EXPECT_EQ(more.allocated, 1000U);
	EXPECT_EQ(more.freed, 1000U);
}

TEST_F(ProfileTest, FreesAreCountedWhenTheProfileIsOffOrHasAnotherPeriod)
{
	test_cache cache(object_size);

	profile_every(every_one);
	const std::vector<void *> objs = alloc_many(cache, 100);

	EXPECT_EQ(samples_of(object_size, every_one).inuse(), 100U);
	profile_every(0);
	slab_free(cache, objs[0]);
	EXPECT_EQ(samples_of(object_size, every_one).inuse(), 99U);
	profile_every(every_one << 20);
	free_many(cache, {objs.begin() + 1, objs.end()});
	EXPECT_EQ(samples_of(object_size, every_one).inuse(), 0U);
}

/* --- beside debugging ------------------------------------------------------------------------ */

TEST_F(ProfileTest, DebugFlagsStayWithTheOtherObjects)
{
	constexpr std::size_t period = 4 * object_size;

	for (std::uint64_t flags : all_layouts()) {
		test_cache cache(object_size, flags);

		profile_every(period);
		const std::vector<void *> objs = alloc_many(cache, 200);
		std::size_t sampled = 0;

		for (void *obj : objs) {
			const struct slab *slab = slab_of(obj);

			sampled += is_profiled(obj);
			if (!is_profiled(obj)) {
				EXPECT_EQ(slab->debug ? slab->debug->debug_flags : 0,
					  flags & (SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER));
			}
		}
		EXPECT_GT(sampled, 0U);
		EXPECT_EQ(slab_cache_debug(cache, flags ^ SLAB_POISON), 0);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		free_many(cache, objs);
		EXPECT_EQ(samples_of(object_size, period).inuse(), 0U);
		profile_every(0);
		EXPECT_EQ(slab_cache_validate(cache), 0);
	}
}

TEST_F(ProfileTest, GuardedObjectsAreStillGuarded)
{
	test_cache cache(object_size);

	EXPECT_EQ(slab_cache_sample(cache, 1), 0);
	profile_every(4 * object_size);
	const std::vector<void *> objs = alloc_many(cache, 100);
	unsigned guarded = 0, sampled = 0;

	for (void *obj : objs) {
		guarded += slab_of(obj)->debug && slab_of(obj)->debug->guarded;
		sampled += is_profiled(obj);
	}
	EXPECT_EQ(guarded + sampled, objs.size());
	EXPECT_GT(sampled, 0U);
	EXPECT_GT(guarded, 0U);
	free_many(cache, objs);
	EXPECT_EQ(slab_cache_sample(cache, 0), 0);
}

/* --- without memory, and in children --------------------------------------------------------- */

TEST_F(ProfileTest, WithoutMemoryForASampleTheObjectIsAnOrdinaryOne)
{
	struct slab_cache_args args = {};

	args.limit = UINT64_C(1) << slab_least_shift();
	test_cache cache(object_size, 0, &args);
	std::vector<void *> objs = {slab_alloc(cache)}; /* its slab fills the limit */
	const std::uint64_t missed = heap_profile.missed;

	profile_every(every_one);
	objs.push_back(slab_alloc(cache));
	ASSERT_NE(objs[1], nullptr);
	EXPECT_FALSE(is_profiled(objs[1]));
	EXPECT_GT(heap_profile.missed, missed);
	free_many(cache, objs);
}

TEST_F(ProfileTest, AForkedChildContinuesWithSamplesOfItsOwn)
{
	test_cache cache(object_size);

	profile_every(every_one);
	void *obj = slab_alloc(cache);
	const samples before = samples_of(object_size, every_one);

	EXPECT_IN_CHILD([&] {
		slab_free(cache, obj);
		slab_free(cache, slab_alloc(cache));
		const samples now = samples_of(object_size, every_one);

		return now.allocated - before.allocated == 1 && now.freed - before.freed == 2 ? 0
											      : 1;
	});
	EXPECT_EQ(samples_of(object_size, every_one).allocated, before.allocated);
	slab_free(cache, obj);
}

TEST_F(ProfileTest, TheVariableSwitchesItOnFromTheFirstAllocation)
{
	if (running_again()) {
		void *obj = slab_malloc(1 << 20);

		EXPECT_TRUE(is_profiled(obj));
		slab_mfree(obj);
		return;
	}
	EXPECT_EQ(run_again({"SLAB_PROFILE=1"}).failure, "");
}

} /* namespace */
