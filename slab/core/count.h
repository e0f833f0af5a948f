/* SPDX-License-Identifier: MIT */
/*
 * Counting: how many objects of each cache are allocated while a client asks for it. The fast path
 * has no counter: there it would cost 8 % of an alloc/free pair (measured).
 *
 * Slow-path allocations are always counted (SLAB_EVENT_ALLOC_SLOWPATH). While a client asks,
 * GATE_COUNT is set: slab_alloc() finds an empty array and takes the slow path, which pops the same
 * object and counts it by an atomic addition. That costs some nanoseconds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/gate.h"
#include "rseq.h"

/* Must this allocation be counted, for a client or for the heap profile, but go through the slow
 * path for no other reason? */
static inline bool count_is_light(const struct slab_cache *cache)
{
	return cache_gates_are_only(cache, GATE_COUNT | GATE_PROFILE);
}

/* Allocate as the fast path would, and count. NULL: the fast path would have failed. What is
 * counted while no client asks is discarded when counting begins. */
static inline void *count_pop(struct slab_cache *cache)
{
	void *obj;

	if (!rseq_pop(&cache->arrays, cpu_rseq_offset, &obj))
		return NULL;
	__atomic_fetch_add(&cache->count.light, 1, __ATOMIC_RELAXED);
	return obj;
}

/* Count n allocations off the fast path. */
static inline void count_slow(struct slab_cache *cache, size_t n)
{
	struct shard *shard = shard_at(cache, 0, cpu_engine->cpu());

	__atomic_fetch_add(&shard->event[SLAB_EVENT_ALLOC_SLOWPATH], n, __ATOMIC_RELAXED);
}

/* Count the allocations of all caches for `us` microseconds from now on, or until the end of an
 * earlier request if that is later. Only the thread that serves the control socket calls this
 * function and count_tick(). */
void count_start(uint64_t us);
/* Add up what was counted, and begin with caches that are new. */
void count_tick(void);
/* Microseconds between calls of count_tick(); 0: no calls are needed. Any thread. */
long count_period(void);
/* Is the cache counted? Then GATE_COUNT keeps allocations off the fast path. */
bool count_is_on(const struct slab_cache *cache);
/* Add up the counts of a cache that is about to be destroyed, and end its counting. Takes
 * flush_lock. */
void count_close(struct slab_cache *cache);
/* In the child of a fork: stop counting, because no client of this process has requested it. */
void count_after_fork_child(void);
