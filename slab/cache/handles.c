/* SPDX-License-Identifier: MIT */
/*
 * Handles of destroyed caches wait in a queue of FREE_CACHES_KEPT entries before they are reused.
 */
#include "cache/handles.h"

#include <string.h>

#include "core/cache.h"
#include "pages/os.h"
#include "pages/topology.h"

/* Destroyed caches, oldest first. */
static struct slab_cache *free_caches, **free_caches_end = &free_caches;
static unsigned free_cache_count;

static size_t cache_bytes(void)
{
	return sizeof(struct slab_cache) + topology_nodes() * sizeof(struct cache_node);
}

struct slab_cache *cache_memory(void)
{
	struct slab_cache *cache = free_caches;
	struct counter_table *counters;
	char(*alias)[SLAB_MAX_NAME + 1];

	if (free_cache_count <= FREE_CACHES_KEPT)
		return os_map(cache_bytes(), 1);
	free_caches = cache->next;
	free_cache_count--;
	alias = cache->alias;
	counters = cache->counters;
	memset(cache, 0, cache_bytes());
	cache->alias = alias;
	cache->counters = counters;
	return cache;
}

void cache_memory_free(struct slab_cache *cache)
{
	cache->magic = 0;
	cache->slots = cache->cpu_slots = cache->rcu_slots = cpu_slots_none();
	cache->rcu_lifos = cpu_slots_none();
	cache->rcu_max = 0;
	cache->next = NULL;
	*free_caches_end = cache;
	free_caches_end = &cache->next;
	free_cache_count++;
}
