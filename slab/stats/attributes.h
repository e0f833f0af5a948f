/* SPDX-License-Identifier: MIT */
/* Statistics by name: functions for the control socket besides <slab/stats.h>. */
#ifndef SLAB_STATS_ATTRIBUTES_H
#define SLAB_STATS_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

struct slab_cache;
struct slab_stats;
/* Does this name exist? */
bool attribute_is_known(const char *name);
/* The values that slab_stat_write() accepts for this name, as text for messages: "0 to 65535
 * slabs"; NULL: it can only be read, or does not exist. */
const char *attribute_accepted(const char *name);
/* The least value besides 0 that it accepts for this cache; 0: any. */
uint64_t attribute_least(const struct slab_cache *cache, const char *name);
/* cache_stats: as slab_cache_stats(); without `sums` only the numbers in the cache itself,
 * without a scan of slabs. */
int cache_stats(struct slab_cache *cache, struct slab_stats *stats, bool sums);

#endif /* SLAB_STATS_ATTRIBUTES_H */
