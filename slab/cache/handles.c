/* SPDX-License-Identifier: MIT */
/*
 * Memory of handles. Handles with their nodes are mapped in blocks, one handle directly behind the
 * other; behind the last handle of a block are the rests of its nodes, which most caches never use.
 *
 * Handles of destroyed caches wait in a queue of FREE_CACHES_KEPT entries before they are reused.
 */
#include "cache/handles.h"

#include <string.h>

#include "base/compiler.h"
#include "core/cache.h"
#include "pages/os.h"
#include "pages/topology.h"

#define BLOCK_HANDLES 32u
#define BLOCK_HANDLES_SHORT 4u /* where space is short */

/* What is left of the block that was mapped last. */
static SLAB_EARLY char *next_handle;
static SLAB_EARLY struct node_rest *next_rest;
static SLAB_EARLY unsigned handles_left;

/* Destroyed caches, oldest first. */
static SLAB_EARLY struct slab_cache *free_caches;
static struct slab_cache **free_caches_end = &free_caches;
static SLAB_EARLY unsigned free_cache_count;

static size_t cache_bytes(void)
{
	return sizeof(struct slab_cache) + topology_nodes() * sizeof(struct cache_node);
}

static bool map_block(void)
{
	const unsigned n = cpu_space_is_short() ? BLOCK_HANDLES_SHORT : BLOCK_HANDLES;
	const size_t handles = n * cache_bytes();
	const size_t rests = (size_t)n * topology_nodes() * sizeof(struct node_rest);
	char *block = os_map(handles + rests, 1);

	if (!block)
		return false;
	next_handle = block;
	next_rest = (struct node_rest *)(block + handles);
	handles_left = n;
	return true;
}

static void place_rests(struct slab_cache *cache, struct node_rest *rest)
{
	for (unsigned n = 0; n < topology_nodes(); n++)
		cache->node[n].rest = rest + n;
}

static struct slab_cache *new_cache(void)
{
	struct slab_cache *cache;

	if (!handles_left && !map_block())
		return NULL;
	cache = (struct slab_cache *)next_handle;
	place_rests(cache, next_rest);
	next_handle += cache_bytes();
	next_rest += topology_nodes();
	handles_left--;
	return cache;
}

static struct slab_cache *reuse_cache(void)
{
	struct slab_cache *cache = free_caches;
	char(*alias)[SLAB_MAX_NAME + 1] = cache->alias;
	struct node_rest *rest = cache->node[0].rest;

	free_caches = cache->next;
	free_cache_count--;
	memset(cache, 0, cache_bytes());
	cache->alias = alias;
	place_rests(cache, rest);
	return cache;
}

struct slab_cache *cache_memory(void)
{
	return free_cache_count > FREE_CACHES_KEPT ? reuse_cache() : new_cache();
}

void cache_memory_free(struct slab_cache *cache)
{
	cache->magic = 0; /* before the link goes: an inspection looks at it afterwards */
	cache->slots = cache->cpu_slots = cpu_slots_none();
	cache->lifos = cache->rcu_lifos = cpu_slots_none();
	cache->rcu_max = 0;
	__atomic_store_n(&cache->next, NULL, __ATOMIC_RELEASE);
	*free_caches_end = cache;
	free_caches_end = &cache->next;
	free_cache_count++;
}
