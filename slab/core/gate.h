/* SPDX-License-Identifier: MIT */
/*
 * Gates: the reasons to keep a cache's allocations off the fast path.
 *
 * The fast path reads cache->alloc_arrays. Without a gate it leads to the cache's arrays. With a
 * gate it leads to arrays that are always empty, so each allocation takes the slow path. Each
 * feature sets and clears its own gate only. Frees have no gates: a tag of the slab keeps them off
 * the fast path (core/slab.h).
 */
#pragma once

#include <stdbool.h>

#include "core/cache.h"

enum cache_gate {
	GATE_ZERO = 1,    /* SLAB_ZERO: allocations zero objects; set at creation */
	GATE_DEBUG = 2,   /* the cache has debug flags, or fault injection (switch.c) */
	GATE_SAMPLE = 4,  /* the next allocation may be a sample (sample.c) */
	GATE_COUNT = 8,   /* a client asks for counts (count.c) */
	GATE_RESERVE = 16, /* the reserve is short (reserve.h) */
	GATE_PROFILE = 32 /* the heap profile counts allocations (report/profile.h) */
};

/* Set or clear a gate. The caller holds flush_lock, which keeps the gate consistent with the
 * data of its feature. */
void cache_gate_set(struct slab_cache *cache, enum cache_gate gate, bool on);
/* Let the cache use these arrays, allocations only if no gate is set. The caller holds
 * flush_lock. */
void cache_arrays_set(struct slab_cache *cache, char *arrays);

static inline bool cache_gate_is_set(const struct slab_cache *cache, enum cache_gate gate)
{
	return __atomic_load_n(&cache->gates, __ATOMIC_SEQ_CST) & gate;
}

/* The same for an allocation, which may miss a gate that is being set. */
static inline bool cache_gate_has(const struct slab_cache *cache, enum cache_gate gate)
{
	return __atomic_load_n(&cache->gates, __ATOMIC_RELAXED) & gate;
}

/* Are gates set, and none but those in `light`? */
static inline bool cache_gates_are_only(const struct slab_cache *cache, unsigned light)
{
	unsigned gates = __atomic_load_n(&cache->gates, __ATOMIC_RELAXED);

	return gates && !(gates & ~light);
}
