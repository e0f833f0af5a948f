/* SPDX-License-Identifier: MIT */
/* The cost of counting an allocation (registry/count_window.h). */
#ifndef SLAB_ALLOC_COUNT_COST_H
#define SLAB_ALLOC_COUNT_COST_H

struct count_cost;
/* Leaves *cost unchanged if the cost cannot be measured. The caller holds registry_lock. */
void count_measure_cost(struct count_cost *cost);

#endif /* SLAB_ALLOC_COUNT_COST_H */
