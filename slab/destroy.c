/* SPDX-License-Identifier: MIT */
/*
 * Destruction of caches: refused while objects are in use, after what waits for a
 * grace period has gone, and after everybody who acts on the cache without the
 * registry's lock. Of a merged cache only a name goes. A handle that was destroyed is
 * told by the registry, so a second destruction is an error and no crash.
 */
#include <errno.h>

#include "cache_rcu.h"
#include "count.h"
#include "counters.h"
#include "debug_cache.h"
#include "guard.h"
#include "pin.h"
#include "registry.h"
#include "report.h"
#include "reserve.h"
#include "root.h"

static int fail(int error)
{
	errno = error;
	return -error;
}

bool cache_is_registered(const struct slab_cache *cache)
{
	const struct slab_cache *c = registry_first;

	while (c && c != cache)
		c = c->next;
	return c != NULL;
}

static bool waits(const struct slab_cache *cache)
{
	return cache_is_registered(cache) && cache->rcu &&
	       __atomic_load_n(&cache->memory.rcu_pending, __ATOMIC_ACQUIRE);
}

/* Take registry_lock when nothing waits for a grace period, and nobody acts on the cache
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
		/* Who had pinned it may have given it something to wait for. */
		if (!error && waits(cache)) {
			pthread_mutex_unlock(&registry_lock);
			error = EAGAIN;
		}
	} while (error == EAGAIN);
	return error ? fail(error) : 0;
}

static bool drop_alias(struct slab_cache *cache)
{
	if (cache->refs == 1)
		return false;
	cache->refs--;
	root_registry_begin();
	cache->aliases--;
	root_registry_end();
	return true;
}

/* Damaged slabs, what drained a moment ago, and, in the child of a fork, slabs that
 * a thread of its parent had in hand. */
static void release_rest(struct slab *slab, void *arg)
{
	slab_withdraw(slab);
	slab_release(arg, slab);
}

/* No object is in use any more: give all slabs back. */
static void release_all(struct slab_cache *cache)
{
	for (unsigned n = 0; n < topology_nodes(); n++) {
		struct slab *slab = node_take(cache, n, NODE_ALL), *next;

		for (; slab; slab = next) {
			next = slab->next;
			slab_release(cache, slab);
		}
	}
	cache_each_slab(cache, release_rest, cache);
	for (unsigned n = 0; n < topology_nodes(); n++)
		pthread_mutex_destroy(&cache->node[n].lock);
}

static void count_used(struct slab *slab, void *arg)
{
	unsigned used = 0;

	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG)) {
		slab_collect(slab);
		*(unsigned *)arg += !slab_is_empty(slab);
		return;
	}
	if (slab_drains(slab))
		drain_collect(slab);
	for (unsigned i = 0; i < slab->carved; i++)
		used += debug_is_allocated(slab, i);
	*(unsigned *)arg += used;
}

int slab_cache_destroy(struct slab_cache *cache)
{
	unsigned used = 0;
	uint64_t flags;

	if (!cache)
		return 0;
	if (lock_for_destruction(cache) != 0)
		return -errno;
	if (!cache_is_registered(cache) || cache->by_size) {
		pthread_mutex_unlock(&registry_lock);
		return fail(EINVAL);
	}
	if (drop_alias(cache)) {
		pthread_mutex_unlock(&registry_lock);
		return 0;
	}
	/* No reader can have found an object since the grace period of rcu_drain(). */
	flags = cache->flags;
	cache->flags &= ~SLAB_TYPESAFE_BY_RCU;
	reserve_empty(cache);
	cache_flush(cache);
	guard_flush(cache);
	cache_each_slab(cache, count_used, &used);
	if (used) {
		cache_report_leaks(cache);
		cache->flags = flags;
		pthread_mutex_unlock(&registry_lock);
		reserve_refill(cache, __builtin_return_address(0));
		return fail(EBUSY);
	}
	sample_set(cache, 0);
	count_close(cache);
	counters_detach(cache);
	registry_remove(cache);
	release_all(cache);
	cpu_slots_destroy(cache->cpu_slots);
	reserve_destroy(cache);
	if (cache->rcu)
		rcu_destroy(cache->rcu);
	pthread_mutex_destroy(&cache->flush_lock);
	cache_memory_free(cache);
	pthread_mutex_unlock(&registry_lock);
	return 0;
}
