/* SPDX-License-Identifier: MIT */
/*
 * The malloc side: the functions of libslab that libslab_dirsrv and the directory call,
 * as a server has them before it has caches. An object is a malloc() and its constructor,
 * memory by size is malloc() itself. There is nothing to look at.
 *
 * SLAB_TYPESAFE_BY_RCU is left out, to malloc's advantage: operations are freed at once,
 * and not after a grace period. It is safe here, since no thread looks for an operation
 * after its listener has given it up.
 */
#include "memory.h"
#include "result.h"

#include <slab/memory.h>
#include <slab/rcu.h>
#include <slab/stats.h>
#include <stdio.h>
#include <stdlib.h>

const char memory_name[] = "malloc";
const bool memory_is_malloc = true;

struct slab_cache {
	size_t size;
	struct slab_cache_args args;
};

struct slab_cache *slab_cache_create_sized(const char *name, size_t size,
					   const struct slab_cache_args *args, size_t args_size,
					   uint64_t flags)
{
	struct slab_cache *cache = calloc(1, sizeof(*cache));

	(void)name;
	(void)args_size;
	(void)flags;
	if (!cache)
		return NULL;
	cache->size = size;
	if (args)
		cache->args = *args;
	return cache;
}

int slab_cache_destroy(struct slab_cache *cache)
{
	free(cache);
	return 0;
}

/* malloc() aligns to 16 bytes, which is enough for all objects here. */
void *slab_alloc(struct slab_cache *cache)
{
	void *object = malloc(cache->size);

	if (!object || !cache->args.ctor || !cache->args.ctor(object, cache->args.arg))
		return object;
	free(object);
	return NULL;
}

void slab_free(struct slab_cache *cache, void *object)
{
	if (object && cache->args.dtor)
		cache->args.dtor(object, cache->args.arg);
	free(object);
}

size_t slab_alloc_bulk(struct slab_cache *cache, unsigned flags, size_t n, void **objects)
{
	size_t count = 0;

	(void)flags;
	while (count < n && (objects[count] = slab_alloc(cache)) != NULL)
		count++;
	return count;
}

void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objects)
{
	for (size_t i = 0; i < n; i++)
		slab_free(cache, objects[i]);
}

void *slab_malloc(size_t size)
{
	return malloc(size);
}

void *slab_calloc(size_t n, size_t size)
{
	return calloc(n, size);
}

void *slab_memalign(size_t align, size_t size)
{
	void *block;

	return posix_memalign(&block, align, size) ? NULL : block;
}

void slab_mfree(void *block)
{
	free(block);
}

int slab_rcu_barrier(struct slab_cache *cache)
{
	(void)cache;
	return 0;
}

/* It gives the end of its heap back by itself, and nothing else. */
size_t slab_trim(void)
{
	return 0;
}

/* malloc() does not count objects; the functions report none. */
int slab_cache_stats(struct slab_cache *cache, struct slab_stats *stats)
{
	stats->object_size = cache->size;
	stats->objects = 0;
	return 0;
}

/* Nor is there anybody to show numbers to. */
int slab_cache_attach_counters_sized(struct slab_cache *cache, const struct slab_counter *counters,
				     unsigned n, size_t counter_size)
{
	(void)cache;
	(void)counters;
	(void)n;
	(void)counter_size;
	return 0;
}

void memory_caches(struct result *result)
{
	result->caches = 0;
}

uint64_t memory_pblocks(void)
{
	return 0;
}

size_t memory_object_size(const char *cache)
{
	(void)cache;
	return 0;
}

void memory_exhausted(void)
{
	fprintf(stderr, "directory: out of memory: malloc has no more\n");
	exit(1);
}
