/* SPDX-License-Identifier: MIT */
/* What an entry cache counts: all at once, or by name. */
#include "cache.h"

#include <errno.h>
#include <string.h>

static void read_lookups(const struct dirsrv_entry_cache *cache,
			 struct dirsrv_entry_cache_stats *stats)
{
	for (unsigned cpu = 0; cpu < cache->cpus; cpu++) {
		stats->hits += __atomic_load_n(&cache->lookups[cpu].hits, __ATOMIC_RELAXED);
		stats->misses += __atomic_load_n(&cache->lookups[cpu].misses, __ATOMIC_RELAXED);
	}
}

int dirsrv_entry_cache_stats_read(struct dirsrv_entry_cache *cache,
				  struct dirsrv_entry_cache_stats *stats)
{
	if (stats->struct_size != sizeof(*stats))
		return -EINVAL;
	pthread_mutex_lock(&cache->pool->lock);
	*stats = (struct dirsrv_entry_cache_stats){
		.struct_size = sizeof(*stats),
		.limit = cache->limit,
		.entries = cache_entries(cache),
		.bytes = cache_bytes(cache),
		.small_entries = cache->policy.small.entries,
		.small_bytes = cache->policy.small.bytes,
		.inserts = cache->inserts,
		.returns = cache->returns,
		.replaces = cache->replaces,
		.removes = cache->removes,
		.evicts = cache->evicts,
		.reclaims = cache->reclaims,
		.moves = cache->moves,
		.pending = dirsrv_entry_pool_pending(cache->pool),
	};
	pthread_mutex_unlock(&cache->pool->lock);
	read_lookups(cache, stats);
	return 0;
}

#define NUMBER(member) {#member, offsetof(struct dirsrv_entry_cache_stats, member)}

static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	NUMBER(limit),       NUMBER(entries),  NUMBER(bytes),   NUMBER(small_entries),
	NUMBER(small_bytes), NUMBER(hits),     NUMBER(misses),  NUMBER(inserts),
	NUMBER(returns),     NUMBER(replaces), NUMBER(removes), NUMBER(evicts),
	NUMBER(reclaims),    NUMBER(moves),    NUMBER(pending),
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

_Static_assert(sizeof(struct dirsrv_entry_cache_stats) ==
		       sizeof(size_t) + NUMBERS * sizeof(uint64_t),
	       "every number has a name");

const char *dirsrv_entry_cache_stat_name(unsigned i)
{
	return i < NUMBERS ? numbers[i].name : NULL;
}

int dirsrv_entry_cache_stat_read(struct dirsrv_entry_cache *cache, const char *name,
				 uint64_t *value)
{
	struct dirsrv_entry_cache_stats stats = {.struct_size = sizeof(stats)};

	for (unsigned i = 0; i < NUMBERS; i++) {
		if (strcmp(numbers[i].name, name) != 0)
			continue;
		dirsrv_entry_cache_stats_read(cache, &stats);
		memcpy(value, (const char *)&stats + numbers[i].offset, sizeof(*value));
		return 0;
	}
	return -ENOENT;
}
