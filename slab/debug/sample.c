/* SPDX-License-Identifier: MIT */
/*
 * Which allocations are sampled.
 *
 * Up to SAMPLE_EXACT_MAX the interval is exact: all allocations of such a cache
 * come through the slow path, as those of a cache with debug flags do anyway. Above,
 * the fast path stays as it is: the slow path counts the objects that a CPU gets with
 * a slab. It does not see objects that are freed and allocated again at once.
 * Therefore a gate opens ten times a second and lets one allocation into the slow
 * path. The time until that comes shows the rate: after 10 µs, about 10000 in each
 * tenth of a second. At most a thousand allocations are sampled in a second.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/maintenance.h"
#include "core/cache.h"
#include "core/debug_record.h"
#include "debug/fault.h"
#include "debug/guard.h"
#include "registry/gate.h"
#include "registry/registry.h"

#define TICK_US UINT64_C(100000)
#define PAUSE_US UINT64_C(1000) /* from one to the next, of those not counted exactly */

static unsigned sampled; /* caches with a gate that opens and closes */

static unsigned long interval_of(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->sample.interval, __ATOMIC_RELAXED);
}

static uint64_t opened(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->sample.opened, __ATOMIC_RELAXED);
}

/* Under flush_lock. The gate is set all the time where the interval is exact. */
static void set_gate(struct slab_cache *cache, uint64_t time)
{
	__atomic_store_n(&cache->sample.opened, time, __ATOMIC_RELAXED);
	cache_gate_set(cache, GATE_SAMPLE,
		       sample_is_on(cache) && (time || interval_of(cache) <= SAMPLE_EXACT_MAX));
}

/* All allocations come through the slow path, for one reason or another. */
static bool counts_all(const struct slab_cache *cache)
{
	return interval_of(cache) <= SAMPLE_EXACT_MAX || cache->flags & SLAB_ZERO ||
	       cache_debug_flags(cache) & DEBUG_FLAGS_SLAB;
}

bool sample_gate_open(const struct slab_cache *cache)
{
	return sample_is_on(cache) && (counts_all(cache) || opened(cache));
}

void sample_set(struct slab_cache *cache, unsigned long interval)
{
	struct sample *sample = &cache->sample;

	/* Readers of a type-safe cache may look where a fault would be. */
	if (cache->flags & SLAB_TYPESAFE_BY_RCU)
		interval = 0;
	if (interval > LONG_MAX)
		interval = LONG_MAX;
	if (interval)
		fault_install();
	pthread_mutex_lock(&cache->flush_lock);
	if (sample->interval > SAMPLE_EXACT_MAX)
		__atomic_fetch_sub(&sampled, 1, __ATOMIC_RELAXED);
	if (interval > SAMPLE_EXACT_MAX)
		__atomic_fetch_add(&sampled, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&sample->left, (long)interval, __ATOMIC_RELAXED);
	__atomic_store_n(&sample->interval, interval, __ATOMIC_RELAXED);
	set_gate(cache, 0);
	pthread_mutex_unlock(&cache->flush_lock);
	if (interval > SAMPLE_EXACT_MAX)
		maintenance_start_ticks();
}

int slab_cache_sample(struct slab_cache *cache, unsigned long n)
{
	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	sample_set(cache, n);
	return 0;
}

/*
 * A thread came through: close it. How many allocations that stands for; 0: the
 * cache is being flushed, so the next one closes it.
 */
static unsigned long close_gate(struct slab_cache *cache)
{
	uint64_t since = opened(cache), waited;

	if (pthread_mutex_trylock(&cache->flush_lock) != 0)
		return 0;
	set_gate(cache, 0);
	pthread_mutex_unlock(&cache->flush_lock);
	waited = clock_us() - since;
	return (unsigned long)(TICK_US / (waited + 1));
}

/* Count down to the next one that is taken. */
static bool count(struct sample *sample, unsigned long interval, unsigned long n)
{
	long step = (long)(n < interval ? n : interval);
	long left = __atomic_load_n(&sample->left, __ATOMIC_RELAXED), then;

	do
		then = left > step ? left - step : left - step + (long)interval;
	while (!__atomic_compare_exchange_n(&sample->left, &left, then, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return left <= step;
}

/* One takes about 10 µs, which must not show where there are many allocations. */
static bool is_too_soon(void)
{
	static uint64_t last;
	uint64_t now = clock_us();

	if (now - __atomic_load_n(&last, __ATOMIC_RELAXED) < PAUSE_US)
		return true;
	__atomic_store_n(&last, now, __ATOMIC_RELAXED);
	return false;
}

bool sample_is_due(struct slab_cache *cache, unsigned long n)
{
	unsigned long interval = interval_of(cache);

	if (!interval)
		return false;
	if (opened(cache))
		n += close_gate(cache);
	return count(&cache->sample, interval, n) && (counts_all(cache) || !is_too_soon());
}

bool sample_wants_ticks(void)
{
	return __atomic_load_n(&sampled, __ATOMIC_RELAXED) != 0;
}

/* A gate that is still open stays so: what comes through in the end is little. */
static void open_gate(struct slab_cache *cache)
{
	if (counts_all(cache) || opened(cache) || pthread_mutex_trylock(&cache->flush_lock) != 0)
		return;
	if (!counts_all(cache))
		set_gate(cache, clock_us());
	pthread_mutex_unlock(&cache->flush_lock);
}

void sample_tick(void)
{
	if (!sample_wants_ticks())
		return;
	pthread_mutex_lock(&registry_lock);
	for (struct slab_cache *cache = registry_first; cache; cache = cache->next)
		open_gate(cache);
	pthread_mutex_unlock(&registry_lock);
}
