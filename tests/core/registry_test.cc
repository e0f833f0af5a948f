/* SPDX-License-Identifier: MIT */
/* The list of caches while it changes. */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

/* slabinfo, which takes no lock, reads the list until it finds the counter even and the same. */
TEST(RegistryTest, AChangeOfTheListIsMarkedAndEnds)
{
	const std::uint64_t before = registry_changes;
	struct slab_cache *cache = slab_cache_create("listed", 64, nullptr, 0);
	const std::uint64_t with = registry_changes;

	EXPECT_GT(with, before);
	EXPECT_EQ(with % 2, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_GT(registry_changes, with);
	EXPECT_EQ(registry_changes % 2, 0u);
}

TEST(RegistryTest, TheHandleOfADestroyedCacheIsNotPinned)
{
	struct pin pin;
	struct slab_cache *cache = slab_cache_create("pinned", 64, nullptr, 0);

	EXPECT_TRUE(registry_pin(&pin, cache));
	cache_unpin(&pin);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_FALSE(registry_pin(&pin, cache));
}

/* Does this call wait for the lock? It runs to its end. `meanwhile` runs while it waits. */
bool waits_for_lock(
	const std::function<void()> &call, const std::function<void()> &meanwhile = [] {})
{
	std::atomic<bool> begins{false}, ended{false};

	pthread_mutex_lock(&registry_lock);
	std::thread caller([&] {
		begins = true;
		call();
		ended = true;
	});
	while (!begins)
		std::this_thread::yield();
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	const bool waits = !ended;

	meanwhile();
	pthread_mutex_unlock(&registry_lock);
	caller.join();
	return waits;
}

TEST(RegistryTest, ADestructionWaitsForTheLock)
{
	struct slab_cache *cache = slab_cache_create("waits", 64, nullptr, 0);

	EXPECT_TRUE(waits_for_lock([&] { EXPECT_EQ(slab_cache_destroy(cache), 0); },
				   [&] { EXPECT_TRUE(cache_is_registered(cache)); }));
}

/* The table knows an older cache by another name than its handle has: a search of the list would
 * stop there. */
TEST(RegistryTest, ASearchByNameGoesThroughTheTable)
{
	struct pin pin;
	struct slab_cache *other = slab_cache_create("other", 64, nullptr, 0);
	struct slab_cache *wanted = slab_cache_create("wanted", 64, nullptr, 0);

	std::strcpy(other->name, "wanted");
	struct slab_cache *found = registry_find_pinned(&pin, "wanted");
	std::strcpy(other->name, "other");

	EXPECT_EQ(found, wanted);
	cache_unpin(&pin);
	EXPECT_EQ(slab_cache_destroy(other), 0);
	EXPECT_EQ(slab_cache_destroy(wanted), 0);
}

TEST(RegistryTest, ASearchWaitsForTheLock)
{
	struct pin pin;
	struct slab_cache *cache = slab_cache_create("found", 64, nullptr, 0);
	struct slab_cache *found = nullptr;

	EXPECT_TRUE(waits_for_lock([&] { found = registry_find_pinned(&pin, "found"); }));
	ASSERT_NE(found, nullptr);
	cache_unpin(&pin);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* Each call pins the same cache once more. */
int at_depth(struct slab_cache *cache, unsigned depth, const std::function<int()> &body)
{
	struct inner {
		struct slab_cache *cache;
		unsigned depth;
		const std::function<int()> *body;
	} arg = {cache, depth, &body};

	return slab_for_each_cache(
		[](struct slab_cache *each, void *to) {
			auto *at = static_cast<inner *>(to);

			if (each != at->cache)
				return 0;
			return at->depth > 1 ? at_depth(each, at->depth - 1, *at->body)
					     : (*at->body)();
		},
		&arg);
}

TEST(RegistryTest, AThreadKnowsEachOfItsPins)
{
	test_cache cache(64);
	struct slab_cache *c = cache;
	int destroyed = 0;
	std::string child = "no fork";

	std::thread([&] {
		at_depth(c, 20, [&] {
			if (cache_pins_of_mine(c) != 20)
				return -1;
			destroyed = slab_cache_destroy(c);
			child = run_in_child_now([&] { return c->pins == 20 ? 0 : 1; });
			return 1;
		});
	}).join();
	EXPECT_EQ(destroyed, -EBUSY);
	EXPECT_EQ(child, "");
	EXPECT_EQ(cache_pins_of_mine(c), 0u);
}

} /* namespace */
