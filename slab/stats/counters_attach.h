/* SPDX-License-Identifier: MIT */
/* Attaching an application's counters to a cache; inspect/counters.h has their table. */
#ifndef SLAB_STATS_COUNTERS_ATTACH_H
#define SLAB_STATS_COUNTERS_ATTACH_H

struct slab_cache;
/* Detach all counters of a cache that is being destroyed. */
void counters_detach(struct slab_cache *cache);

#endif /* SLAB_STATS_COUNTERS_ATTACH_H */
