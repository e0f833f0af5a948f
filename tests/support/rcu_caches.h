/* SPDX-License-Identifier: MIT */
/* Caches whose frees wait for a grace period of one flavour or another. */
#pragma once

#include "debugging.h"
#include "readers.h"

constexpr std::size_t object_size = 96;

inline struct slab_stats stats(struct slab_cache *cache)
{
	struct slab_stats stats = {};

	stats.struct_size = sizeof(stats);
	EXPECT_EQ(slab_cache_stats(cache, &stats), 0);
	return stats;
}

class RcuTest : public testing::TestWithParam<flavour>
{
protected:
	const struct rcu_flavor_struct *rcu = GetParam().rcu;
	registered here{rcu};
	struct slab_cache_args args = {};

	struct slab_cache *create(std::uint64_t flags = 0, const char *name = "entry")
	{
		args.rcu = rcu;

		struct slab_cache *cache = slab_cache_create(name, object_size, &args, flags);

		EXPECT_NE(cache, nullptr) << std::strerror(errno);
		return cache;
	}
};

/* All objects that a cache hands out until it takes another slab. */
inline std::set<void *> drain_slabs(struct slab_cache *cache)
{
	const std::uint64_t slabs = stats(cache).slabs;
	std::set<void *> objects;

	while (stats(cache).slabs == slabs)
		objects.insert(slab_alloc(cache));
	return objects;
}

inline void free_all(struct slab_cache *cache, const std::set<void *> &objects)
{
	for (void *object : objects)
		slab_free(cache, hidden(object));
}
