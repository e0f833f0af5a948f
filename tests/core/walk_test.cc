/* SPDX-License-Identifier: MIT */
/* Walks over the lists of a node, and sorting them. */
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "full_cache.h"

extern "C" {
#include "core/cache.h"
#include "core/isolated.h"
#include "core/node.h"
#include "core/slab.h"
}

using namespace slab_test;

namespace
{

/* How often a walk called wants(), and for how many slabs look(). */
struct looked {
	struct slab_cache *cache;
	std::size_t wants = 0, looks = 0;
};

/* Those in the second half of the list, once. */
bool wants(struct slab *slab, void *arg)
{
	auto &looked = *static_cast<struct looked *>(arg);
	const bool wanted = slab->validated_seq;

	looked.wants++;
	slab->validated_seq = 0;
	return wanted;
}

void put_back(struct slab *isolated, void *arg)
{
	auto &looked = *static_cast<struct looked *>(arg);

	for (const struct slab *slab = isolated; slab; slab = slab->next)
		looked.looks++;
	node_put_last(looked.cache, isolated->node, isolated);
}

TEST(WalkTest, LooksAtASlabTwiceAtMost)
{
	full_cache full(1000);
	struct looked looked = {full.cache()};
	struct list_walk walk = {};
	std::size_t listed = 0, wanted = 0;

	slab_cache_shrink(full.cache());
	struct cache_node &node = full.cache()->node[0];

	for (struct slab *slab = node.partial.slabs.first; slab; slab = slab->next)
		wanted += slab->validated_seq = ++listed > 500;
	ASSERT_EQ(listed, 1000u);
	walk.cache = full.cache();
	walk.sparse = true;
	walk.wants = wants;
	walk.look = put_back;
	walk.arg = &looked;
	list_walk(&walk);
	EXPECT_EQ(looked.looks, wanted);
	EXPECT_LE(looked.wants, 2 * listed);
	EXPECT_EQ(node.partial.count, listed);
	EXPECT_EQ(slab_cache_validate(full.cache()), 0);
}

/* A count that goes on begins anew by that. */
TEST(WalkTest, EachSlabThatIsListedOrNotChangesTheList)
{
	full_cache full(3);
	struct node_list &list = full.cache()->node[0].partial;

	slab_cache_shrink(full.cache());
	struct slab *slab = list.slabs.first;
	unsigned before = list.changes;

	ASSERT_NE(slab, nullptr);
	node_list_remove(&list, slab);
	EXPECT_NE(list.changes, before);
	before = list.changes;
	node_list_add_tail(&list, slab);
	EXPECT_NE(list.changes, before);
}

/* Another thread may empty the list after its slabs were counted. */
TEST(WalkTest, SplittingAListEndsWhereItHasFewerSlabsThanCounted)
{
	test_cache cache(64);
	unsigned &count = static_cast<struct slab_cache *>(cache)->node[0].partial.count;

	alarm(child_seconds);
	count = 1;
	EXPECT_EQ(node_split(cache, 0), 0u);
	count = 0;
	alarm(0);
}

/* A walk that wants nothing, beside a thread that takes a slab under the node's lock. */
struct beside {
	struct slab_cache *cache;
	unsigned wants = 0, wants_before_other = 0;
	std::thread other;
	struct slab *taken = nullptr;
};

constexpr unsigned walked = 3000;

bool wants_none(struct slab *, void *arg)
{
	auto &beside = *static_cast<struct beside *>(arg);
	struct cache_node &node = beside.cache->node[0];

	if (!beside.wants++)
		beside.other = std::thread([&] { beside.taken = node_take(beside.cache, 0, 1); });
	while (beside.wants == 1 && !__atomic_load_n(&node.waiting, __ATOMIC_RELAXED))
		std::this_thread::yield();
	if (node.partial.count == walked)
		beside.wants_before_other++;
	return false;
}

/* Allocations wait for that lock: they must not wait for a million slabs. */
TEST(WalkTest, HoldsTheNodesLockForSomeSlabsOnly)
{
	full_cache full(walked);
	struct beside beside;
	struct list_walk walk = {};

	slab_cache_shrink(full.cache());
	walk.cache = beside.cache = full.cache();
	walk.wants = wants_none;
	walk.arg = &beside;
	list_walk(&walk);
	beside.other.join();
	EXPECT_GE(beside.wants, walked - 1);
	EXPECT_LT(beside.wants_before_other, walked / 2);
	beside.taken->next = nullptr;
	node_put_last(full.cache(), 0, beside.taken);
	EXPECT_EQ(slab_cache_validate(full.cache()), 0);
}

/* Of the listed slabs, how many 64ths of the objects are in use. */
std::vector<unsigned> fullness(struct slab_cache *cache)
{
	std::vector<unsigned> used;

	for (struct slab *s = cache->node[0].partial.slabs.first; s; s = s->next)
		used.push_back(slab_used(s) * 64 / s->objects);
	return used;
}

TEST(SortTest, PutsTheFullestSlabsFirst)
{
	test_cache cache(1024);
	std::vector<void *> objs = alloc_many(cache, 64 * 300), kept;

	for (std::size_t i = 0; i < objs.size(); i++)
		if (i / 64 * 7919 % 64 < i % 64)
			slab_free(cache, objs[i]);
		else
			kept.push_back(objs[i]);
	slab_cache_shrink(cache);
	const std::vector<unsigned> used = fullness(cache);

	EXPECT_GE(used.size(), 290u);
	EXPECT_TRUE(std::is_sorted(used.rbegin(), used.rend()));
	free_many(cache, kept);
}

/* What is not sorted yet when the list runs empty, or is looked through, stays listed. */
TEST(SortTest, LosesNoSlabThatIsTakenMeanwhile)
{
	full_cache full(1000);
	struct slab_cache *cache = full.cache();
	std::atomic<bool> done{false};

	slab_cache_shrink(cache);
	const std::size_t listed = fullness(cache).size();
	std::thread sorter([&] {
		while (!done)
			node_sort(cache, 0);
	});

	for (unsigned i = 0; i < 300; i++) {
		struct slab *chain = node_take(cache, 0, 100), *next;

		if (i % 10 == 0) {
			EXPECT_EQ(slab_cache_validate(cache), 0);
		}
		for (; chain; chain = next) {
			next = chain->next;
			chain->next = nullptr;
			node_put_last(cache, 0, chain);
		}
	}
	done = true;
	sorter.join();
	EXPECT_EQ(fullness(cache).size(), listed);
	EXPECT_EQ(cache->node[0].partial.count, listed);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

} /* namespace */
