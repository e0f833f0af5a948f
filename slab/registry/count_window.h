/* SPDX-License-Identifier: MIT */
/*
 * How often each cache is allocated from, without counting on the fast path.
 *
 * A counter there costs 8 % of an alloc/free pair (measured). What leaves the fast
 * path is counted anyway (SLAB_EVENT_ALLOC_SLOWPATH), exactly and all the time. The
 * others are counted while the cache's window is open: then slab_alloc() finds no slots,
 * comes to slab_alloc_requested(), and the same object is popped and counted there.
 * That costs some nanoseconds, so it depends on the cache how long it may last:
 *
 *   quiet   its window stays open, and all is counted
 *   busy    short windows at random times; what happened between two of them is taken
 *           to be the mean of both
 *
 * The sums (counted, counted_us) cover all the time in which counting was wanted.
 * `counted_variance` says how well the windows of a busy cache agree with each other; it
 * is 0 where nothing was estimated.
 *
 * A thread that does nothing but allocate is slowed down by being counted. What one such
 * allocation takes longer is measured (alloc/count_cost.c), and the time of a window is
 * shortened by that, for each CPU.
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

/* Is this allocation to be popped and counted, and nothing else? */
static inline bool count_is_light(const struct slab_cache *cache)
{
	return cache_gate_is_only(cache, GATE_COUNT);
}

/* An allocation in a window, if the fast path would have served it; else NULL. */
static inline void *count_pop(struct slab_cache *cache)
{
	void *obj;

	if (!rseq_pop(&cache->cpu_slots, cpu_rseq_offset, &obj) &&
	    !rseq_lifo_pop(&cache->cpu_slots, &cache->cpu_lifos, cpu_rseq_offset, &obj))
		return NULL;
	/* It may have moved to another CPU since: one lost count in a million. */
	cpu_tally(&cpu_slot(cache->cpu_slots, cpu_rseq_number())->counted);
	return obj;
}

/* n allocations off the fast path. */
static inline void count_slow(struct slab_cache *cache, size_t n)
{
	int cpu = cpu_engine->cpu();

	cpu_tally_add(
		&cpu_slot(cache->cpu_slots, cpu < 0 ? 0 : cpu)->event[SLAB_EVENT_ALLOC_SLOWPATH],
		n);
}

/* What being counted costs a thread that allocates. */
struct count_cost {
	double us;        /* for each allocation */
	double share_max; /* … and the most of its time, when it does nothing else */
};

/*
 * Count all caches for `us` microseconds from now on, or for as long as was requested
 * before. `measure` is called once a second, with registry_lock; it leaves the cost as it
 * is where it cannot be measured. By the thread that serves the control socket, as
 * count_tick().
 */
void count_start(uint64_t us, void (*measure)(struct count_cost *cost));
/* Opens and closes windows. */
void count_tick(void);
/* Microseconds from one count_tick() to the next; 0: none is needed. Any thread. */
long count_period(void);
/* Is a window open? Then GATE_COUNT keeps allocations off the fast path. */
bool count_is_open(const struct slab_cache *cache);
/* The cache is about to be destroyed: add up what is not yet, and close its window.
 * With registry_lock; takes flush_lock. */
void count_close(struct slab_cache *cache);
/* In the child of a fork no client has requested counting yet. */
void count_after_fork_child(void);

#endif /* SLAB_REGISTRY_COUNT_WINDOW_H */
