/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: when libslab calls a cache's args.reclaim, and in which order.
 */
#include "../support/limits.h"
#include "../support/process.h"
#include "holder.h"

namespace
{

/* --- when ------------------------------------------------------------------------------ */

TEST(ReclaimTest, TheFlagIsSet)
{
	holder holder(0);

	EXPECT_TRUE(stats_of(holder.cache).flags & SLAB_RECLAIM_ACCOUNT);
}

TEST(ReclaimTest, AtItsLimitACacheReclaimsAndNoOther)
{
	holder cache(0, mib), other(1000);
	const std::vector<void *> objects = allocate_all(cache.cache, 900);

	EXPECT_EQ(cache.calls, 0U);
	cache.held.assign(objects.begin(), objects.end());
	cache.most = 10;
	const std::vector<void *> more = alloc_many(cache.cache, 500);

	EXPECT_GT(cache.calls, 10U);
	EXPECT_EQ(other.calls, 0U);
	EXPECT_EQ(stats_of(cache.cache).reclaims, cache.calls);
	EXPECT_EQ(stats_of(cache.cache).reclaimed, objects.size() - cache.held.size());
	EXPECT_EQ(stats_of(cache.cache).limit_hits, 0U);
	free_many(cache.cache, more);
}

TEST(ReclaimTest, AtTheLimitOfTheProcessAllReclaim)
{
	holder old(3000);
	test_cache cache(1000);
	process_limit limit(0);
	const std::vector<void *> objects = alloc_many(cache, 1500);

	EXPECT_GT(old.calls, 0U);
	EXPECT_LE(used_bytes(), limit.bytes);
	free_many(cache, objects);
}

TEST(ReclaimTest, LargeAllocationsReclaimToo)
{
	holder old(3000);
	process_limit limit(0);
	void *ptr = slab_malloc(2 * mib);

	EXPECT_NE(ptr, nullptr);
	EXPECT_EQ(old.calls, 1U);
	slab_mfree(ptr);
}

TEST(ReclaimTest, NoCacheReclaimsForMoreThanTheLimit)
{
	holder old(3000);
	process_limit limit(0);

	EXPECT_EQ(slab_malloc(limit.bytes + 1), nullptr);
	slab_set_limit(0);
	EXPECT_EQ(slab_malloc(std::size_t{1} << 50), nullptr);
	EXPECT_EQ(old.calls, 0U);
}

TEST(ReclaimTest, AllReclaimWhenTheSystemHasNoPages)
{
	holder old(3000);
	test_cache cache(1000);
	failing fail("times=-1");

	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(old.calls, 1U);
	EXPECT_TRUE(old.held.empty());
}

TEST(ReclaimTest, FreeMemoryServesBeforeReclaim)
{
	holder old(1000);
	test_cache empty(1000), cache(1000);

	free_many(empty, alloc_many(empty, 300));

	process_limit limit(0);

	free_many(cache, alloc_many(cache, 100));
	EXPECT_EQ(old.calls, 0U);
}

TEST(ReclaimTest, WithNothingToFreeEachReclaimsOncePerFailure)
{
	std::vector<std::unique_ptr<holder>> all;
	test_cache cache(1000);

	for (int i = 0; i < 5; i++) {
		all.push_back(std::make_unique<holder>(100));
		all.back()->most = 0;
	}
	process_limit limit(0);

	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	for (const auto &holder : all)
		EXPECT_EQ(holder->calls, 1U);
	EXPECT_EQ(stats_of(cache).limit_hits, 1U);
}

TEST(ReclaimTest, AFailingConstructorReclaimsNothing)
{
	holder old(1000);
	struct slab_cache_args args = {};

	args.ctor = [](void *, void *) { return 1; };
	test_cache cache(1000, 0, &args);

	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(old.calls, 0U);
}

TEST(ReclaimTest, TheReserveIsTakenLast)
{
	holder old(3000);
	struct slab_cache_args args = {};

	args.reserve = 10;
	test_cache cache(1000, 0, &args);
	process_limit limit(0);
	const std::vector<void *> objects = alloc_many(cache, 500);

	EXPECT_GT(old.calls, 0U);
	EXPECT_EQ(stats_of(cache).reserve_left, 10U);
	free_many(cache, objects);
}

/* --- in which order ------------------------------------------------------------------------ */

TEST(ReclaimTest, TheLargestReclaimsFirst)
{
	std::vector<holder *> order;
	holder small(100), large(5000), middle(1000);

	for (holder *holder : {&small, &large, &middle}) {
		holder->order = &order;
		holder->most = 0;
	}
	slab_reclaim(1UL << 40);
	EXPECT_EQ(order, (std::vector<holder *>{&large, &middle, &small}));
}

TEST(ReclaimTest, OfEqualOnesTheLeastRecentReclaimsFirst)
{
	std::vector<holder *> order;
	holder a(1000), b(1010), c(990);

	slab_trim();
	for (holder *holder : {&a, &b, &c}) {
		holder->order = &order;
		holder->most = 100;
	}
	for (int i = 0; i < 6; i++) {
		EXPECT_GE(slab_reclaim(1), 1U);
		slab_trim();
	}
	ASSERT_EQ(order.size(), 6U);
	EXPECT_NE(order[0], order[1]);
	EXPECT_NE(order[1], order[2]);
	EXPECT_NE(order[0], order[2]);
	EXPECT_EQ(std::vector<holder *>(order.begin(), order.begin() + 3),
		  std::vector<holder *>(order.begin() + 3, order.end()));
}

TEST(ReclaimTest, ACacheWithoutObjectsDoesNotReclaim)
{
	holder nothing(0);

	slab_reclaim(mib);
	EXPECT_EQ(nothing.calls, 0U);
}

/* --- slab_reclaim() ------------------------------------------------------------------------- */

TEST(ReclaimTest, AsMuchAsWasWantedGoesBack)
{
	holder old(20000);
	std::size_t got;

	slab_trim();
	const std::size_t before = used_bytes();

	old.most = 1000;
	got = slab_reclaim(4 * mib);
	EXPECT_GE(got, 4 * mib);
	EXPECT_LT(got, 8 * mib);
	EXPECT_LE(used_bytes(), before - got);
	EXPECT_LT(old.calls, 10U);
	EXPECT_FALSE(old.held.empty());
}

TEST(ReclaimTest, ItEndsWhenNoCacheCanFreeMore)
{
	holder a(2000), b(2000);

	a.most = b.most = 100;
	EXPECT_GT(slab_reclaim(~std::size_t{0}), 3 * mib);
	EXPECT_TRUE(a.held.empty());
	EXPECT_TRUE(b.held.empty());
}

TEST(ReclaimTest, ItEndsWhenWhatIsFreedGivesNoMemory)
{
	holder liar(100);

	liar.most = 0;
	liar.more = 1000;
	slab_trim();
	EXPECT_EQ(slab_reclaim(~std::size_t{0}), 0U);
	EXPECT_GT(liar.calls, 1U);
	EXPECT_EQ(stats_of(liar.cache).reclaimed, 1000U * liar.calls);
}

TEST(ReclaimTest, FreeMemoryGoesFirst)
{
	holder old(1000);
	test_cache cache(1000);

	slab_trim();
	free_many(cache, alloc_many(cache, 5000));
	EXPECT_GE(slab_reclaim(mib), mib);
	EXPECT_EQ(old.calls, 0U);
}

/*
 * What args.reclaim may do: the cache exists while its callback runs, no lock is held, and
 * threads that reclaim, create and destroy at once do not hinder each other.
 */

TEST(ReclaimTest, AnAllocationInACallbackThatFailsJustFails)
{
	holder old(1000);
	test_cache cache(1000);
	unsigned failed = 0;
	process_limit limit(0);

	old.then = [&] {
		failed += slab_malloc(2 * mib) == nullptr;
		EXPECT_EQ(slab_reclaim(1), 0U);
	};
	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(old.calls, 1U);
	EXPECT_EQ(failed, 1U);
}

TEST(ReclaimTest, NoLockIsHeld)
{
	holder old(1000);
	test_cache cache(1000);
	process_limit limit(0);

	old.then = [&] {
		std::thread([&] { /* locks that this thread might have would not be seen */
				  struct slab_cache *other;

				  slab_set_limit(0);
				  other = slab_cache_create("of-a-callback", 300, nullptr, 0);
				  ASSERT_NE(other, nullptr);
				  slab_free(other, slab_alloc(other));
				  for (struct slab_cache *each : {old.cache, other}) {
					  EXPECT_GE(slab_cache_shrink(each), 0);
					  EXPECT_EQ(slab_cache_validate(each), 0);
					  EXPECT_EQ(slab_cache_debug(each, SLAB_RED_ZONE), 0);
					  EXPECT_EQ(slab_cache_debug(each, 0), 0);
				  }
				  EXPECT_EQ(slab_cache_destroy(other), 0);
		})
			.join();
		slab_set_limit(limit.bytes);
	};
	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(old.calls, 1U);
}

TEST(ReclaimTest, ACacheCannotDestroyItselfInItsCallback)
{
	holder old(1000);

	old.then = [&] { EXPECT_EQ(slab_cache_destroy(old.cache), -EBUSY); };
	slab_reclaim(~std::size_t{0});
	EXPECT_GE(old.calls, 1U);
	EXPECT_EQ(slab_cache_validate(old.cache), 0);
}

TEST(ReclaimTest, DestructionWaitsForTheCallback)
{
	holder old(1000);
	std::atomic<bool> asked{false}, go_on{false}, destroyed{false};

	old.then = [&] {
		asked = true;
		while (!go_on)
			std::this_thread::yield();
		EXPECT_FALSE(destroyed);
	};
	std::thread asker([&] { slab_reclaim(1UL << 40); });

	while (!asked)
		std::this_thread::yield();
	std::thread destroyer([&] {
		EXPECT_EQ(old.test->destroy(), 0);
		destroyed = true;
	});

	for (int i = 0; i < 50; i++)
		usleep(1000);
	go_on = true;
	asker.join();
	destroyer.join();
	EXPECT_TRUE(destroyed);
	old.cache = nullptr;
}

TEST(ReclaimTest, AChildOfACallbackCanDestroyCachesThatReclaimed)
{
	holder old(1000), other(500);
	std::atomic<bool> asked{false}, go_on{false};
	std::string failure = "not run";

	/* In the parent a thread reclaims from `other`, for ever as the child sees it. */
	old.most = other.most = 0;
	other.then = [&] {
		if (!asked.exchange(true))
			while (!go_on)
				std::this_thread::yield();
	};
	std::thread asker([&] { slab_reclaim(1UL << 40); });

	while (!asked)
		std::this_thread::yield();
	old.then = [&] {
		failure = run_in_child([&] {
			free_many(other.cache, other.held);
			if (slab_cache_destroy(old.cache) != -EBUSY)
				return 1;
			return slab_cache_destroy(other.cache) == 0 ? 0 : 2;
		});
	};
	test_cache cache(1000);
	{
		process_limit limit(0);

		EXPECT_EQ(slab_malloc(65536), nullptr);
	}
	EXPECT_EQ(failure, "");
	old.then = nullptr;
	go_on = true;
	asker.join();
}

/* --- all at once ------------------------------------------------------------------------------ */

TEST(ReclaimTest, ThreadsThatCreateReclaimAndDestroyDoNotMeet)
{
	std::atomic<bool> stop{false};
	std::vector<std::thread> threads;
	test_cache shared(1000);
	process_limit limit(8 * mib);

	for (unsigned t = 0; t < 3; t++)
		threads.emplace_back([&, t] {
			for (int i = 0; i < 60; i++) {
				struct slab_cache_args args = {};
				std::mutex lock;
				std::vector<void *> held;
				struct arg {
					std::mutex *lock;
					std::vector<void *> *held;
				} arg = {&lock, &held};
				const std::string name =
					"busy-" + std::to_string(t) + "-" + std::to_string(i);
				struct slab_cache *cache;

				args.arg = &arg;
				args.reclaim = [](struct slab_cache *asked,
						  void *arg_) -> std::size_t {
					auto *a = static_cast<struct arg *>(arg_);
					const std::lock_guard<std::mutex> guard(*a->lock);
					const std::size_t n = a->held->size();

					for (void *obj : *a->held)
						slab_free(asked, obj);
					a->held->clear();
					return n;
				};
				cache = slab_cache_create(name.c_str(), 600, &args, 0);
				if (!cache)
					continue;
				for (int j = 0; j < 500; j++) {
					void *obj = slab_alloc(cache);
					const std::lock_guard<std::mutex> guard(lock);

					if (obj)
						held.push_back(obj);
				}
				{
					const std::lock_guard<std::mutex> guard(lock);

					for (void *obj : held)
						slab_free(cache, obj);
					held.clear();
				}
				EXPECT_EQ(slab_cache_destroy(cache), 0);
			}
			stop = true;
		});
	threads.emplace_back([&] {
		while (!stop)
			slab_reclaim(mib);
	});
	threads.emplace_back([&] {
		while (!stop) {
			const std::vector<void *> objects = allocate_all(shared, 20000);

			EXPECT_LE(used_bytes(), limit.bytes);
			free_many(shared, objects);
		}
	});
	join_all(threads);
	EXPECT_EQ(slab_cache_validate(shared), 0);
}

} /* namespace */
