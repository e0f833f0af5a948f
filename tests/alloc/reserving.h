/* SPDX-License-Identifier: MIT */
/* Caches with a reserve. */
#pragma once

#include "../support/objects.h"
#include "../support/rooms.h"

constexpr std::size_t object_size = 1000;
constexpr std::size_t kept = 50;
constexpr const char *no_pages = "times=-1";

inline struct slab_cache_args reserving(std::size_t objects)
{
	struct slab_cache_args args = {};

	args.reserve = objects;
	return args;
}

struct reserving_cache : test_cache {
	explicit reserving_cache(std::uint64_t flags = 0, std::size_t objects = kept)
		: reserving_cache(flags, reserving(objects))
	{
	}

	reserving_cache(std::uint64_t flags, const struct slab_cache_args &args)
		: test_cache(object_size, flags, &args)
	{
	}

	std::uint64_t left() const { return stats_of(*this).reserve_left; }
};

inline bool is_fast(const struct slab_cache *cache)
{
	return cache->alloc_arrays == cache->own_arrays;
}
