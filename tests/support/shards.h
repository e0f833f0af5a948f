/* SPDX-License-Identifier: MIT */
/* Tests that follow the slabs of one cache through the lists of their shards. */
#pragma once

#include "cpus.h"
#include "objects.h"
#include "orders.h"

constexpr unsigned take_anywhere = TAKE_PARTIAL | TAKE_OTHERS | TAKE_NEW;

/* Arrays of this length, whatever the load; 2 at least. */
inline void set_array_length(struct slab_cache *cache, unsigned length)
{
	__atomic_store_n(&cache->array_least, length, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->array_most, length, __ATOMIC_RELAXED);
}

/* The bytes of a cache's slabs that hold memory. */
inline std::uint64_t populated_bytes(const struct slab_cache *cache)
{
	std::uint64_t bytes = 0;

	cache_each_slab(
		cache,
		[](struct slab *slab, void *arg) {
			*static_cast<std::uint64_t *>(arg) += slab_held(slab);
		},
		&bytes);
	return bytes;
}

/* What the slabs of a shard add up to. */
struct shard_census {
	const struct shard *shard;
	std::uint64_t slabs = 0, room = 0, used = 0;
};

inline shard_census census_of(const struct slab_cache *cache, const struct shard *shard)
{
	shard_census census = {shard};

	cache_each_slab(
		cache,
		[](struct slab *slab, void *arg) {
			auto *found = static_cast<shard_census *>(arg);

			if (slab->shard != found->shard)
				return;
			found->slabs++;
			found->room += slab->objects;
			found->used += slab->initialized - slab->free;
			EXPECT_EQ(slab_check_map(slab), nullptr) << slab_check_map(slab);
		},
		&census);
	return census;
}

/* The slabs of a list, each as it must be there. */
inline unsigned listed(const struct shard *shard, const struct slab *first, unsigned bucket)
{
	const struct slab *before = nullptr;
	unsigned n = 0;

	for (const struct slab *slab = first; slab; before = slab, slab = slab->next, n++) {
		EXPECT_EQ(slab->shard, shard);
		EXPECT_EQ(slab->bucket, bucket);
		EXPECT_EQ(slab->prev, before);
	}
	return n;
}

/* No other thread uses the cache: lists, maps and sums of its shards agree. */
inline void expect_shards_right(const struct slab_cache *cache)
{
	for (const struct shard *shard = cache->shard; shard < shards_end(cache); shard++) {
		const shard_census census = census_of(cache, shard);
		unsigned partial = 0;

		for (unsigned bucket = 0; bucket < SHARD_BUCKETS; bucket++) {
			partial += listed(shard, shard->bucket[bucket], bucket);
			EXPECT_EQ(shard->buckets >> bucket & 1, shard->bucket[bucket] ? 1u : 0u);
		}
		EXPECT_EQ(shard->partial, partial);
		EXPECT_EQ(shard->empties, listed(shard, shard->empty, SLAB_EMPTY));
		EXPECT_EQ(shard->slabs, census.slabs);
		EXPECT_EQ(shard->room, census.room);
		EXPECT_EQ(shard->used, census.used);
		EXPECT_EQ(shard->lock.word, std::uint32_t{CPU_LOCK_FREE});
	}
}

/* The sums of all shards. */
inline struct shard_sums cache_sums(const struct slab_cache *cache)
{
	struct shard_sums all = {}, node;

	for (unsigned n = 0; n < topology_nodes(); n++) {
		node_sums(cache, n, &node);
		all.slabs += node.slabs;
		all.partial += node.partial;
		all.empty += node.empty;
		all.room += node.room;
		all.used += node.used;
	}
	return all;
}

inline std::uint64_t used_in_slabs(const struct slab_cache *cache)
{
	return cache_sums(cache).used;
}

/* Objects go from slabs to the test and back, past the arrays. */
class ShardTest : public testing::Test
{
protected:
	explicit ShardTest(std::size_t size = 1024, const struct slab_cache_args *args = nullptr)
		: owner_(size, 0, args), cache_(owner_), shard_(cache_->shard)
	{
		/* Slabs serve the lowest address first. */
		cache_->coloured = false;
		pin(0);
		one_order(cache_);
	}

	~ShardTest() override
	{
		put(held_);
		expect_shards_right(cache_);
		EXPECT_EQ(used_in_slabs(cache_), 0u);
		unpin();
	}

	static struct slab *slab(const void *obj) { return slab_of(obj); }

	unsigned per_slab() const { return cache_->large.objects; }

	/* Up to n objects, in the order in which an array would hand them out. */
	std::vector<void *> take(unsigned n, unsigned where = take_anywhere,
				 struct shard *shard = nullptr)
	{
		std::vector<void *> objs(n);
		const unsigned got =
			objects_take(cache_, shard ? shard : shard_, n, objs.data(), where);

		objs.erase(objs.begin(), objs.end() - got);
		std::reverse(objs.begin(), objs.end());
		held_.insert(held_.end(), objs.begin(), objs.end());
		expect_shards_right(cache_);
		return objs;
	}

	/* All objects of a new slab. */
	std::vector<void *> take_slab()
	{
		std::vector<void *> objs = take(per_slab(), TAKE_NEW);

		EXPECT_EQ(objs.size(), per_slab());
		EXPECT_EQ(slab(objs.front()), slab(objs.back()));
		return objs;
	}

	/* By value: it may be held_ itself. */
	struct put_bad put(std::vector<void *> objs)
	{
		struct put_bad bad = {};

		for (void *obj : objs) {
			const auto found = std::find(held_.begin(), held_.end(), obj);

			if (found != held_.end())
				held_.erase(found);
		}
		for (std::size_t i = 0; i < objs.size(); i += OBJECTS_MAX - 1) {
			std::vector<void *> some(
				objs.begin() + static_cast<long>(i),
				objs.begin() + static_cast<long>(
						       std::min(i + OBJECTS_MAX - 1, objs.size())));
			const auto n = static_cast<unsigned>(some.size());

			some.push_back(nullptr);
			objects_put(cache_, n, some.data(), &bad);
		}
		expect_shards_right(cache_);
		return bad;
	}

	/* All of these are good objects in use. */
	void put_well(const std::vector<void *> &objs) { EXPECT_EQ(put(objs).n, 0u); }

	test_cache owner_;
	struct slab_cache *cache_;
	struct shard *shard_;
	std::vector<void *> held_;
};
