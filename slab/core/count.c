/* SPDX-License-Identifier: MIT */
/*
 * Beginning and ending to count, and adding up.
 *
 * Two threads add up counts: the one that serves the control socket, of caches that it has pinned,
 * and one that destroys a cache. Counting begins and ends under flush_lock, together with
 * GATE_COUNT (gate.h).
 */
#include "core/count.h"
#include "base/clock.h"
#include "core/registry.h"

#define PERIOD_US 50000l

static struct {
	long period; /* atomic (count_period()) */
	/* When the last request ends. Of the thread that serves the control socket. */
	uint64_t until;
} counting;

bool count_is_on(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->count.since, __ATOMIC_RELAXED) != 0;
}

long count_period(void)
{
	return __atomic_load_n(&counting.period, __ATOMIC_RELAXED);
}

static void set_period(long us)
{
	__atomic_store_n(&counting.period, us, __ATOMIC_RELAXED);
}

/* The allocations since the last call. Events may have been reset, so that their sum is smaller. */
static uint64_t take(struct slab_cache *cache)
{
	const uint64_t light = __atomic_exchange_n(&cache->count.light, 0, __ATOMIC_RELAXED);
	const uint64_t slow = cache_events(cache, SLAB_EVENT_ALLOC_SLOWPATH);
	const uint64_t before = cache->count.slow;

	cache->count.slow = slow;
	return light + (slow > before ? slow - before : 0);
}

static void add_up(struct slab_cache *cache)
{
	struct count *count = &cache->count;
	const uint64_t now = clock_us();

	__atomic_fetch_add(&count->counted, take(cache), __ATOMIC_RELAXED);
	__atomic_fetch_add(&count->counted_us, now - count->since, __ATOMIC_RELAXED);
	__atomic_store_n(&count->since, now, __ATOMIC_RELAXED);
}

static void begin(struct slab_cache *cache)
{
	pthread_mutex_lock(&cache->flush_lock);
	cache_gate_set(cache, GATE_COUNT, true);
	take(cache);
	__atomic_store_n(&cache->count.since, clock_us(), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cache->flush_lock);
}

/* The caller holds flush_lock. */
static void end(struct slab_cache *cache)
{
	__atomic_store_n(&cache->count.since, 0, __ATOMIC_RELAXED);
	cache_gate_set(cache, GATE_COUNT, false);
}

void count_close(struct slab_cache *cache)
{
	if (!count_is_on(cache))
		return;
	pthread_mutex_lock(&cache->flush_lock);
	add_up(cache);
	end(cache);
	pthread_mutex_unlock(&cache->flush_lock);
}

static void tick(void)
{
	const bool ends = clock_us() >= counting.until;
	struct pin pin = {0};
	struct slab_cache *cache;

	while ((cache = registry_next_pinned(&pin))) {
		if (ends)
			count_close(cache);
		else if (count_is_on(cache))
			add_up(cache);
		else
			begin(cache);
	}
	set_period(ends ? 0 : PERIOD_US);
}

void count_tick(void)
{
	if (count_period())
		tick();
}

void count_start(uint64_t us)
{
	const uint64_t until = clock_us() + us;

	if (counting.until < until)
		counting.until = until;
	if (!count_period())
		tick();
}

void count_after_fork_child(void)
{
	counting.until = 0;
	set_period(0);
	for (struct slab_cache *cache = registry_first; cache; cache = cache->next)
		if (count_is_on(cache))
			end(cache);
}
