/* SPDX-License-Identifier: MIT */
/*
 * slab_free_rcu(): objects and slabs of caches with args.rcu that wait for a grace period.
 * free_rcu.c describes the protocol.
 */
#pragma once

#include <slab/rcu.h>
#include <stdbool.h>

struct cache_rcu;
struct slab;
struct slab_cache;

/* Create the RCU state of a cache with args.rcu, with the arrays that its frees use. The caller
 * holds registry_lock. NULL and ENOMEM if there is no memory. */
struct cache_rcu *rcu_create(struct slab_cache *cache, const struct rcu_flavor_struct *flavor);
/* Does the cache use this flavour? NULL: none. */
bool rcu_is_flavor(const struct slab_cache *cache, const struct rcu_flavor_struct *flavor);
/* Stop the drivers of the cache's grace periods. No object waits any more, and no thread uses the
 * cache. The caller holds no lock. */
void rcu_stop(struct cache_rcu *rcu);
/* Free the RCU state. The caller has called rcu_stop(). */
void rcu_destroy(struct cache_rcu *rcu);
/* Wait until the objects that wait now are free: the work of slab_rcu_barrier(). Returns 0, or
 * -EDEADLK within a read-side critical section. */
int rcu_drain(struct slab_cache *cache);

/* Does anything wait for a grace period, in a CPU's array or in a phase? */
bool rcu_has_waiting(const struct slab_cache *cache);

/* The most flavours that a thread is registered with at a time: the callback of one cache may
 * cause the callback of another. liburcu has four flavours. */
#define RCU_KNOWN_MAX 4u
struct rcu_thread {
	const struct rcu_flavor_struct *known[RCU_KNOWN_MAX];
	unsigned count;
};

/* A thread of libslab calls this when it starts, with {0}, which lives as long as the thread. Such
 * threads are registered with no flavour. */
void rcu_this_thread_is_ours(struct rcu_thread *thread);

/* Wait until no object waits, but at most some milliseconds. Allocations that hit a limit call
 * this. */
void rcu_wait_a_moment(struct slab_cache *cache);
/* Held over fork. A thread that holds it takes only locks of arrays. */
void rcu_fork_lock(void);
void rcu_fork_unlock(void);
/* After rcu_fork_lock(): wait until no thread has objects that are neither a CPU's nor in a
 * phase. */
void rcu_fork_wait(struct slab_cache *cache);
/* In the child of a fork: the thread that recycled objects does not exist there. */
void rcu_after_fork_child(struct slab_cache *cache);
