/* SPDX-License-Identifier: MIT */
/* What it costs an allocation to be counted (registry/count_window.h). */
#ifndef SLAB_ALLOC_COUNT_COST_H
#define SLAB_ALLOC_COUNT_COST_H

struct count_cost;
/* Leaves the cost as it is where it cannot be measured. With registry_lock. */
void count_measure_cost(struct count_cost *cost);

#endif /* SLAB_ALLOC_COUNT_COST_H */
