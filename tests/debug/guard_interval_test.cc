/* SPDX-License-Identifier: MIT */
/* The interval at which a cache's objects are sampled, set while other threads use the cache. */
#include "../support/guarded.h"
#include "../support/objects.h"
#include "../support/process.h"

namespace
{

/* slab_cache_sample() counts the sampled caches under flush_lock. Without it, two threads could make the
 * count wrong. */
TEST_F(GuardTest, AnIntervalIsSetUnderTheLockOfTheCache)
{
	test_cache cache(object_size);
	struct slab_cache *inside = cache;
	std::atomic<bool> is_set{false};

	pthread_mutex_lock(&inside->flush_lock);
	std::thread setting([&] {
		EXPECT_EQ(slab_cache_sample(cache, 1000000), 0);
		is_set = true;
	});
	while (!is_set && !other_threads_sleep()) /* it ends, or waits for the lock */
		std::this_thread::yield();
	EXPECT_FALSE(is_set);
	pthread_mutex_unlock(&inside->flush_lock);
	setting.join();
	EXPECT_EQ(slab_cache_sample(cache, 0), 0);
}

} /* namespace */
