/* SPDX-License-Identifier: MIT */
/* Objects between a CPU's array and the magazines and shards of its node: the slow halves of
 * allocation and free. The caller holds no lock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/cache.h"

/* An object of this CPU's array; NULL: it has none, or is closed. */
static inline void *cpu_pop(struct slab_cache *cache)
{
	return cpu_engine->pop(&cache->arrays);
}

/*
 * cache_refill: the array is empty: get objects of a magazine or of slabs, of the CPU's node, or
 * else of any, return one of them and put the others into the array. NULL and ENOMEM. Constructors
 * may run.
 */
void *cache_refill(struct slab_cache *cache);
/* Take one object of a node straight from its shards; strict: of no other. NULL and ENOMEM. */
void *node_alloc(struct slab_cache *cache, unsigned node, bool strict);
/*
 * cache_free: the array has refused an object of an ordinary, untagged slab: make room by moving
 * half of the array into a magazine or to the slabs, and push the object; objects of other nodes go
 * to their slabs. Reports a double free; `caller` freed the object.
 */
void cache_free(struct slab_cache *cache, void *obj, const void *caller);
