/* SPDX-License-Identifier: MIT */
/*
 * Reserves: objects for work that must not fail (args.reserve).
 *
 * They are allocated when the cache is created, and kept aside, constructed: objects in
 * use for all that works on slabs, so that no thread gives their memory away, whatever
 * becomes of their slabs' debug flags. Only statistics and slab_cache_destroy() know that they
 * are unused. Their list stands in memory that was mapped with them; nothing has to
 * be allocated to take one.
 *
 * An allocation takes one when everything else has failed. From then on the reserve is
 * short, and what can be allocated belongs to it first: its *gate* sends all allocations
 * through the slow path, where each one fills the reserve before it serves itself. So a
 * reserve of N serves N allocations that would have failed, one after the other or from
 * N threads at once, and then as many as memory came free for.
 *
 * A list under a lock of its own, behind which no other is taken. GATE_RESERVE (gate.h) is
 * set under flush_lock: the thread waits for that lock as long as an allocation may. To
 * clear the gate, a thread only tries the lock: the next allocation off the fast path
 * corrects a wrong gate, and while it is set all allocations are off the fast path.
 *
 * In a cache with debug flags a free looks whether the object is in the reserve: it would be
 * a double free, of an object that its slab has for allocated.
 */
#ifndef SLAB_REGISTRY_RESERVE_H
#define SLAB_REGISTRY_RESERVE_H

#include <pthread.h>
#include <stdbool.h>

struct slab_cache;
/* The memory of a new cache's reserve, of memory.reserve objects: false, and ENOMEM. */
bool reserve_map(struct slab_cache *cache);
/* The memory goes; the reserve is empty. */
void reserve_destroy(struct slab_cache *cache);
/* false: it is full. */
bool reserve_put(struct slab_cache *cache, void *obj);
/* NULL: it is empty, or there is none. */
void *reserve_get(struct slab_cache *cache);
/* Set or clear the gate when it is wrong and `lock` takes flush_lock. */
void reserve_update_gate(struct slab_cache *cache, bool (*lock)(pthread_mutex_t *));
/* Are objects missing? */
bool reserve_is_short(const struct slab_cache *cache);
/* Is it in the reserve? */
bool reserve_holds(struct slab_cache *cache, const void *obj);
/* Held over fork. */
void reserve_lock(struct slab_cache *cache);
void reserve_unlock(struct slab_cache *cache);

#endif /* SLAB_REGISTRY_RESERVE_H */
