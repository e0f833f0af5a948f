/* SPDX-License-Identifier: MIT */
/*
 * Memory of handles. Handles with their nodes and shards are mapped in blocks, one directly behind
 * the other.
 *
 * Handles of destroyed caches wait in a queue of FREE_CACHES_KEPT entries before they are reused.
 */
#include "core/handles.h"

#include <string.h>

#include "base/compiler.h"
#include "base/range.h"
#include "core/cache.h"
#include "pages/os.h"

#define BLOCK_HANDLES 32u
#define BLOCK_HANDLES_SHORT 4u /* where space is short */

/* Lies at the start of a block. */
struct handles {
	struct handles *older;
	size_t bytes; /* of the block */
};

static SLAB_EARLY struct handles *blocks;

/* What is left of the block that was mapped last. */
static SLAB_EARLY char *next_handle;
static SLAB_EARLY unsigned handles_left;

/* Destroyed caches, oldest first. */
static SLAB_EARLY struct slab_cache *free_caches;
static struct slab_cache **free_caches_end = &free_caches;
static SLAB_EARLY unsigned free_cache_count;

static bool map_block(void)
{
	const unsigned n = cpu_space_is_short() ? BLOCK_HANDLES_SHORT : BLOCK_HANDLES;
	const size_t bytes = CPU_CACHELINE + n * cache_bytes();
	struct handles *block = os_map(bytes, 1);

	if (!block)
		return false;
	*block = (struct handles){blocks, bytes};
	blocks = block;
	next_handle = (char *)block + CPU_CACHELINE;
	handles_left = n;
	return true;
}

static struct slab_cache *new_cache(void)
{
	struct slab_cache *cache;

	if (!handles_left && !map_block())
		return NULL;
	cache = (struct slab_cache *)next_handle;
	next_handle += cache_bytes();
	handles_left--;
	return cache;
}

static struct slab_cache *reuse_cache(void)
{
	struct slab_cache *cache = free_caches;

	free_caches = cache->next;
	free_cache_count--;
	memset(cache, 0, cache_bytes());
	return cache;
}

struct slab_cache *cache_memory(void)
{
	return free_cache_count > FREE_CACHES_KEPT ? reuse_cache() : new_cache();
}

void cache_mark_destroyed(struct slab_cache *cache)
{
	cache->magic = CACHE_DESTROYED_MAGIC;
	cache->alloc_arrays = cache->arrays = cache->rcu_arrays = cpu_arrays_none();
	cache->rcu_max = 0;
}

void cache_memory_free(struct slab_cache *cache)
{
	__atomic_store_n(&cache->next, NULL, __ATOMIC_RELEASE);
	*free_caches_end = cache;
	free_caches_end = &cache->next;
	free_cache_count++;
}

bool handles_have(const char *start, size_t bytes)
{
	for (const struct handles *block = blocks; block; block = block->older)
		if (range_has(block, block->bytes, start, bytes))
			return true;
	return false;
}
