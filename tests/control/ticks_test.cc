/* SPDX-License-Identifier: MIT */
/* The rate of ticks, of which the thread that serves the control socket has one timer. */
#include "../support/server.h"

#include <cstdint>
#include <deque>

#include <unistd.h>

#include <slab/debug.h>
#include <slab/slab.h>

#include "../support/process.h"

extern "C" {
#include "core/cache.h"
}

using namespace slab_test;

namespace
{

/* When the next tick of sampling came after BEFORE, in microseconds. */
std::uint64_t next_tick(struct slab_cache *cache, std::uint64_t before)
{
	std::uint64_t opened;

	while (!(opened = __atomic_load_n(&cache->sample.opened, __ATOMIC_RELAXED)) ||
	       opened == before)
		usleep(1000);
	slab_free(cache, slab_alloc(cache)); /* the next tick is seen after an allocation only */
	return opened;
}

/* On a busy machine ticks may come late. run_in_child() has an alarm. */
TEST(TicksTest, SamplingHasTenEachSecond)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer allows no new thread in a fork's child";

	const runtime_dir dir;

	EXPECT_EQ(run_in_child([] {
			  struct slab_cache *cache = slab_cache_create("sampled", 64, nullptr,
								       SLAB_PANIC | SLAB_NO_MERGE);
			  std::deque<std::uint64_t> ticks{0};

			  slab_cache_sample(cache, 1000000);
			  do {
				  ticks.push_back(next_tick(cache, ticks.back()));
				  if (ticks.size() > 11)
					  ticks.pop_front();
			  } while (ticks.size() < 11 || ticks.back() - ticks.front() < 800000 ||
				   ticks.back() - ticks.front() > 1500000);
			  return 0;
		  }),
		  "");
}

} /* namespace */
