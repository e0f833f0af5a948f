/* SPDX-License-Identifier: MIT */
/* The functions of libslab that libslab_dirsrv and its programs call, on malloc(). */
#include "malloc_side.h"

#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/rcu.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <urcu/flavor.h>
#include <urcu/urcu-memb.h>

/* --- memory by size ------------------------------------------------------------------------- */

void *slab_malloc(size_t size)
{
	return malloc(size);
}

void *slab_calloc(size_t n, size_t size)
{
	return calloc(n, size);
}

void *slab_realloc(void *block, size_t size)
{
	return realloc(block, size);
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

/* --- objects -------------------------------------------------------------------------------- */

/*
 * Caches: an object is a malloc() and its constructor. There are no limits and no reserves.
 *
 * malloc() aligns to 16 bytes, which is enough for all objects here; a larger alignment of a
 * cache is for speed, and posix_memalign() would cost more than it gains.
 */

struct slab_cache {
	size_t size;
	bool zero;
	bool deferred; /* objects have a struct deferred in front */
	struct slab_cache_args args;
};

/* In front of an object that is freed after a grace period. */
struct deferred {
	_Alignas(16) struct rcu_head head;
	struct slab_cache *cache;
};

/* --- caches -------------------------------------------------------------------------- */

struct slab_cache *slab_cache_create_sized(const char *name, size_t size,
					   const struct slab_cache_args *args, size_t args_size,
					   uint64_t flags)
{
	struct slab_cache *cache = calloc(1, sizeof(*cache));

	(void)args_size;
	if (!cache)
		return NULL;
	cache->size = size;
	cache->zero = flags & SLAB_ZERO;
	cache->deferred =
		flags & SLAB_TYPESAFE_BY_RCU && strcmp(name, malloc_side_freed_at_once) != 0;
	if (args)
		cache->args = *args;
	return cache;
}

int slab_rcu_barrier(struct slab_cache *cache)
{
	if (cache->deferred)
		cache->args.rcu->barrier();
	return 0;
}

int slab_cache_destroy(struct slab_cache *cache)
{
	if (cache)
		slab_rcu_barrier(cache);
	free(cache);
	return 0;
}

/* --- objects --------------------------------------------------------------------------- */

static void *allocate(struct slab_cache *cache)
{
	struct deferred *front;

	if (!cache->deferred)
		return cache->zero ? calloc(1, cache->size) : malloc(cache->size);
	front = calloc(1, sizeof(*front) + cache->size);
	if (!front)
		return NULL;
	front->cache = cache;
	return front + 1;
}

static void destruct(struct slab_cache *cache, void *object)
{
	if (cache->args.dtor)
		cache->args.dtor(object, cache->args.arg);
}

static struct deferred *front_of(void *object)
{
	return (struct deferred *)object - 1;
}

static void free_deferred(struct rcu_head *head)
{
	struct deferred *front = (struct deferred *)head; /* its first member */

	destruct(front->cache, front + 1);
	free(front);
}

void *slab_alloc(struct slab_cache *cache)
{
	const bool deferred = cache->deferred;
	void *object = allocate(cache);

	if (!object || !cache->args.ctor || !cache->args.ctor(object, cache->args.arg))
		return object;
	free(deferred ? (void *)front_of(object) : object);
	return NULL;
}

void *slab_zalloc(struct slab_cache *cache)
{
	void *object = slab_alloc(cache);

	return object ? memset(object, 0, cache->size) : NULL;
}

void slab_free(struct slab_cache *cache, void *object)
{
	if (!object)
		return;
	if (cache->deferred) {
		cache->args.rcu->update_call_rcu(&front_of(object)->head, free_deferred);
		return;
	}
	destruct(cache, object);
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

int slab_cache_stats(struct slab_cache *cache, struct slab_stats *stats)
{
	*stats = (struct slab_stats){
		.struct_size = stats->struct_size,
		.object_size = cache->size,
	};
	return 0;
}

/* --- statistics ----------------------------------------------------------------------------- */

const char *slab_version(void)
{
	return SLAB_VERSION;
}

/* It gives the end of its heap back by itself, and nothing else. */
size_t slab_trim(void)
{
	return 0;
}

/* There are no reclaim functions to call: no allocation waits for them. */
size_t slab_reclaim(size_t bytes)
{
	(void)bytes;
	return 0;
}

int slab_set_limit(size_t bytes)
{
	return bytes ? -ENOTSUP : 0;
}

size_t slab_limit(void)
{
	return 0;
}

int slab_for_each_cache(int (*fn)(struct slab_cache *cache, void *arg), void *arg)
{
	(void)fn;
	(void)arg;
	return 0;
}

const char *slab_cache_name(const struct slab_cache *cache)
{
	(void)cache;
	return "";
}

int slab_process_stats(struct slab_process_stats *stats)
{
	*stats = (struct slab_process_stats){
		.struct_size = stats->struct_size,
		.engine = "malloc",
	};
	return 0;
}

const char *slab_stat_name(unsigned i)
{
	(void)i;
	return NULL;
}

int slab_stat_read(struct slab_cache *cache, const char *name, uint64_t *value)
{
	(void)cache;
	(void)name;
	(void)value;
	return -ENOENT;
}
