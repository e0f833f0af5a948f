/* SPDX-License-Identifier: MIT */
/*
 * Grace periods for caches: see free_rcu.c.
 */
#ifndef SLAB_RCU_FREE_RCU_H
#define SLAB_RCU_FREE_RCU_H

#include <slab/rcu.h>

struct cache_rcu;
struct slab;
struct slab_cache;

/* What a cache with args.rcu has; NULL and ENOMEM. */
struct cache_rcu *rcu_create(struct slab_cache *cache, const struct rcu_flavor_struct *flavor);
/* The slots of its CPUs, with their batches. */
char *rcu_slots(const struct cache_rcu *rcu);
/* Stop driving the cache's grace periods: no object waits and no thread uses the cache any
 * more. With no lock held. */
void rcu_stop(struct cache_rcu *rcu);
/* After rcu_stop(). */
void rcu_destroy(struct cache_rcu *rcu);
/* Until nothing waits: what slab_rcu_barrier() does. 0 or -EDEADLK. */
int rcu_drain(struct slab_cache *cache);

/* Called by threads of libslab's own, which no flavour knows. */
void rcu_this_thread_is_ours(void);

/* Some milliseconds at most, until nothing waits: for allocations that hit a limit. */
void rcu_wait_a_moment(struct slab_cache *cache);
/* Held over fork, with nothing else locked behind it. */
void rcu_fork_lock(void);
void rcu_fork_unlock(void);
/* In the child of a fork: a thread that recycled is gone. */
void rcu_after_fork_child(struct slab_cache *cache);

#endif /* SLAB_RCU_FREE_RCU_H */
