/* SPDX-License-Identifier: MIT */
/*
 * The control thread has one timer for all its work. How often does it tick for sampling?
 */
#include "../support/server.h"

#include "../support/rooms.h"

namespace
{

std::uint64_t opened(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->sample.opened, __ATOMIC_RELAXED);
}

/* Wait for a tick, which opens the cache's gate for one allocation, and close the gate again.
 * Returns the time of the tick in microseconds. */
std::uint64_t next_tick(struct slab_cache *cache)
{
	std::uint64_t tick;

	while (!(tick = opened(cache)))
		usleep(1000);
	while (opened(cache) == tick)
		slab_free(cache, slab_alloc(cache));
	return tick;
}

/* Ten intervals within 1.5 s, and one that is no longer than it should be. */
bool are_ten_each_second(const std::deque<std::uint64_t> &ticks)
{
	const std::uint64_t all = ticks.back() - ticks.front();
	std::uint64_t shortest = all;

	for (std::size_t i = 1; i < ticks.size(); i++)
		shortest = std::min(shortest, ticks[i] - ticks[i - 1]);
	return ticks.size() == 11 && all > 800000 && all < 1500000 && shortest < 108000;
}

/* On a busy machine ticks may come late. run_in_child() has an alarm. */
TEST(TicksTest, SamplingHasTenEachSecond)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer allows no new thread in a fork's child";

	const runtime_dir dir;

	EXPECT_IN_CHILD([] {
		struct slab_cache *cache = slab_cache_create("sampled", 64, nullptr, SLAB_PANIC);
		std::deque<std::uint64_t> ticks;

		slab_cache_sample(cache, 1000000);
		do {
			ticks.push_back(next_tick(cache));
			if (ticks.size() > 11)
				ticks.pop_front();
		} while (!are_ten_each_second(ticks));
		return 0;
	});
}

} /* namespace */
