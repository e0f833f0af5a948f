/* SPDX-License-Identifier: MIT */
/*
 * Counting windows: how often each cache is allocated from, without a counter on the fast path,
 * where it would cost 8 % of an alloc/free pair (measured).
 *
 * Slow-path allocations are always counted exactly (SLAB_EVENT_ALLOC_SLOWPATH). Fast-path
 * allocations are counted while the cache's window is open. Then slab_alloc() finds no LIFO and
 * calls slab_alloc_requested(), which pops the same object and counts it. That costs some
 * nanoseconds, so the length of windows depends on the cache:
 *
 *   quiet   The window stays open, and all allocations are counted.
 *   busy    Windows are short and begin at random times. The rate between two windows is
 *           estimated as the mean of their rates.
 *
 * The sums (counted, counted_us) cover all the time in which counting was requested.
 * `counted_variance` shows how well the windows of a busy cache agree; it is 0 if nothing was
 * estimated.
 *
 * Counting slows down a thread that does nothing but allocate. alloc/count_cost.c measures this
 * cost, and the time of a window is shortened by it, for each CPU.
 */
#ifndef SLAB_REGISTRY_COUNT_WINDOW_H
#define SLAB_REGISTRY_COUNT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "registry/gate.h"
#include "rseq.h"
#include "tally.h"

/* Must this allocation be counted, for a window or for the heap profile, but go through the slow
 * path for no other reason? */
static inline bool count_is_light(const struct slab_cache *cache)
{
	return cache_gates_are_only(cache, GATE_COUNT | GATE_PROFILE);
}

/* Allocate as the fast path would, and count. NULL: the fast path would have failed. What is
 * counted while no window is open is discarded when the next one opens. */
static inline void *count_pop(struct slab_cache *cache)
{
	void *obj;

	if (!rseq_pop(&cache->cpu_lifos, cpu_rseq_offset, &obj) &&
	    !rseq_pop_current(&cache->cpu_slots, cpu_rseq_offset, &obj))
		return NULL;
	/* The thread may have moved to another CPU since. That loses one count in a million. */
	cpu_tally(&cpu_slot(cache->cpu_slots, cpu_rseq_number())->counted);
	return obj;
}

/* Count n allocations off the fast path. */
static inline void count_slow(struct slab_cache *cache, size_t n)
{
	int cpu = cpu_engine->cpu();

	cpu_tally_add(
		&cpu_slot(cache->cpu_slots, cpu < 0 ? 0 : cpu)->event[SLAB_EVENT_ALLOC_SLOWPATH],
		n);
}

/* The cost of counting to a thread that allocates. */
struct count_cost {
	double us;        /* microseconds for each allocation */
	double share_max; /* the largest fraction of time: of a thread that only allocates */
};

/*
 * Count all caches for `us` microseconds from now on, or until the end of an earlier request if
 * that is later. `measure` is called once a second, with registry_lock; it leaves the cost
 * unchanged if the cost cannot be measured. Only the thread that serves the control socket calls
 * this function and count_tick().
 */
void count_start(uint64_t us, void (*measure)(struct count_cost *cost));
/* Open and close windows. */
void count_tick(void);
/* Microseconds between calls of count_tick(); 0: no calls are needed. Any thread. */
long count_period(void);
/* Is a window open? Then GATE_COUNT keeps allocations off the fast path. */
bool count_is_open(const struct slab_cache *cache);
/* Add up the counts of a cache that is about to be destroyed, and close its window. The caller
 * holds registry_lock; the function takes flush_lock. */
void count_close(struct slab_cache *cache);
/* In the child of a fork: stop counting, because no client of this process has requested it. */
void count_after_fork_child(void);

#endif /* SLAB_REGISTRY_COUNT_WINDOW_H */
