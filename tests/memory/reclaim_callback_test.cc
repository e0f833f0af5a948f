/* SPDX-License-Identifier: MIT */
/*
 * What args.reclaim may do: the cache exists while its callback runs, no lock is held, and
 * threads that reclaim, create and destroy at once do not hinder each other.
 */
#include "../support/limits.h"
#include "../support/process.h"
#include "holder.h"

namespace
{

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

/* --- all at once ------------------------------------------------------------------------------------ */

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
