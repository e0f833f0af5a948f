/* SPDX-License-Identifier: MIT */
/*
 * Windows of counting. They open and close under flush_lock, which keeps
 * cache->slots and what decides about it together, and which is only tried: a
 * cache that is being flushed is left out, or closes its window a little later.
 */
#include "count.h"

#include "clock.h"
#include "debug_cache.h"

/* The clock is looked at once in so many allocations. */
#define CLOCK_EVERY 64

static unsigned open_windows; /* of all caches */

static bool is_over(const struct count *count, uint64_t now)
{
	return __atomic_load_n(&count->opened, __ATOMIC_RELAXED) &&
	       now >= __atomic_load_n(&count->closes, __ATOMIC_RELAXED);
}

/* Under flush_lock. */
static void set_opened(struct slab_cache *cache, uint64_t time)
{
	__atomic_store_n(&cache->count.opened, time, __ATOMIC_RELAXED);
	cache_update_slots(cache);
}

/* Under flush_lock, which makes this the only writer of the totals. */
static void close_locked(struct slab_cache *cache, uint64_t now)
{
	struct count *count = &cache->count;
	uint64_t us = now - count->opened;

	set_opened(cache, 0);
	__atomic_fetch_add(&count->counted, __atomic_load_n(&count->here, __ATOMIC_RELAXED),
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&count->counted_us, us, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&open_windows, 1, __ATOMIC_RELAXED);
}

void count_close_over(struct slab_cache *cache)
{
	if (!is_over(&cache->count, clock_us()) || pthread_mutex_trylock(&cache->flush_lock) != 0)
		return;
	if (is_over(&cache->count, clock_us()))
		close_locked(cache, clock_us());
	pthread_mutex_unlock(&cache->flush_lock);
}

void count_close(struct slab_cache *cache)
{
	pthread_mutex_lock(&cache->flush_lock);
	if (count_is_open(cache))
		close_locked(cache, clock_us());
	pthread_mutex_unlock(&cache->flush_lock);
}

static void open_locked(struct slab_cache *cache, uint64_t now, unsigned us)
{
	__atomic_store_n(&cache->count.here, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->count.closes, now + us, __ATOMIC_RELAXED);
	__atomic_fetch_add(&open_windows, 1, __ATOMIC_RELAXED);
	set_opened(cache, now);
}

void count_open(struct slab_cache *cache, unsigned us)
{
	uint64_t now;

	if (pthread_mutex_trylock(&cache->flush_lock) != 0)
		return;
	now = clock_us();
	if (is_over(&cache->count, now))
		close_locked(cache, now);
	if (!count_is_open(cache))
		open_locked(cache, now, us);
	pthread_mutex_unlock(&cache->flush_lock);
}

void count_while_open(struct slab_cache *cache, size_t n)
{
	uint64_t before = __atomic_fetch_add(&cache->count.here, n, __ATOMIC_RELAXED);

	if (before / CLOCK_EVERY != (before + n) / CLOCK_EVERY)
		count_close_over(cache);
}

bool count_wants_ticks(void)
{
	return __atomic_load_n(&open_windows, __ATOMIC_RELAXED) != 0;
}

void count_tick(void)
{
	if (!count_wants_ticks())
		return;
	pthread_mutex_lock(&registry_lock);
	for (struct slab_cache *cache = registry_first; cache; cache = cache->next)
		count_close_over(cache);
	pthread_mutex_unlock(&registry_lock);
}
