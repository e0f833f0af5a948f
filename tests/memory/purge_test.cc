/* SPDX-License-Identifier: MIT */
/*
 * Memory is returned to the operating system with no lock held: what other threads do, and
 * what the child of a fork finds, while one is in madvise(2).
 */
#include "../support/passes.h"
#include "../support/reports.h"

namespace
{

/* In the thread that returns memory; at its first call only. */
std::function<void()> on_discard;
bool discard_fails;

} /* namespace */

extern "C" int madvise(void *start, std::size_t bytes, int advice) noexcept
{
	if (advice == MADV_DONTNEED && on_discard)
		std::exchange(on_discard, nullptr)();
	if (advice == MADV_DONTNEED && discard_fails) {
		errno = EINVAL;
		return -1;
	}
	return static_cast<int>(syscall(SYS_madvise, start, bytes, advice));
}

namespace
{

/* So large that a slab with one object in use has pages to give back. */
const std::size_t thin_size = std::min(page, std::size_t{SLAB_MAX_OBJECT_SIZE});

/* A cache at its limit with one object in use in each slab, and CPUs hold nothing. */
class thin_cache
{
public:
	thin_cache() : cache_(thin_size)
	{
		struct slab_cache *cache = cache_;
		objects all;

		__atomic_store_n(&cache->account.limit, std::size_t{3} << cache->small.shift,
				 __ATOMIC_RELAXED);
		while (void *obj = slab_alloc(cache))
			all.push_back(obj);
		for (std::size_t i = 0; i < all.size(); i++) {
			if (i % cache->small.objects) {
				freed_.push_back(all[i]);
				continue;
			}
			live_.push_back(all[i]);
			fill(all[i], thin_size, live_.size());
		}
		free_all(cache, freed_);
		slab_cache_shrink(cache);
	}

	~thin_cache() { free_all(cache_, live_); }

	thin_cache(const thin_cache &) = delete;
	thin_cache &operator=(const thin_cache &) = delete;

	struct slab_cache *get() const { return cache_; }

	const objects &live() const { return live_; }

	const objects &freed() const { return freed_; }

