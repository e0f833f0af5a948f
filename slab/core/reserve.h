/* SPDX-License-Identifier: MIT */
/*
 * Reserves: objects for allocations that must not fail (args.reserve).
 *
 * The creation of a cache allocates the objects of its reserve and keeps them, constructed. To
 * all code that works on slabs they are in use, so no thread returns their memory, even if debug
 * flags change. Only statistics and slab_cache_destroy() treat them as unused. Their list is in
 * memory that was mapped at creation, so taking one needs no memory.
 *
 * An allocation takes an object when everything else has failed. Then the reserve is short, and
 * GATE_RESERVE (gate.h) sends all allocations through the slow path. There each allocation
 * refills the reserve before it serves itself. So a reserve of N serves N allocations that would
 * have failed, by one thread or by N threads at once, and afterwards as many as memory came free
 * for.
 *
 * The list has a lock, under which no other lock is taken. The gate changes under flush_lock.
 *
 * In a cache with debug flags a free checks whether the object is in the reserve. If so, it is a
 * double free, although the slab has the object as allocated.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct slab_cache;

/* The store. Its capacity and the number of objects are in cache->memory, for statistics. */
__extension__ struct cache_reserve { /* for C++: a flexible array member */
	pthread_mutex_t lock;
	void *obj[];
};

/* Map the store of a new cache's reserve, for memory.reserve objects. false and ENOMEM: there is
 * no memory. */
bool reserve_map(struct slab_cache *cache);
/* Unmap the store of an empty reserve. */
void reserve_destroy(struct slab_cache *cache);
/* Put an object into the reserve. false: the reserve is full. */
bool reserve_put(struct slab_cache *cache, void *obj);
/* Take an object. NULL: the reserve is empty, or the cache has none. */
void *reserve_get(struct slab_cache *cache);
/* Set or clear the gate if it is wrong. Takes flush_lock. */
void reserve_update_gate(struct slab_cache *cache);
/* Are objects missing in the reserve? */
bool reserve_is_short(const struct slab_cache *cache);
/* Is the object in the reserve? */
bool reserve_holds(struct slab_cache *cache, const void *obj);
/* Do these bytes lie in the store? */
bool reserve_has(const struct slab_cache *cache, const char *start, size_t bytes);
/* A fork holds the reserve's lock. */
void reserve_lock(struct slab_cache *cache);
void reserve_unlock(struct slab_cache *cache);
