/* SPDX-License-Identifier: MIT */
/* Counters of the program, attached to a cache: inspect/counters.h. */
#ifndef SLAB_STATS_COUNTERS_ATTACH_H
#define SLAB_STATS_COUNTERS_ATTACH_H

struct slab_cache;
/* The cache is being destroyed. */
void counters_detach(struct slab_cache *cache);

#endif /* SLAB_STATS_COUNTERS_ATTACH_H */
