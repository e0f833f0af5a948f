/* SPDX-License-Identifier: MIT */
/*
 * What a cache with args.rcu asks of the room rcu, which lies above: a cache without has
 * no struct cache_deferral.
 */
#ifndef SLAB_CORE_DEFERRAL_H
#define SLAB_CORE_DEFERRAL_H

struct slab;
struct slab_cache;
struct rcu_flavor_struct;

struct cache_deferral {
	/* An unused slab of a type-safe cache, isolated: release it after a grace period. */
	void (*retire)(struct slab_cache *cache, struct slab *slab);
	/* Around callbacks: a thread of libslab's own, which no flavour knows, is known to
	 * the cache's within. enter() returns what leave() wants. */
	const struct rcu_flavor_struct *(*enter)(const struct slab_cache *cache);
	void (*leave)(const struct rcu_flavor_struct *entered);
};

#endif /* SLAB_CORE_DEFERRAL_H */
