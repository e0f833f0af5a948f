/* SPDX-License-Identifier: MIT */
/* The numbers of an entry cache. */
#include "entry_cache_internal.h"

#include <errno.h>

/* Under the lock, which the counters of lookups do without. */
static void read_all(const struct dirsrv_entry_cache *cache, struct dirsrv_entry_cache_stats *stats)
{
	*stats = (struct dirsrv_entry_cache_stats){
		.struct_size = sizeof(*stats),
		.limit = cache->limit,
		.entries = cache_entries(cache),
		.bytes = cache_bytes(cache),
		.small_entries = cache->policy.small.entries,
		.small_bytes = cache->policy.small.bytes,
		.inserts = cache->inserts,
		.returns = cache->returns,
		.removes = cache->removes,
		.evicts = cache->evicts,
		.reclaims = cache->reclaims,
		.moves = cache->moves,
		.pending = dirsrv_entry_pool_pending(cache->pool),
	};
	for (unsigned cpu = 0; cpu < cache->cpus; cpu++) {
		const struct lookups *lookups = &cache->lookups[cpu];

		stats->hits += __atomic_load_n(&lookups->hits, __ATOMIC_RELAXED);
		stats->misses += __atomic_load_n(&lookups->misses, __ATOMIC_RELAXED);
	}
}

int dirsrv_entry_cache_stats_read(struct dirsrv_entry_cache *cache,
				  struct dirsrv_entry_cache_stats *stats)
{
	if (stats->struct_size != sizeof(*stats))
		return -EINVAL;
	pthread_mutex_lock(&cache->pool->lock);
	read_all(cache, stats);
	pthread_mutex_unlock(&cache->pool->lock);
	return 0;
}
