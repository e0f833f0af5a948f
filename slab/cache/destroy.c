/* SPDX-License-Identifier: MIT */
/*
 * Destruction of caches: refused while objects are in use, after what waits for a
 * grace period has gone, and after all threads that act on the cache without the
 * registry's lock. Of a merged cache only a name goes. A handle that was destroyed is
 * known by the registry, so a second destruction is an error and no crash.
 *
 * The thread that destroys a cache marks it `dying` and pins it, both under registry_lock,
 * when no other thread has pinned it. From then on no other thread can pin it or merge with
 * it, and the rest needs no registry_lock: destructors run, and leaks are reported, while
 * other threads create and destroy caches, and fork. The cache stays registered to the end.
 * So a fork takes its locks, and the child, which lacks the destroying thread, has an
 * ordinary cache again. slabinfo shows the cache, its name stays taken, and a refused
 * destruction has nothing to put back.
 */
#include <errno.h>
#include <pthread.h>

#include "alloc/alloc.h"
#include "base/cancel.h"
#include "base/error.h"
#include "cache/create.h"
#include "cache/handles.h"
#include "cache/merge.h"
#include "core/isolated.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "pages/topology.h"
#include "rcu/free_rcu.h"
#include "registry/count_window.h"
#include "registry/name_table.h"
#include "registry/registry.h"
#include "registry/reserve.h"
#include "stats/counters_attach.h"

static bool waits(const struct slab_cache *cache)
{
	return cache_is_registered(cache) && cache->rcu &&
	       __atomic_load_n(&cache->memory.rcu_pending, __ATOMIC_ACQUIRE);
}

/* Take registry_lock when nothing waits for a grace period, and no thread acts on the cache
 * without the lock, which might give it something that does. 0 or -errno. */
static int lock_for_destruction(struct slab_cache *cache)
{
	int error;

	do {
		/* Readers may be waiting for the lock. */
		if (cache->magic == CACHE_MAGIC && cache->rcu && rcu_drain(cache) != 0)
			return -errno;
		pthread_mutex_lock(&registry_lock);
		error = cache_is_registered(cache) ? pin_wait(cache) : 0;
		/* A thread that had pinned it may have freed something that waits. */
		if (!error && waits(cache)) {
			pthread_mutex_unlock(&registry_lock);
			error = EAGAIN;
		}
	} while (error == EAGAIN);
	return with_errno(-error);
}

static bool drop_alias(struct slab_cache *cache)
{
	if (cache->refs == 1)
		return false;
	cache->refs--;
	name_table_remove(cache->alias[cache->aliases - 1], cache);
	registry_write_begin();
	cache->aliases--;
	registry_write_end();
	return true;
}

/* Debug slabs, legacy slabs, and, in the child of a fork, slabs that
 * a thread of its parent had isolated. */
static void release_rest(struct slab *slab, void *arg)
{
	debug_slab_unlist(arg, slab);
	slab_withdraw(slab);
	slab_release(arg, slab);
}

static bool release_some(struct slab_cache *cache, unsigned n)
{
	struct slab *slabs;

	flush_lock(cache);
	slabs = node_take(cache, n, ISOLATE_MAX);
	node_release(cache, slabs);
	flush_unlock(cache);
	return slabs;
}

/* No object is in use any more: give all slabs back. Destructors run when the lock is free,
 * so that what a fork finds is whole. */
static void release_all(struct slab_cache *cache)
{
	for (unsigned n = 0; n < topology_nodes(); n++)
		while (release_some(cache, n))
			;
	flush_each_slab(cache, FLUSH_LOCK_WAIT, release_rest, cache);
}

static void count_used(struct slab *slab, void *arg)
{
	unsigned used = 0;

	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG)) {
		slab_collect(slab);
		*(unsigned *)arg += !slab_is_empty(slab);
		return;
	}
	if (slab_is_legacy(slab))
		legacy_collect(slab);
	for (unsigned i = 0; i < slab->initialized; i++)
		used += debug_is_allocated(slab, i);
	*(unsigned *)arg += used;
}

/* Are objects in use, behind what is on its way? */
static bool is_used(struct slab_cache *cache)
{
	unsigned used = 0;

	reserve_empty(cache);
	cache_flush(cache);
	guard_flush(cache);
	flush_each_slab(cache, FLUSH_LOCK_WAIT, count_used, &used);
	return used;
}

enum { LAST_NAME, OTHER_NAMES };

/* Of a cache with other names one goes; otherwise the cache is this thread's. Or -errno. */
static int begin(struct slab_cache *cache)
{
	int result = LAST_NAME;

	if (lock_for_destruction(cache) != 0)
		return -errno;
	if (!cache_is_registered(cache) || cache->by_size)
		result = -EINVAL;
	else if (drop_alias(cache))
		result = OTHER_NAMES;
	else
		pin_dying(cache, true);
	pthread_mutex_unlock(&registry_lock);
	return result;
}

static void give_up(struct slab_cache *cache)
{
	pthread_mutex_lock(&registry_lock);
	pin_dying(cache, false);
	pthread_mutex_unlock(&registry_lock);
}

/* Nothing of it is left but itself. With registry_lock. */
static void remove_cache(struct slab_cache *cache)
{
	count_close(cache);
	counters_detach(cache);
	merge_remove(cache);
	registry_remove(cache);
	for (unsigned n = 0; n < topology_nodes(); n++)
		pthread_mutex_destroy(&cache->node[n].lock);
	cpu_slots_destroy(cache->cpu_slots);
	reserve_destroy(cache);
	if (cache->rcu)
		rcu_destroy(cache->rcu);
	pthread_mutex_destroy(&cache->flush_lock);
	pin_dying(cache, false);
	cache_memory_free(cache);
}

static void end(struct slab_cache *cache)
{
	sample_set(cache, 0);
	release_all(cache);
	if (cache->rcu)
		rcu_stop(cache->rcu);
	cpu_slots_touch(cache->cpu_slots);
	if (cache->rcu)
		cpu_slots_touch(cache->rcu_slots);
	pthread_mutex_lock(&registry_lock);
	remove_cache(cache);
	pthread_mutex_unlock(&registry_lock);
}

static int destroy(struct slab_cache *cache, const void *caller)
{
	int result = begin(cache);

	if (result != LAST_NAME)
		return result == OTHER_NAMES ? 0 : result;
	if (!is_used(cache)) {
		end(cache);
		return 0;
	}
	cache_report_leaks(cache);
	reserve_refill(cache, caller);
	give_up(cache);
	return -EBUSY;
}

int slab_cache_destroy(struct slab_cache *cache)
{
	int cancel, error;

	if (!cache)
		return 0;
	cancel = cancel_disable();
	error = destroy(cache, __builtin_return_address(0));
	cancel_restore(cancel);
	return with_errno(error);
}
