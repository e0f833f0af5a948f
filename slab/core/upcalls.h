/* SPDX-License-Identifier: MIT */
/*
 * Functions of higher rooms that this room calls, by pointers in the cache.
 */
#ifndef SLAB_UPCALLS_H
#define SLAB_UPCALLS_H

struct slab;
struct slab_cache;
struct rcu_flavor_struct;

/* Of the room debug. Each cache has them. */
struct cache_checks {
	/* A free of obj that makes more free objects than the slab has: report it. */
	void (*full)(struct slab_cache *cache, const struct slab *slab, void *obj,
		     const void *caller);
	/* A debug slab is about to be returned to the page layer: check its free objects. */
	void (*leaving)(struct slab_cache *cache, struct slab *slab);
};

/* Of the room rcu. Only caches with args.rcu have them. */
struct cache_deferral {
	/* An unused slab of a type-safe cache, isolated: release it after a grace period. */
	void (*retire)(struct slab_cache *cache, struct slab *slab);
	/* Around callbacks: a thread of libslab's own, which no flavour knows, is known to
	 * the cache's within. enter() returns what leave() wants. */
	const struct rcu_flavor_struct *(*enter)(const struct slab_cache *cache);
	void (*leave)(const struct rcu_flavor_struct *entered);
};

#endif /* SLAB_UPCALLS_H */
