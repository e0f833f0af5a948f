/* SPDX-License-Identifier: MIT */
/*
 * Counting allocations without counting on the fast path.
 *
 * A counter there costs 8 % of an alloc/free pair (measured). So allocations are
 * counted only in short windows, during which all allocations of a cache take
 * the slow path, as those of a sampled cache do. What was counted in them and how
 * long they were gives the rate.
 *
 * The totals (counted, counted_us) are those of the windows that are over. Whoever
 * allocates closes a window that is over; where nobody does, a timer closes it.
 * Either way it counts as long as it was really open, so that the rate is right.
 */
#ifndef SLAB_COUNT_H
#define SLAB_COUNT_H

#include "slab_internal.h"

/* Whether a window is open: then allocations come through the slow path. */
static inline bool count_is_open(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->count.opened, __ATOMIC_RELAXED) != 0;
}

/* Open a window of `us` microseconds on a cache, unless one is open or the cache is
 * being flushed. Closes one that is over first. Takes no lock but by trying. */
void count_open(struct slab_cache *cache, unsigned us);
/* Close the cache's window, if it is over. */
void count_close_over(struct slab_cache *cache);
/* Close it in any case: the cache is about to be destroyed. Takes flush_lock. */
void count_close(struct slab_cache *cache);

void count_while_open(struct slab_cache *cache, size_t n);

/* Called for all allocations off the fast path: counts n of them, and closes what
 * is over. */
static inline void count_allocations(struct slab_cache *cache, size_t n)
{
	if (SLAB_UNLIKELY(count_is_open(cache)))
		count_while_open(cache, n);
}

/* Called ten times a second by the control socket's timer: closes what is over. */
void count_tick(void);
/* Whether there is a window for which count_tick() would do something. */
bool count_wants_ticks(void);

#endif /* SLAB_COUNT_H */
