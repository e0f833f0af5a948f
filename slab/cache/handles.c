/* SPDX-License-Identifier: MIT */
/*
 * Handles of destroyed caches wait in a queue of FREE_CACHES_KEPT entries before they are reused.
 */
#include "cache/handles.h"

#include <string.h>

#include "base/compiler.h"
#include "core/cache.h"
#include "pages/os.h"
#include "pages/topology.h"

/* Destroyed caches, oldest first. */
static SLAB_EARLY struct slab_cache *free_caches;
static struct slab_cache **free_caches_end = &free_caches;
static SLAB_EARLY unsigned free_cache_count;

static size_t cache_bytes(void)
{
	return sizeof(struct slab_cache) + topology_nodes() * sizeof(struct cache_node);
}

/* A handle with the magazines of its nodes, which take memory when they are first used. */
static struct slab_cache *map_cache(void)
{
	const size_t magazines = (size_t)topology_nodes() * MAGAZINES_MAX;

	return os_map(cache_bytes() + magazines * sizeof(struct magazine), 1);
}

static void place_magazines(struct slab_cache *cache)
{
	struct magazine *magazine = (struct magazine *)((char *)cache + cache_bytes());

	for (unsigned n = 0; n < topology_nodes(); n++)
		cache->node[n].magazine = magazine + (size_t)n * MAGAZINES_MAX;
}

static struct slab_cache *reuse_cache(void)
{
	struct slab_cache *cache = free_caches;
	char(*alias)[SLAB_MAX_NAME + 1] = cache->alias;
	struct counter_table *counters = cache->counters;

	free_caches = cache->next;
	free_cache_count--;
	memset(cache, 0, cache_bytes());
	cache->alias = alias;
	cache->counters = counters;
	return cache;
}

struct slab_cache *cache_memory(void)
{
	struct slab_cache *cache =
		free_cache_count > FREE_CACHES_KEPT ? reuse_cache() : map_cache();

	if (cache)
		place_magazines(cache);
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
