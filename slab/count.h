/* SPDX-License-Identifier: MIT */
/*
 * Counting allocations without counting on the fast path.
 *
 * A counter there costs 8 % of an alloc/free pair (measured). So allocations are
 * counted only in short windows, while which a cache's allocations all take the
 * slow path, as those of a sampled cache do. What was counted in them and how
 * long they were gives the rate.
 */
#ifndef SLAB_COUNT_H
#define SLAB_COUNT_H

#include "slab_internal.h"

/* Whether a window is open: then allocations come through the slow path. */
bool count_is_open(const struct slab_cache *cache);
/* Open a window of `us` microseconds on a cache, unless one is open. */
void count_open(struct slab_cache *cache, unsigned us);
/* Called for each allocation off the fast path: counts, and closes what is over. */
void count_allocation(struct slab_cache *cache);

#endif /* SLAB_COUNT_H */
