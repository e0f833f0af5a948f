/* SPDX-License-Identifier: MIT */
/*
 * flush_lock, and slabs that are being purged.
 *
 * A mutex lets the thread that unlocks it relock it before a waiting thread wakes up. So
 * flush_lock() first waits, for a bounded time, until no urgent thread wants the lock
 * (cache->waiting).
 */
#include "core/flush_lock.h"
#include "base/clock.h"
#include "core/shard.h"
#include "core/slab.h"

/* How long a thread lets urgent threads go first, and waits for pages: about 10 ms. */
#define STEPS 100u
#define STEP_NS 100000L
#define PURGE_TRIES 2u

static bool is_purging(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->nr_purging, __ATOMIC_RELAXED);
}

static bool has_waiters(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->waiting, __ATOMIC_RELAXED);
}

void flush_lock(struct slab_cache *cache)
{
	for (unsigned steps = STEPS; steps && has_waiters(cache); steps--)
		clock_sleep(STEP_NS);
	GUARD_STEP(flush_lock, pthread_mutex_lock(&cache->flush_lock));
	flush_hold_begin();
}

bool flush_lock_try(struct slab_cache *cache)
{
	if (has_waiters(cache) || pthread_mutex_trylock(&cache->flush_lock) != 0)
		return false;
	flush_hold_begin();
	return true;
}

void flush_lock_urgent(struct slab_cache *cache)
{
	__atomic_fetch_add(&cache->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&cache->flush_lock);
	__atomic_fetch_sub(&cache->waiting, 1, __ATOMIC_RELAXED);
}

void flush_unlock(struct slab_cache *cache)
{
	flush_hold_end();
	pthread_mutex_unlock(&cache->flush_lock);
	release_leaving(cache);
}

/* --- slabs whose pages are returned ------------------------------------------------ */

static void count_purging(struct slab_cache *cache, unsigned n)
{
	__atomic_store_n(&cache->nr_purging, cache->nr_purging + n, __ATOMIC_RELAXED);
}

void purge_begin(struct slab_cache *cache, struct slab *slab)
{
	GUARD_STEP(purge_queue, queue_add_tail(&cache->purging, slab));
	count_purging(cache, 1);
}

static void put_back(struct slab *slab)
{
	struct shard *shard = shard_lock_of(slab);

	slab_put_on(shard, slab);
	cpu_lock_drop(&shard->lock);
}

void purge_end(struct slab_cache *cache, struct slab *slab)
{
	queue_remove(&cache->purging, slab);
	count_purging(cache, -1u);
	put_back(slab);
}

static void purge_wait(const struct slab_cache *cache)
{
	for (unsigned steps = STEPS; steps && is_purging(cache); steps--)
		clock_sleep(STEP_NS);
}

void flush_lock_purged(struct slab_cache *cache)
{
	/* This keeps walks from starting another piece. A walk that waits for the lock already may
	 * still run one. */
	__atomic_fetch_add(&cache->waiting, 1, __ATOMIC_RELAXED);
	for (unsigned tries = PURGE_TRIES;; tries--) {
		pthread_mutex_lock(&cache->flush_lock);
		if (!is_purging(cache) || !tries)
			break;
		pthread_mutex_unlock(&cache->flush_lock);
		purge_wait(cache);
	}
	flush_hold_begin();
	__atomic_fetch_sub(&cache->waiting, 1, __ATOMIC_RELAXED);
}

void purge_after_fork_child(struct slab_cache *cache)
{
	shard_each (shard, cache)
		shard->walks = NULL;
	while (cache->purging.first)
		purge_end(cache, cache->purging.first);
}

/* --- walks -------------------------------------------------------------------------- */

struct each {
	struct slab_cache *cache;
	void (*fn)(struct slab *, void *);
	void *arg;
};

static void call_locked(struct slab *slab, void *arg)
{
	struct each *each = arg;

	flush_lock(each->cache);
	each->fn(slab, each->arg);
	flush_unlock(each->cache);
}

void flush_each_slab(struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg)
{
	struct each each = {.cache = cache, .fn = fn, .arg = arg};

	cache_each_slab(cache, call_locked, &each);
}
