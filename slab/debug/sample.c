/* SPDX-License-Identifier: MIT */
/*
 * Sampling: which allocations are guarded.
 *
 * Up to SAMPLE_EXACT_MAX, the interval is exact: all allocations of the cache take the slow path,
 * which counts them. The same holds for a cache with debug flags. For larger intervals, the fast
 * path stays in use, and the slow path counts the objects that a CPU gets with each refill. This
 * misses objects that are freed and allocated again on the fast path. Therefore a gate opens ten
 * times a second and sends one allocation to the slow path. The time until that allocation shows
 * the rate: if it comes after 10 µs, it stands for 10000 allocations in a tenth of a second. At
 * these intervals, at most a thousand allocations are sampled in a second.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/maintenance.h"
#include "core/cache.h"
#include "core/debug_record.h"
#include "core/gate.h"
#include "core/registry.h"
#include "debug/fault.h"
#include "debug/guard.h"

#define TICK_US UINT64_C(100000)
#define PAUSE_US UINT64_C(1000) /* least time between two samples if the interval is not exact */

static SLAB_EARLY unsigned sampled; /* number of caches whose gate opens and closes */

static unsigned long interval_of(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->sample.interval, __ATOMIC_RELAXED);
}

static uint64_t opened(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->sample.opened, __ATOMIC_RELAXED);
}

/* Under flush_lock. With an exact interval, the gate is always open. */
static void set_gate(struct slab_cache *cache, uint64_t time)
{
	__atomic_store_n(&cache->sample.opened, time, __ATOMIC_RELAXED);
	cache_gate_set(cache, GATE_SAMPLE,
		       sample_is_on(cache) && (time || interval_of(cache) <= SAMPLE_EXACT_MAX));
}

/* Do all allocations of the cache take the slow path, for whatever reason? */
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

	/* Readers of a type-safe cache may access freed objects, which would fault. */
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
 * An allocation passed the gate: close it. Returns the number of allocations that this one stands
 * for. 0: another thread holds flush_lock, so the gate stays open for a later allocation.
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

/* Count n allocations down from the interval; true: this allocation is sampled. */
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

/* A guarded allocation takes about 10 µs. Their rate is limited, so that they do not slow down an
 * application that allocates often. */
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

/* If the gate is still open, it keeps its opening time: the rate is low, and the next allocation
 * stands for few others. */
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
	struct pin pin = {0};

	while (sample_wants_ticks() && registry_next_pinned(&pin))
		open_gate(pin.cache);
}
