/* SPDX-License-Identifier: MIT */
/*
 * The RCU state of a cache, and what frees (free_rcu.c), collection (collect.c) and phases
 * (grace_period.c) call of each other. A phase is one of two sets of waiting objects and slabs: one
 * collects, the other waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/shard.h"
#include "cpu_cache.h"
#include "pages/segment.h"
#include "rcu/flavor.h"
#include "rcu/free_rcu.h"

struct slab_cache;

/* The most objects in one CPU's array: they are moved by way of the stack. */
#define RCU_ARRAY_MAX (CPU_ARRAY_MAX / 2)

/*
 * The RCU state of a cache. It outlives the cache if a callback is still pending: `cache` is then
 * NULL, and the callback frees the state. Its memory is never unmapped.
 */
struct cache_rcu {
	struct rcu_callback callback;
	struct slab_cache *cache;
	const struct rcu_flavor_struct *flavor;
	char *arrays;            /* cache->rcu_arrays, unless they are closed */
	uint64_t backlog;        /* the most waiting objects before producers are delayed */
	uint32_t armed;          /* a callback is pending */
	uint32_t driving;        /* a driver flips or recycles */
	uint64_t phase;          /* grows with each flip; lowest bit: the collecting phase */
	uint32_t users[2];       /* number of threads that add to each phase */
	struct slab *slabs[2];   /* stacks: slabs with waiting objects, of each phase */
	struct slab *leaving[2]; /* stacks: slabs of type-safe caches that wait themselves */
	uint32_t taking;         /* number of threads within rcu_begin_taking() */
	bool held_up;            /* a thread was delayed within a read-side critical section */
	bool forked;             /* in a child of fork, before its first callback */
	struct cache_rcu *next;  /* on the free list */
};

/* The end of a stack. So a slab whose link is NULL is on none. */
#define RCU_END (&slab_none)

/* Push a slab onto a stack; `next` is the member of the slab that links it. */
void rcu_push(struct slab **stack, struct slab *slab, struct slab **next);
/* Around everything that adds to the phase that collects, which rcu_enter_phase() returns. Between
 * them the phase is not recycled. */
unsigned rcu_enter_phase(struct cache_rcu *rcu);
void rcu_leave_phase(struct cache_rcu *rcu, unsigned phase);
/* Add objects to the phase that collects; returns the number that now wait. Objects that are free
 * or wait already are added to *ret_bad. */
uint64_t rcu_wait_for(struct cache_rcu *rcu, size_t n, void *const *objs, struct put_bad *ret_bad);
/* Move the objects of all CPUs to the phase that collects. If nothing was moved, returns -EAGAIN (a
 * fork is under way) or -EPERM (the kernel refuses the fence). Called by the driver. */
int rcu_collect(struct cache_rcu *rcu);
/* Around everything that takes objects out of an array and adds them to a phase. false: a fork is
 * under way; its child would lack such objects. */
bool rcu_begin_taking(struct cache_rcu *rcu);
void rcu_end_taking(struct cache_rcu *rcu);
extern uint32_t rcu_forking;
/* Does any CPU hold objects that are in no phase yet? */
bool rcu_cpus_hold(const struct cache_rcu *rcu);
/* Many objects wait: the calling thread waits for a grace period and recycles them. Within a
 * read-side critical section it cannot, and is delayed instead if too many wait. */
void rcu_help(struct cache_rcu *rcu);

/* Ensure that a callback is pending. */
void rcu_call(struct cache_rcu *rcu);

static inline void rcu_arm(struct cache_rcu *rcu)
{
	uint32_t no = 0;

	if (!__atomic_load_n(&rcu->armed, __ATOMIC_RELAXED) &&
	    GUARD(rcu_armed, __atomic_compare_exchange_n(&rcu->armed, &no, 1, false,
							 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)))
		rcu_call(rcu);
}

/* Around callbacks of a cache: a thread of libslab registers with the cache's flavour. Other
 * threads do nothing. rcu_enter() returns the argument of rcu_leave(). */
const struct rcu_flavor_struct *rcu_enter(const struct slab_cache *cache);
void rcu_leave(const struct rcu_flavor_struct *entered);
/* rcu_enter() by flavour, since the cache may be destroyed. */
const struct rcu_flavor_struct *rcu_enter_flavor(const struct rcu_flavor_struct *flavor);

/* Take memory for an RCU state; NULL: out of memory. */
struct cache_rcu *rcu_pool_take(void);
/* Return it to the pool; no thread uses it any more. */
void rcu_pool_put(struct cache_rcu *rcu);
