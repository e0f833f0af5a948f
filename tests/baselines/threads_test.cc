/* SPDX-License-Identifier: MIT */
/* Threads that use one cache, and free what others allocated. */
#include "contestants.h"

#include <atomic>
#include <functional>
#include <thread>

namespace baselines_test
{

namespace
{

constexpr std::size_t PLACES = 64;
constexpr std::size_t SIZE = 120;
constexpr unsigned STEPS = 10000;

struct owned {
	void *obj;
	std::uint32_t stamp;
};

/* Places where threads leave objects for each other. */
struct board {
	std::atomic<owned *> place[PLACES] = {};
	std::atomic<std::uint32_t> next_stamp{1};
};

void check_and_free(object_cache &cache, owned *one)
{
	EXPECT_TRUE(has_stamp(one->obj, SIZE, one->stamp));
	cache.free(one->obj);
	delete one;
}

owned *make(object_cache &cache, board &shared)
{
	auto *one = new owned{cache.alloc(), shared.next_stamp++};

	EXPECT_NE(one->obj, nullptr);
	stamp_object(one->obj, SIZE, one->stamp);
	return one;
}

/* Exchange each new object for one that another thread may have left, which is freed. */
void exchange(object_cache &cache, board &shared, unsigned seed)
{
	std::mt19937 random(seed);

	for (unsigned i = 0; i < STEPS; i++) {
		owned *old = shared.place[random() % PLACES].exchange(make(cache, shared));

		if (old)
			check_and_free(cache, old);
	}
}

void run_threads(unsigned n, const std::function<void(unsigned)> &body)
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < n; i++)
		threads.emplace_back(body, i);
	for (std::thread &thread : threads)
		thread.join();
}

void empty(object_cache &cache, board &shared)
{
	for (std::atomic<owned *> &place : shared.place)
		if (owned *one = place.exchange(nullptr))
			check_and_free(cache, one);
}

} // namespace

using BaselineThreadsTest = BaselineTest;

INSTANTIATE_TEST_SUITE_P(All, BaselineThreadsTest, contestants(), contestant_name);

TEST_P(BaselineThreadsTest, ThreadsThatFreeEachOthersObjectsLoseAndDoubleNone)
{
	object_cache cache(GetParam(), SIZE);
	board shared;

	run_threads(4, [&](unsigned i) { exchange(cache, shared, i + 1); });
	empty(cache, shared);
	cache.shrink();
	EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST_P(BaselineThreadsTest, ThreadsBesideShrinksAndReapsLoseNone)
{
	object_cache cache(GetParam(), SIZE);
	std::atomic<bool> done{false};
	board shared;
	std::thread shrinker([&] {
		while (!done) {
			cache.shrink();
			cache.reap();
		}
	});

	run_threads(3, [&](unsigned i) { exchange(cache, shared, i + 10); });
	done = true;
	shrinker.join();
	empty(cache, shared);
	cache.shrink();
	EXPECT_EQ(cache.stats().bytes, 0u);
}

/* Two threads with a ring of objects: one only allocates, the other one only frees. */
TEST_P(BaselineThreadsTest, ObjectsThatOneAllocatesAndAnotherFreesServeAgain)
{
	object_cache cache(GetParam(), SIZE);
	std::atomic<void *> ring[PLACES] = {};

	run_threads(2, [&](unsigned i) {
		for (unsigned step = 0; step < STEPS; step++) {
			std::atomic<void *> &place = ring[step % PLACES];
			void *obj = i ? nullptr : cache.alloc();

			if (i) {
				while (!(obj = place.exchange(nullptr)))
					std::this_thread::yield();
				cache.free(obj);
				continue;
			}
			stamp_object(obj, SIZE, step);
			for (void *none = nullptr; !place.compare_exchange_weak(none, obj);
			     none = nullptr)
				std::this_thread::yield();
		}
	});
	EXPECT_LE(cache.stats().bytes, STEPS * SIZE / 2);
	cache.shrink();
	EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST_P(BaselineThreadsTest, ManyThreadsThatEndLeaveNothing)
{
	object_cache cache(GetParam(), SIZE);

	for (int round = 0; round < 10; round++)
		run_threads(8, [&](unsigned) { cache.free_all(cache.alloc_many(300)); });
	cache.shrink();
	EXPECT_EQ(cache.stats().bytes, 0u);
}

} // namespace baselines_test
