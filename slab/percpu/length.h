/* SPDX-License-Identifier: MIT */
/*
 * How long the arrays of a cache are.
 *
 * Arrays keep free objects from their slabs, and so keep slabs in use. So they begin short, and
 * each grows as its CPU needs it. A *miss* is an allocation that finds an array empty, or a free
 * that finds it full. An array that missed less than 1 ms ago doubles its limit; one that has not
 * for 1 s halves it. An array has at least as many objects as a short one has room for, or 32 KiB
 * of them, and at most 512 KiB and a sixteenth of the cache's objects, unless it has missed at
 * least every 100 µs for 0.5 ms: then few objects flow fast between CPUs, and only the room of the
 * array bounds it. A cache whose arrays would outgrow the short ones gets long ones.
 */
#pragma once

#include "core/cache.h"

/* Choose the bounds for a new cache, whose object size is known. */
void length_init(struct slab_cache *cache);
/* Does the cache have long arrays? */
static inline bool cache_has_long_arrays(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->short_arrays, __ATOMIC_RELAXED);
}
/* A miss on this CPU: choose the limit of its array anew; returns the limit. May replace the
 * cache's arrays, so the caller reads cache->arrays again. */
unsigned length_miss(struct slab_cache *cache, int cpu);
