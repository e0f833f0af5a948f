/* SPDX-License-Identifier: MIT */
/*
 * Closing the arrays of caches: how a thread gets at the free objects that CPUs hold.
 *
 * While a cache is closed its pointers lead to cpu_arrays_none(), so every section of it misses,
 * and threads allocate and free through the shards. One fence serves any number of caches. Two
 * rules keep this right: the count of an array is 0 before its objects reach their slabs, and
 * nobody judges an entry of an array but in a section that reads the cache's pointer, or while the
 * cache is closed.
 *
 * Several threads may close a cache at the same time: each fences for itself, and the last one
 * opens it. Each step takes flush_lock, and no lock is held over the fence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/shard.h"

/* Create the arrays of a new cache, short ones; destroy them. */
bool arrays_create(struct slab_cache *cache);
void arrays_destroy(struct slab_cache *cache);

/*
 * caches_drain: close caches with one fence for all of them, move what CPUs and magazines hold to
 * the slabs, call fn for each cache, unless it is NULL, and open them. bad[i] gets the bad objects
 * of cache i, which this function reports. Returns the number of objects that were moved; -1: the
 * kernel refuses the fence, and nothing was done. The caller holds no lock. `fn` may take
 * flush_lock.
 *
 * cache_drain: the same for one cache.
 */
typedef void closed_fn(struct slab_cache *cache, void *arg);
long caches_drain(struct slab_cache *const caches[], unsigned n, struct put_bad bad[],
		  closed_fn *fn, void *arg);
long cache_drain(struct slab_cache *cache, closed_fn *fn, void *arg);

/* --- the steps ----------------------------------------------------------------------------- */

/* Point a cache to the empty arrays. */
void close_begin(struct slab_cache *cache);
/* false: the kernel refuses, so the arrays of other CPUs must stay as they are. */
bool close_fence(void);
/* Move the objects of all CPUs and magazines to their slabs, one array at a time. Returns the
 * number of objects; adds the bad ones to *ret_bad. */
size_t close_drain(struct slab_cache *cache, struct put_bad *ret_bad);
/* The same for one CPU. */
size_t close_drain_cpu(struct slab_cache *cache, int cpu, struct put_bad *ret_bad);
/* Let sections use the arrays again, unless another thread has closed the cache, too. */
void close_end(struct slab_cache *cache);
/* In the child of a fork: the threads that had closed the cache do not exist there. */
void closing_after_fork_child(struct slab_cache *cache);

/* --- looks, at any time ------------------------------------------------------------------- */

/* The number of objects in the arrays of all CPUs, in those of objects that wait for a grace
 * period, and in all magazines. */
size_t arrays_objects(const struct slab_cache *cache);
size_t waiting_objects(const struct slab_cache *cache);
size_t magazines_objects(const struct slab_cache *cache);
/* A hash of the state of all CPUs in a cache. It changes when a CPU uses the cache. *ret_holds:
 * CPUs or magazines hold objects of the cache. */
uint64_t cpu_use_trace(const struct slab_cache *cache, bool *ret_holds);
