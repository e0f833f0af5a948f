/* SPDX-License-Identifier: MIT */
/* Statistics by name: what the control socket needs beside <slab/stats.h>. */
#ifndef SLAB_STATS_ATTRIBUTES_H
#define SLAB_STATS_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

struct slab_cache;
struct slab_stats;
/* Is there a name like this? */
bool attribute_is_known(const char *name);
/* What slab_stat_write() takes for this name, as words of a sentence: "0 to 65535
 * slabs"; NULL when it can only be read, or there is no such name. */
const char *attribute_accepted(const char *name);
/* The least value but 0 that it takes of this cache; 0: any. */
uint64_t attribute_least(const struct slab_cache *cache, const char *name);
/* cache_stats: as slab_cache_stats(); without `sums` only the numbers that stand in the
 * cache itself: no slab is looked at. */
int cache_stats(struct slab_cache *cache, struct slab_stats *stats, bool sums);

#endif /* SLAB_STATS_ATTRIBUTES_H */
