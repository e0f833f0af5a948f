/* SPDX-License-Identifier: MIT */
/*
 * Closing the arrays of caches: how a thread gets at the free objects that CPUs hold.
 *
 * While a cache is closed its pointers lead to cpu_arrays_none(), so every section of it misses, and
 * threads allocate and free through the shards. One fence serves any number of caches. Two rules keep
 * this right: the count of an array is 0 before its objects reach their slabs, and nobody judges an
 * entry of an array but in a section that reads the cache's pointer, or while the cache is closed.
 *
 * All functions run under the flush_lock of their caches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/flush_lock.h"
#include "core/shard.h"

/* Create the arrays of a new cache, short ones; destroy them. The caller holds registry_lock. */
bool arrays_create(struct slab_cache *cache);
void arrays_destroy(struct slab_cache *cache);

/* close_begin() points a cache to the empty arrays. After it, for any number of caches, one
 * close_fence(). false: the kernel refuses the fence, so the arrays of other CPUs must stay as they are:
 * the caller opens the caches again. */
void close_begin(struct slab_cache *cache);
bool close_fence(void);
/* After the fence: move the objects of all CPUs and magazines to their slabs. Returns the number of
 * objects. Bad ones are added to *ret_bad for a report after flush_unlock(). */
size_t close_drain(struct slab_cache *cache, struct put_bad *ret_bad);
/* The same for one CPU. */
size_t close_drain_cpu(struct slab_cache *cache, int cpu, struct put_bad *ret_bad);
/* Let sections use the arrays again. */
void close_end(struct slab_cache *cache);

/* Close, drain and open. false: the fence was refused. */
bool cache_drain(struct slab_cache *cache, struct put_bad *ret_bad);

/* --- without flush_lock: these take it ---------------------------------------------------- */

/* cache_drain(), then release the empty slabs but for min_partial of each shard, and report bad objects.
 * Returns the number of released slabs. */
unsigned cache_flush(struct slab_cache *cache);
/* The same with flush_lock taken as `how` says. false: the lock was not free in time, or the fence was
 * refused. */
bool cache_flush_as(struct slab_cache *cache, enum flush_lock_mode how, unsigned *ret_released);

/* --- looks, at any time ------------------------------------------------------------------- */

/* Does this CPU hold objects of the cache? */
bool cpu_holds(const struct slab_cache *cache, unsigned cpu);
/* The number of objects in the arrays of all CPUs, in those of objects that wait for a grace period, and
 * in all magazines. */
size_t arrays_objects(const struct slab_cache *cache);
size_t waiting_objects(const struct slab_cache *cache);
size_t magazines_objects(const struct slab_cache *cache);
/* A hash of the state of all CPUs in a cache. It changes when a CPU uses the cache. *ret_holds: CPUs or
 * magazines hold objects of the cache. */
uint64_t cpu_use_trace(const struct slab_cache *cache, bool *ret_holds);
