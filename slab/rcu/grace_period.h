/* SPDX-License-Identifier: MIT */
/*
 * Shared by freeing (free_rcu.c) and the phases (grace_period.c).
 */
#ifndef SLAB_RCU_GRACE_PERIOD_H
#define SLAB_RCU_GRACE_PERIOD_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

#include "cpu_cache.h"
#include "pages/segment.h"
#include "rcu/free_rcu.h"

struct slab_cache;

/* The contents of slab->waiting[]: a chain in links[] and its length. */
#define RCU_FIRST(waiting) ((unsigned)((waiting) & 0xffff))
#define RCU_LAST(waiting) ((unsigned)((waiting) >> 16 & 0xffff))
#define RCU_COUNT(waiting) ((unsigned)((waiting) >> 32))

/*
 * It outlives its cache if a callback is still pending: then `cache` is NULL, and the
 * callback frees it. Such memory is never unmapped.
 */
struct cache_rcu {
	struct rcu_head head;
	struct slab_cache *cache;
	const struct rcu_flavor_struct *flavor;
	char *slots;             /* the CPUs' batches */
	uint64_t backlog;        /* objects that may wait */
	uint32_t armed;          /* a callback is pending */
	uint32_t driving;        /* a driver flips or recycles */
	uint64_t phase;          /* its lowest bit is the phase that collects */
	uint64_t armed_phase;    /* at the end of which the callback's grace period began */
	struct slab *slabs[2];   /* that have objects waiting */
	struct slab *retired[2]; /* that wait themselves */
	uint32_t taking;         /* threads that are handing a batch over */
	bool held_up;            /* a thread was, within a section */
	bool forked;             /* in a child: no grace period has ended here yet */
	struct cache_rcu *next;  /* free ones */
};

/* Put a slab on a stack, linked by its member `next`. */
void rcu_push(struct slab **stack, struct slab *slab, struct slab **next);
/* Add a batch to the waiting objects; returns their number. */
uint64_t rcu_wait_for(struct cache_rcu *rcu, const struct cpu_batch *batch);
/* Many objects wait: wait for a grace period here, if that is allowed. */
void rcu_help(struct cache_rcu *rcu);

/* Ensure that a callback is pending. */
void rcu_call(struct cache_rcu *rcu);

static inline void rcu_arm(struct cache_rcu *rcu)
{
	uint32_t no = 0;

	if (!__atomic_load_n(&rcu->armed, __ATOMIC_RELAXED) &&
	    __atomic_compare_exchange_n(&rcu->armed, &no, 1, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		rcu_call(rcu);
}

/* Around callbacks of a cache: register a thread of libslab's own with the cache's flavour.
 * rcu_enter() returns the argument of rcu_leave(). */
const struct rcu_flavor_struct *rcu_enter(const struct slab_cache *cache);
void rcu_leave(const struct rcu_flavor_struct *entered);
/* rcu_enter() for a cache that may be destroyed. */
const struct rcu_flavor_struct *rcu_enter_flavor(const struct rcu_flavor_struct *flavor);

/* NULL: out of memory. */
struct cache_rcu *rcu_pool_take(void);
/* No thread uses it any more. */
void rcu_pool_put(struct cache_rcu *rcu);

#endif /* SLAB_RCU_GRACE_PERIOD_H */
