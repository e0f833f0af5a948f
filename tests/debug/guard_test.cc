/* SPDX-License-Identifier: MIT */
/*
 * Sampled objects without misuse: whatever else a cache promises holds
 * for them as well; which are taken, and where they go. Misuse: guard_report_test.cc.
 */
#include "../support/guarded.h"
#include "../support/reports.h"

namespace
{

/* --- objects like all others --------------------------------------------------------------- */

TEST_F(GuardTest, ObjectsOfAnySizeAreWholeAndAligned)
{
	for (std::size_t size = 1; size <= SLAB_MAX_OBJECT_SIZE; size += size / 3 + 1)
		for (std::size_t align : {0u, 8u, 64u, 4096u}) {
			struct slab_cache_args args = {};

			args.align = align;
			test_cache cache(size, 0, &args);

			sample_every(cache, 1);
			for (int i = 0; i < 4; i++) {
				void *obj = slab_alloc(cache);

				ASSERT_TRUE(is_guarded(obj)) << size;
				EXPECT_TRUE(aligned(obj, align ? align : 8)) << size;
				fill(obj, size, size);
				EXPECT_TRUE(intact(obj, size, size));
				slab_free(cache, obj);
			}
		}
}

TEST_F(GuardTest, ObjectsBySizeEndWhereTheirCallersBytesEnd)
{
	struct slab_cache *cache;
	char *obj = static_cast<char *>(slab_malloc(1000));

	cache = slab_user(slab_of(obj));
	slab_mfree(obj);
	sample_every(cache, 1);
	for (std::size_t size : {961u, 970u, 1000u, 1024u}) {
		for (int i = 0; i < 8; i++) {
			obj = static_cast<char *>(slab_malloc(size));
			ASSERT_TRUE(is_guarded(obj)) << size;
			EXPECT_EQ(slab_usable_size(obj), size);
			std::memset(obj, 'x', size);
			obj = static_cast<char *>(slab_realloc(obj, size + 1000));
			EXPECT_TRUE(all_bytes(obj, size, 'x'));
			slab_mfree(obj);
		}
	}
	for (std::size_t align = 16; align <= 1024; align *= 2) {
		void *ptr = slab_memalign(align, 1000);

		EXPECT_TRUE(aligned(ptr, align));
		slab_mfree(ptr);
	}
	sample_every(cache, 0);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	guard_flush(cache);
}

unsigned constructed, destroyed;

TEST_F(GuardTest, ObjectsAreConstructedAndDestroyed)
{
	struct slab_cache_args args = {};

	args.ctor = [](void *obj, void *) {
		constructed++;
		return fill(obj, object_size, 42), 0;
	};
	args.dtor = [](void *obj, void *) { destroyed += intact(obj, object_size, 42); };
	constructed = destroyed = 0;
	test_cache cache(object_size, 0, &args);

	sample_every(cache, 1);
	for (unsigned i = 1; i <= 10; i++) {
		void *obj = slab_alloc(cache);

		EXPECT_TRUE(is_guarded(obj));
		EXPECT_TRUE(intact(obj, object_size, 42));
		EXPECT_EQ(constructed, i);
		slab_free(cache, obj);
		EXPECT_EQ(destroyed, i);
	}
}

TEST_F(GuardTest, AnObjectThatCannotBeConstructedIsNoObject)
{
	struct slab_cache_args args = {};

	args.ctor = [](void *, void *) { return 1; };
	test_cache cache(object_size, 0, &args);

	sample_every(cache, 1);
	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_LE(stats_of(cache).slabs, 1U); /* an ordinary one, without objects */
}

TEST_F(GuardTest, ZeroedObjectsAreZero)
{
	test_cache cache(object_size, SLAB_ZERO);

	sample_every(cache, 1);
	for (int i = 0; i < 2000; i++) {
		void *obj = slab_alloc(cache);

		ASSERT_TRUE(all_bytes(obj, object_size, 0)) << i;
		std::memset(obj, 0xdd, object_size);
		slab_free(cache, obj);
	}
}

/* --- slabs of freed objects ------------------------------------------------------------------ */

TEST_F(GuardTest, WhenThereAreNoMoreTheRestAreOrdinary)
{
	std::vector<void *> objs = alloc_many(cache_, 2000);
	const auto guarded = std::count_if(objs.begin(), objs.end(), is_guarded);

	EXPECT_LE(guarded, static_cast<long>(GUARD_SLABS_MAX));
	EXPECT_GE(guarded, static_cast<long>(GUARD_SLABS_MAX) - 8); /* others' may wait */
	EXPECT_TRUE(all_distinct(objs));
	for (std::size_t i = 0; i < objs.size(); i++)
		fill(objs[i], object_size, i);
	for (std::size_t i = 0; i < objs.size(); i++)
		ASSERT_TRUE(intact(objs[i], object_size, i));
	EXPECT_EQ(stats_of(cache_).objects, 2000U);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
	shuffle(objs);
	free_many(cache_, objs);
	EXPECT_EQ(stats_of(cache_).objects, 0U);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
}

TEST_F(GuardTest, TheOldestIsUsedAgainWhenThereAreNoMore)
{
	std::vector<void *> objs = alloc_many(cache_, GUARD_SLABS_MAX + 100);
	std::vector<struct slab *> slabs;

	EXPECT_GE(static_cast<struct slab_cache *>(cache_)->sample.missed, 100U);
	shuffle(objs);
	for (std::size_t i = 0; i < objs.size(); i++)
		if (is_guarded(objs[i]) && slabs.size() < 100) {
			slabs.push_back(slab_of(objs[i]));
			free(objs[i]);
			objs[i] = nullptr;
		}
	for (struct slab *slab : slabs) {
		objs.push_back(slab_alloc(cache_));
		ASSERT_EQ(slab_of(objs.back()), slab);
	}
	objs.push_back(slab_alloc(cache_));
	EXPECT_FALSE(is_guarded(objs.back()));
	free_many(cache_, objs);
}

TEST_F(GuardTest, AFreedObjectIsNotUsedAgainSoon)
{
	std::set<void *> slabs;

	for (unsigned i = 0; i < GUARD_SLABS_MAX / 2; i++) {
		void *obj = slab_alloc(cache_);

		EXPECT_TRUE(slabs.insert(slab_of(obj)).second) << i;
		free(obj);
	}
	for (unsigned i = 0; i < 2000; i++) {
		void *obj = slab_alloc(cache_);

		slabs.insert(slab_of(obj));
		free(obj);
	}
	EXPECT_LE(slabs.size(), GUARD_SLABS_MAX / 2 + 1);
}

TEST_F(GuardTest, OnlyThePagesOfObjectsHoldMemory)
{
	std::vector<void *> objs = alloc_many(cache_, 300);

	for (void *obj : objs)
		EXPECT_EQ(resident_pages(slab_of(obj)->base, slab_bytes(slab_of(obj))),
			  page / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
	free_many(cache_, objs);
}

TEST_F(GuardTest, SlabsGoBackWithTheirCache)
{
	struct slab *slab;
	{
		test_cache cache(object_size);

		sample_every(cache, 1);
		free_many(cache, alloc_many(cache, 100));
		slab = slab_of(slab_alloc(cache));
		slab_free(cache, debug_object_at(slab, 0));
		EXPECT_EQ(stats_of(cache).slabs, 101U);
	}
	EXPECT_EQ(slab_user(slab), nullptr);
	EXPECT_EQ(slab->populated, 0U);
	write_byte(slab->base, 'x');
	write_byte(slab->base + 65535, 'x');
	segment_trim();
}

TEST_F(GuardTest, ALeakedObjectKeepsItsCache)
{
	report_capture reports;
	void *obj = slab_alloc(cache_);

	EXPECT_EQ(cache_.destroy(), -EBUSY);
	EXPECT_TRUE(reports.contains("Objects remaining in " + cache_.name())) << reports.text();
	EXPECT_TRUE(reports.contains(text(obj).substr(2))) << reports.text();
	free(obj);
}

/* --- which are taken -------------------------------------------------------------------------- */

TEST_F(GuardTest, EveryNthIsTaken)
{
	for (unsigned long n : {2ul, 10ul, 1000ul}) {
		sample_every(cache_, n);
		for (unsigned long i = 1; i <= 3 * n; i++) {
			void *obj = slab_alloc(cache_);

			ASSERT_EQ(is_guarded(obj), i % n == 0) << i << " of " << n;
			free(obj);
		}
	}
}

TEST_F(GuardTest, SwitchedOffNothingIsTakenAndTheFastPathIsBack)
{
	if (under_asan)
		GTEST_SKIP() << "no cache has a fast path";
	void *guarded = slab_alloc(cache_);

	sample_every(cache_, 0);
	EXPECT_TRUE(has_fast_path());
	for (int i = 0; i < 5000; i++) {
		void *obj = slab_alloc(cache_);

		ASSERT_FALSE(is_guarded(obj));
		free(obj);
	}
	EXPECT_TRUE(is_guarded(guarded));
	free(guarded);
}

TEST_F(GuardTest, AboveThatFreshObjectsAreCounted)
{
	if (under_asan)
		GTEST_SKIP() << "no cache has a fast path";
	const on_one_cpu here; /* what another CPU gets with a slab counts, too */
	std::vector<void *> objs;
	long guarded = 0;

	sample_every(cache_, 2000);
	EXPECT_TRUE(has_fast_path());
	for (int i = 0; i < 20; i++) {
		const std::vector<void *> more = alloc_many(cache_, 4000);

		objs.insert(objs.end(), more.begin(), more.end());
		usleep(1100);
	}
	guarded = std::count_if(objs.begin(), objs.end(), is_guarded);
	EXPECT_GE(guarded, 10);
	EXPECT_LE(guarded, 41);
	free_many(cache_, objs);
}

TEST_F(GuardTest, AboveThatAThousandASecondAreTaken)
{
	if (under_asan)
		GTEST_SKIP() << "no cache has a fast path";
	using clock = std::chrono::steady_clock;
	const auto start = clock::now();
	std::vector<void *> objs;

	sample_every(cache_, 1001);
	objs = alloc_many(cache_, 300000);
	const auto ms =
		std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start).count();

	EXPECT_GE(std::count_if(objs.begin(), objs.end(), is_guarded), 1);
	EXPECT_LE(std::count_if(objs.begin(), objs.end(), is_guarded), ms + 2);
	free_many(cache_, objs);
}

TEST_F(GuardTest, WithDebugFlagsEveryNthIsTakenAboveThatToo)
{
	constexpr unsigned long n = 2000;

	EXPECT_EQ(slab_cache_debug(cache_, SLAB_RED_ZONE), 0);
	sample_every(cache_, n);
	for (unsigned long i = 1; i <= 3 * n; i++) {
		void *obj = slab_alloc(cache_);

		sample_tick();
		ASSERT_EQ(is_guarded(obj), i % n == 0) << i;
		free(obj);
	}
	EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
}

/* Objects that are handed out again at once: a tick lets one of them be seen. */
TEST_F(GuardTest, ATickSamplesFrequentAllocations)
{
	if (under_asan)
		GTEST_SKIP() << "no cache has a fast path";
	unsigned taken = 0, closed = 0;

	sample_every(cache_, 1001);
	slab_free(cache_, slab_alloc(cache_));
	EXPECT_TRUE(sample_wants_ticks());
	for (int tick = 0; tick < 50; tick++) {
		for (int i = 0; i < 10; i++) {
			void *obj = slab_alloc(cache_);

			taken += is_guarded(obj);
			free(obj);
		}
		closed += has_fast_path();
		usleep(1100);
		sample_tick();
		EXPECT_FALSE(has_fast_path());
	}
	/* At once: as if there were thousands in each tenth of a second. */
	EXPECT_GE(taken, 10U);
	EXPECT_EQ(closed, 50U);
	sample_every(cache_, 0);
	EXPECT_FALSE(sample_wants_ticks());
}

TEST_F(GuardTest, ATickLeavesRareAllocationsAlone)
{
	unsigned taken = 0;

	sample_every(cache_, 100000);
	slab_free(cache_, slab_alloc(cache_));
	for (int tick = 0; tick < 20; tick++) {
		sample_tick();
		usleep(5000);
		void *obj = slab_alloc(cache_);

		taken += is_guarded(obj);
		free(obj);
	}
	EXPECT_EQ(taken, 0U);
}

/* --- threads and forks ------------------------------------------------------------------------ */

TEST_F(GuardTest, ThreadsFreeEachOthersObjects)
{
	constexpr unsigned rounds = 200;
	std::vector<std::thread> threads;
	std::vector<std::atomic<void *>> places(64);
	std::atomic<unsigned> wrong{0};

	for (unsigned t = 0; t < 4; t++)
		threads.emplace_back([&, t] {
			for (unsigned i = 0; i < rounds * places.size(); i++) {
				void *obj = slab_alloc(cache_);

				fill(obj, object_size, number(obj));
				obj = places[(i * 7 + t) % places.size()].exchange(obj);
				if (!obj)
					continue;
				wrong += !intact(obj, object_size, number(obj));
				free(obj);
			}
		});
	threads.emplace_back([&] {
		for (unsigned i = 0; i < rounds; i++)
			wrong += slab_cache_validate(cache_) != 0;
	});
	join_all(threads);
	for (auto &place : places)
		slab_free(cache_, place);
	EXPECT_EQ(wrong, 0U);
	EXPECT_EQ(stats_of(cache_).objects, 0U);
}

TEST_F(GuardTest, CachesComeAndGoWhileThereAreFewSlabs)
{
	std::vector<std::thread> threads;
	std::atomic<unsigned> wrong{0};
	std::vector<void *> objs = alloc_many(cache_, GUARD_SLABS_MAX - 16);

	for (unsigned t = 0; t < 3; t++)
		threads.emplace_back([&, t] {
			const std::string name = "comes-and-goes-" + std::to_string(t);

			for (int i = 0; i < 50; i++) {
				struct slab_cache *cache =
					slab_cache_create(name.c_str(), 200 * (t + 1), nullptr, 0);

				sample_every(cache, 1);
				for (int j = 0; j < 20; j++)
					slab_free(cache, slab_alloc(cache));
				wrong += slab_cache_destroy(cache) != 0;
			}
		});
	join_all(threads);
	EXPECT_EQ(wrong, 0U);
	free_many(cache_, objs);
	EXPECT_EQ(slab_cache_validate(cache_), 0);
}

TEST_F(GuardTest, AChildHasItsOwn)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	std::vector<void *> objs = alloc_many(cache_, 50);

	for (std::size_t i = 0; i < objs.size(); i++)
		fill(objs[i], object_size, i);
	EXPECT_IN_CHILD([&] {
		for (std::size_t i = 0; i < objs.size(); i++)
			if (!intact(objs[i], object_size, i))
				return WRONG;
		free_many(cache_, objs);
		void *obj = slab_alloc(cache_);
		if (!is_guarded(obj))
			return WRONG;
		free(obj);
		return slab_cache_validate(cache_) == 0 ? FINE : WRONG;
	});
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], object_size, i));
	free_many(cache_, objs);
}

TEST_F(GuardTest, AChildOfABusyProcessGoesOn)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	std::atomic<bool> stop{false};
	std::vector<std::thread> threads;

	finish_before_fork(); /* threads that never sleep are not waited for each time */
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			while (!stop)
				slab_free(cache_, slab_alloc(cache_));
		});
	for (int i = 0; i < 100 && !HasFailure(); i++)
		EXPECT_EQ(run_in_child_now([&] {
				  for (int j = 0; j < 10; j++)
					  slab_free(cache_, slab_alloc(cache_));
				  return FINE;
			  }),
			  "")
			<< i;
	stop = true;
	join_all(threads);
}

} /* namespace */
