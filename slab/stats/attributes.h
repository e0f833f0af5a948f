/* SPDX-License-Identifier: MIT */
/* Statistics by name: what the control socket needs besides <slab/stats.h>. */
#ifndef SLAB_STATS_ATTRIBUTES_H
#define SLAB_STATS_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

struct inspect_cache;
struct slab_cache;
/* Is there an attribute or event with this name? */
bool attribute_is_known(const char *name);
/* The values that slab_stat_write() accepts for this name, as text for messages: "0 to 65535
 * slabs". NULL: the attribute can only be read, or does not exist. */
const char *attribute_accepted(const char *name);
/* The least value except 0 that slab_stat_write() accepts for this cache; 0: no such limit. */
uint64_t attribute_least(const struct slab_cache *cache, const char *name);
/*
 * cache_stats: the work of slab_cache_stats(): fills in room->stats, as far as needed: the numbers in the
 * cache itself, sums over nodes, shards and CPUs, or what a scan of all slabs finds. `room` is too large
 * for the stack to have two of it.
 */
enum stats_need { NEED_NOTHING, NEED_SUMS, NEED_SCAN };
int cache_stats(struct slab_cache *cache, struct inspect_cache *room, enum stats_need need);

#endif /* SLAB_STATS_ATTRIBUTES_H */
