/* SPDX-License-Identifier: MIT */
/* The list of caches while it changes. */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <pthread.h>

#include <gtest/gtest.h>

#include <slab/slab.h>

extern "C" {
#include "registry/registry.h"
}

namespace
{

/* slabinfo, which takes no lock, reads the list until it finds the counter even and the same. */
TEST(RegistryTest, AChangeOfTheListIsMarkedAndEnds)
{
	const std::uint64_t before = registry_changes;
	struct slab_cache *cache = slab_cache_create("listed", 64, nullptr, SLAB_NO_MERGE);
	const std::uint64_t with = registry_changes;

	EXPECT_GT(with, before);
	EXPECT_EQ(with % 2, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_GT(registry_changes, with);
	EXPECT_EQ(registry_changes % 2, 0u);
}

TEST(RegistryTest, ADestructionWaitsForTheLock)
{
	struct slab_cache *cache = slab_cache_create("waits", 64, nullptr, SLAB_NO_MERGE);
	std::atomic<bool> begins{false}, is_destroyed{false};

	pthread_mutex_lock(&registry_lock);
	std::thread destroying([&] {
		begins = true;
		EXPECT_EQ(slab_cache_destroy(cache), 0);
		is_destroyed = true;
	});
	while (!begins)
		std::this_thread::yield();
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	EXPECT_FALSE(is_destroyed);
	EXPECT_TRUE(cache_is_registered(cache));
	pthread_mutex_unlock(&registry_lock);
	destroying.join();
	EXPECT_TRUE(is_destroyed);
}

} /* namespace */