	/* Every free object can be allocated and written to, once, and the others are intact. */
	bool is_whole() const
	{
		std::size_t n = 0;

		while (void *obj = slab_alloc(cache_)) {
			fill(obj, thin_size, SIZE_MAX);
			n++;
		}
		for (std::size_t i = 0; i < live_.size(); i++)
			if (!intact(live_[i], thin_size, i + 1))
				return false;
		return n == freed_.size() && slab_cache_validate(cache_) == 0;
	}

private:
	test_cache cache_;
	objects live_, freed_;
};

bool is_free(pthread_mutex_t *lock)
{
	if (pthread_mutex_trylock(lock) != 0)
		return false;
	pthread_mutex_unlock(lock);
	return true;
}

TEST(PurgeTest, NoLockIsHeldWhilePagesGo)
{
	const thin_cache thin;
	struct slab_cache *cache = thin.get();
	bool called = false, free = false;

	on_discard = [&] {
		called = true;
		free = is_free(&cache->flush_lock) && is_free(&cache->node[0].lock);
	};
	EXPECT_GT(slab_trim(), 0u);
	EXPECT_TRUE(called);
	EXPECT_TRUE(free);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/* One forks before the first pages go, while slabs are off the lists, one when all have gone. */
TEST(PurgeTest, AForkDoesNotWaitAndItsChildLacksNothing)
{
	const thin_cache thin;
	std::string before = "no fork";

	on_discard = [&] {
		std::thread([&] {
			before = run_in_child_now([&] { return !thin.is_whole(); });
		}).join();
	};
	EXPECT_GT(slab_trim(), 0u);
	EXPECT_EQ(before, "");
	EXPECT_IN_CHILD([&] { return !thin.is_whole(); });
}

/* All free objects are in slabs that are being purged: the allocation waits for them. */
TEST(PurgeTest, NoAllocationIsRefusedMeanwhile)
{
	const thin_cache thin;
	std::thread other;
	void *obj = nullptr;

	on_discard = [&] {
		other = std::thread([&] { obj = slab_alloc(thin.get()); });
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
	};
	EXPECT_GT(slab_trim(), 0u);
	other.join();
	EXPECT_NE(obj, nullptr);
	slab_free(thin.get(), obj);
}

/* An allocation at its limit takes the lock when the slabs are back, or after 20 ms. */
TEST(PurgeTest, TheLockIsTakenWhenNoSlabIsBeingPurged)
{
	const thin_cache thin;
	struct slab_cache *cache = thin.get();
	std::atomic<bool> begins{false};
	std::thread other;
	unsigned purging = 0;
	std::uint64_t us = 0;

	on_discard = [&] {
		other = std::thread([&] {
			us = clock_us();
			begins = true;
			flush_lock_purged(cache);
			us = clock_us() - us;
			purging = cache->nr_purging;
			flush_unlock(cache);
		});
		while (!begins)
			std::this_thread::yield();
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
	};
	EXPECT_GT(slab_trim(), 0u);
	other.join();
	EXPECT_TRUE(purging == 0 || us >= 20000) << us;
}

/* Slabs that are off the lists are checked, too, and repaired there. */
TEST(PurgeTest, AValidationSeesEverySlab)
{
	const report_capture reports;
	const thin_cache thin;
	long problems = 0;

	on_discard = [&] {
		std::thread([&] {
			for (void *obj : thin.live())
				slab_of(obj)->free++;
			problems = slab_cache_validate(thin.get());
		}).join();
	};
	slab_trim();
	EXPECT_EQ(problems, 3);
	EXPECT_EQ(slab_cache_validate(thin.get()), 0);
	EXPECT_EQ(slab_alloc(thin.get()), nullptr) << "all objects count as used";
	free_all(thin.get(), thin.freed());
}

TEST(PurgeTest, MemoryThatCannotGoStays)
{
	const thin_cache thin;

	discard_fails = true;
	EXPECT_EQ(slab_trim(), 0u);
	discard_fails = false;
	EXPECT_IN_CHILD([&] { return !thin.is_whole(); });
	EXPECT_EQ(slab_cache_validate(thin.get()), 0);
}

std::size_t cached_bytes()
{
	struct slab_process_stats stats = {};

	stats.struct_size = sizeof(stats);
	EXPECT_EQ(slab_process_stats(&stats), 0);
	return stats.cached_bytes;
}

/* Free slabs of the page layer. */
TEST(PurgeTest, AChildHasTheFreeSlabsThatItsParentReturns)
{
	test_cache cache(object_size);
	std::size_t before, in_child = 0;
	std::string child = "no fork";

	slab_trim();
	free_all(cache, allocate(cache, 20000));
	cache_drain(cache, nullptr, nullptr);
	cache_release(cache, 0);
	before = cached_bytes();
	ASSERT_GT(before, 0u);
	on_discard = [&] {
		std::thread([&] {
			child = run_in_child_now([&] {
				in_child = cached_bytes();
				return in_child < before;
			});
		}).join();
	};
	slab_trim();
	EXPECT_EQ(child, "");
	EXPECT_EQ(cached_bytes(), 0u);
}

/* Slabs that are released under flush_lock give their memory back when it is free. */
TEST(PurgeTest, NoLockIsHeldWhereFreeSlabsKeepNoMemory)
{
	if (!in_environment({"SLAB_DECAY_MS=0"}))
		return;
	for (const bool debugs : {false, true}) {
		test_cache cache(object_size, debugs ? SLAB_POISON : 0);
		struct slab_cache *c = cache;
		bool called = false, free = false;
		std::string child = "no fork";

		free_all(cache, allocate(cache, 5000));
		on_discard = [&] {
			called = true;
			free = is_free(&c->flush_lock) && is_free(&c->node[0].lock);
			std::thread([&] {
				child = run_in_child_now([&] {
					return slab_cache_validate(c) || slab_cache_destroy(c);
				});
			}).join();
		};
		slab_cache_shrink(cache);
		EXPECT_TRUE(called);
		EXPECT_TRUE(free);
		EXPECT_EQ(child, "");
		EXPECT_EQ(stats_of(cache).slabs, 0u);
	}
}

} /* namespace */
