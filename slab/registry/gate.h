/* SPDX-License-Identifier: MIT */
/*
 * Gates: the reasons to keep a cache's allocations off the fast path.
 *
 * The fast path reads cache->slots and nothing else. Those are the cache's own slots when
 * no gate is set; otherwise they are empty slots, and each allocation comes to
 * slab_alloc_requested(). A feature sets and clears its own gate, and no feature looks at
 * another one. Frees have no gates: a tag of the slab sends them off the fast path
 * (core/slab.h).
 */
#ifndef SLAB_REGISTRY_GATE_H
#define SLAB_REGISTRY_GATE_H

#include <stdbool.h>

#include "core/cache.h"

enum cache_gate {
	GATE_ZERO = 1,    /* SLAB_ZERO: objects are zeroed; set at creation */
	GATE_DEBUG = 2,   /* debug flags, fault injection's among them (switch.c) */
	GATE_SAMPLE = 4,  /* an allocation may be due between guard pages (sample.c) */
	GATE_COUNT = 8,   /* a window of counting is open (count_window.c) */
	GATE_RESERVE = 16 /* objects are missing in the reserve (reserve.h) */
};

/* Set or clear a gate. Under flush_lock, which keeps a gate and what its feature records
 * beside it together. */
void cache_gate_set(struct slab_cache *cache, enum cache_gate gate, bool on);

static inline bool cache_gate_is_set(const struct slab_cache *cache, enum cache_gate gate)
{
	return __atomic_load_n(&cache->gates, __ATOMIC_SEQ_CST) & gate;
}

/* Is this the only gate that is set? */
static inline bool cache_gate_is_only(const struct slab_cache *cache, enum cache_gate gate)
{
	return __atomic_load_n(&cache->gates, __ATOMIC_RELAXED) == (unsigned)gate;
}

/* cpu_slots_create(), which fault injection can make fail. */
char *slots_create(void);

#endif /* SLAB_REGISTRY_GATE_H */
