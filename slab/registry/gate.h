/* SPDX-License-Identifier: MIT */
/* The gate: whether allocations come through the fast path. */
#ifndef SLAB_REGISTRY_GATE_H
#define SLAB_REGISTRY_GATE_H

struct slab_cache;
/* Where the fast path allocates from, by flags, letters, sampling and counting. */
void cache_update_slots(struct slab_cache *cache);
/* cpu_slots_create(), which can be made to fail. */
char *slots_create(void);

#endif /* SLAB_REGISTRY_GATE_H */
