/* SPDX-License-Identifier: MIT */
/*
 * Destruction of caches.
 *
 * The thread first waits until no object waits for a grace period and no other thread has pinned
 * the cache. Then it refuses to destroy a cache that has objects in use. The registry recognizes
 * destroyed handles, so a second destruction is an error and not a crash.
 *
 * Under registry_lock the thread marks the cache `dying` and pins it. From then on no other
 * thread can pin the cache, and the rest needs no registry_lock: destructors run and leaks are
 * reported while other threads create and destroy caches, and fork. The cache stays
 * registered to the end. So a fork takes its locks, and in the child, where the destroying thread
 * does not exist, it is an ordinary cache again. slabinfo still shows the cache, its name stays in
 * use, and a refused destruction has nothing to undo.
 */

#include "alloc/alloc.h"
#include "base/cancel.h"
#include "base/error.h"
#include "cache/create.h"
#include "core/handles.h"
#include "cache/spaces.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "pages/topology.h"
#include "percpu/closing.h"
#include "rcu/free_rcu.h"
#include "core/count.h"
#include "core/registry.h"
#include "core/reserve.h"
#include "core/shard.h"
#include "core/slab.h"

static bool waits(const struct slab_cache *cache)
{
	return cache_is_registered(cache) && cache->rcu && rcu_has_waiting(cache);
}

/* Take registry_lock at a moment when nothing waits for a grace period and no thread has pinned
 * the cache, since such a thread could free something that waits. Returns 0 or -errno. */
static int lock_for_destruction(struct slab_cache *cache)
{
	int error;

	do {
		/* Without the lock: a reader may wait for it, and delay the grace period. */
		if (cache->magic == CACHE_MAGIC && cache->rcu && rcu_drain(cache) != 0)
			return -errno;
		pthread_mutex_lock(&registry_lock);
		error = cache_is_registered(cache) ? pin_wait(cache) : 0;
		/* A thread that had pinned it may have freed something that waits. */
		if (!error && GUARD_AGAINST(destroy_waits, waits(cache))) {
			pthread_mutex_unlock(&registry_lock);
			error = EAGAIN;
		}
	} while (error == EAGAIN);
	return with_errno(-error);
}

/* Release a slab that cache_release() does not find: a debug slab, or one off the lists, as a
 * legacy slab or what a thread of the parent had taken off before a fork. */
static void release_rest(struct slab *slab, void *arg)
{
	debug_slab_unlist(arg, slab);
	if (slab->debug)
		slab_withdraw(slab);
	slab_release(arg, slab);
}

/* No object is in use: release all slabs. Destructors run with no lock held, so a fork does not
 * wait for them. */
static void release_all(struct slab_cache *cache)
{
	release_leaving(cache);
	cache_release(cache, 0);
	cache_each_slab(cache, release_rest, cache);
}

struct use {
	struct slab_cache *cache;
	unsigned long objects;
};

/* Lost objects of debug slabs, which were damaged, are not in use. */
static void count_used(struct slab *slab, void *arg)
{
	struct use *use = arg;
	const struct debug_lock lock = debug_lock(use->cache, slab);

	if (lock.shard)
		use->objects += slab_user(slab) == use->cache ? slab_used(slab) : 0;
	else if (debug_is_ours(use->cache, slab, &lock))
		for (unsigned i = 0; i < slab->initialized; i++)
			use->objects += debug_is_allocated(slab, i);
	debug_unlock(&lock);
}

/* Are objects in use? First empties what CPUs, the reserve and guarded slabs hold. */
static bool is_used(struct slab_cache *cache)
{
	struct use use = {.cache = cache};

	reserve_empty(cache);
	cache_drain(cache, NULL, NULL);
	guard_flush(cache);
	cache_each_slab(cache, count_used, &use);
	return use.objects;
}

/* Mark the cache as dying, which gives it to this thread. Returns 0, or -errno. */
static int begin(struct slab_cache *cache)
{
	int result = 0;

	if (lock_for_destruction(cache) != 0)
		return -errno;
	if (!cache_is_registered(cache) || cache->by_size || cache->defined)
		result = -EINVAL;
	else
		GUARD_STEP(destroy_dying, pin_dying(cache, true));
	pthread_mutex_unlock(&registry_lock);
	return result;
}

static void give_up(struct slab_cache *cache)
{
	pthread_mutex_lock(&registry_lock);
	pin_dying(cache, false);
	pthread_mutex_unlock(&registry_lock);
}

/* From here on the handle is that of a destroyed cache. Under registry_lock. */
static void unregister(struct slab_cache *cache)
{
	count_close(cache);
	registry_remove(cache);
	cache_mark_destroyed(cache);
	pin_dying(cache, false);
	spaces_put(cache->space);
}

/* What the cache had. A child that is forked meanwhile lacks it. */
static void free_parts(struct slab_cache *cache)
{
	for (unsigned n = 0; n < topology_nodes(); n++)
		pthread_mutex_destroy(&cache->node[n].lock);
	arrays_destroy(cache);
	reserve_destroy(cache);
	if (cache->rcu)
		rcu_destroy(cache->rcu);
	pthread_mutex_destroy(&cache->flush_lock);
}

static void end(struct slab_cache *cache)
{
	sample_set(cache, 0);
	release_all(cache);
	if (cache->rcu)
		GUARD_STEP(destroy_stops, rcu_stop(cache->rcu));
	pthread_mutex_lock(&registry_lock);
	unregister(cache);
	pthread_mutex_unlock(&registry_lock);
	free_parts(cache);
	pthread_mutex_lock(&registry_lock);
	cache_memory_free(cache);
	pthread_mutex_unlock(&registry_lock);
}

static int destroy(struct slab_cache *cache, const void *caller)
{
	int result = begin(cache);

	if (result == -EINVAL && cache->magic == CACHE_DESTROYED_MAGIC)
		debug_report_destroyed(cache, "slab_cache_destroy() of a destroyed cache", NULL,
				       caller);
	if (result != 0)
		return result;
	if (!is_used(cache)) {
		track_fill(&cache->destroyed, caller);
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
