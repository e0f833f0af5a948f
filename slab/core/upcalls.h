/* SPDX-License-Identifier: MIT */
/* Functions of higher rooms that core and percpu call. They may not include the headers of those
 * rooms, so the cache has pointers to the functions. */
#pragma once

struct slab;
struct slab_cache;
struct rcu_flavor_struct;

/* Implemented by debug, for every cache. */
struct cache_checks {
	/* Report a bad free that objects_put() found (core/shard.h): obj is free already, or is no
	 * object of the cache. `caller` is NULL if another call freed it. */
	void (*free_already)(struct slab_cache *cache, const struct slab *slab, void *obj,
			     const void *caller);
	void (*no_object)(struct slab_cache *cache, void *obj, const void *caller);
	/* Check the free objects of a debug slab before it is returned to the page layer. */
	void (*leaving)(struct slab_cache *cache, struct slab *slab);
};

/* Implemented by rcu, only for caches with args.rcu. */
struct cache_deferral {
	/* Release an empty slab of a type-safe cache, on no list, after a grace period. */
	void (*release)(struct slab_cache *cache, struct slab *slab);
	/* Called around callbacks. A thread of libslab's own is not registered with any RCU
	 * flavour; enter() makes it known to the cache's flavour. leave() gets what enter()
	 * returned. */
	const struct rcu_flavor_struct *(*enter)(const struct slab_cache *cache);
	void (*leave)(const struct rcu_flavor_struct *entered);
};
