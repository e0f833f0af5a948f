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

/* Create the RCU state of a cache with args.rcu; NULL and ENOMEM. */
struct cache_rcu *rcu_create(struct slab_cache *cache, const struct rcu_flavor_struct *flavor);
/* The slots of its CPUs, with their batches. */
char *rcu_slots(const struct cache_rcu *rcu);
/* Stop driving the cache's grace periods: no object waits and no thread uses the cache any
 * more. With no lock held. */
void rcu_stop(struct cache_rcu *rcu);
/* After rcu_stop(). */
void rcu_destroy(struct cache_rcu *rcu);
/* Wait until no object waits, for slab_rcu_barrier(). 0 or -EDEADLK. */
int rcu_drain(struct slab_cache *cache);

/* Called by libslab's own threads, which are registered with no flavour. */
void rcu_this_thread_is_ours(void);

/* Wait some milliseconds at most until no object waits: for allocations that hit a limit. */
void rcu_wait_a_moment(struct slab_cache *cache);
/* Held over fork; no other lock is taken after it. */
void rcu_fork_lock(void);
void rcu_fork_unlock(void);
/* In the child of a fork: a thread that recycled is gone. */
void rcu_after_fork_child(struct slab_cache *cache);

#endif /* SLAB_RCU_FREE_RCU_H */
