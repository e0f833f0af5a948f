/* SPDX-License-Identifier: MIT */
#include "percpu/closing.h"

#include <errno.h>

#include "base/fail.h"
#include "core/gate.h"
#include "core/pin.h"
#include "core/upcalls.h"
#include "percpu/magazines.h"

static char *create(bool is_long)
{
	if (!fail_pages())
		return cpu_arrays_create(is_long);
	errno = ENOMEM;
	return NULL;
}

bool arrays_create(struct slab_cache *cache)
{
	char *none = cpu_arrays_none();

	cache->own_arrays = none ? create(false) : NULL;
	cache->rcu_arrays = none;
	cache->arrays = cache->alloc_arrays = cache->own_arrays;
	return cache->own_arrays;
}

void arrays_destroy(struct slab_cache *cache)
{
	magazines_destroy(cache);
	cpu_arrays_destroy(cache->own_arrays);
	if (cache->short_arrays)
		cpu_arrays_destroy(cache->short_arrays);
	cache->own_arrays = cache->short_arrays = NULL;
}

static void set_arrays(struct slab_cache *cache, char *arrays)
{
	const unsigned gates = __atomic_load_n(&cache->gates, __ATOMIC_SEQ_CST);

	__atomic_store_n(&cache->arrays, arrays, __ATOMIC_SEQ_CST);
	__atomic_store_n(&cache->alloc_arrays, gates ? cpu_arrays_none() : arrays,
			 __ATOMIC_SEQ_CST);
}

void close_begin(struct slab_cache *cache)
{
	cache->is_closed = true;
	set_arrays(cache, cpu_arrays_none());
	cpu_inject(CPU_INJECT_ARRAYS_CLOSED);
}

bool close_fence(void)
{
	const bool done = cpu_engine->fence();

	cpu_inject(CPU_INJECT_ARRAYS_FENCED);
	return done;
}

void close_end(struct slab_cache *cache)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		cpu_engine->open(cache->own_arrays, (int)cpu);
	set_arrays(cache, cache->own_arrays);
	cache->is_closed = false;
}

/* --- draining --------------------------------------------------------------------------------- */

/* One array may have more objects than fit on the stack of a thread that calls malloc(). So there is
 * one buffer, which a thread with a flush_lock uses; no other lock but those of shards is taken
 * meanwhile. A fork takes all flush_locks, and so finds the buffer unused. */
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static void *buffer[OBJECTS_MAX];

/* May this array be left as it is? A write would populate the row of a CPU that has none. With an engine
 * of pairs even an empty array must be closed; with one of locks a thread that takes the lock after this
 * look sees the closed pointer. */
static bool is_untouched(const struct slab_cache *cache, int cpu)
{
	const struct cpu_array *array = cpu_array(cache->own_arrays, cpu);

	return !cpu_engine->pairs &&
	       __atomic_load_n(&array->lock.word, __ATOMIC_SEQ_CST) == CPU_LOCK_FREE &&
	       !cpu_array_count(array);
}

/* The buffer keeps no address of an object: `slabinfo --find-leaks` would take it for the program's. */
static void put_buffer(struct slab_cache *cache, size_t n, struct put_bad *ret_bad)
{
	objects_put(cache, (unsigned)n, buffer, ret_bad);
	memset(buffer, 0, (n + 1) * sizeof(buffer[0]));
}

size_t close_drain_cpu(struct slab_cache *cache, int cpu, struct put_bad *ret_bad)
{
	size_t n;

	if (is_untouched(cache, cpu))
		return 0;
	pthread_mutex_lock(&buffer_lock);
	n = cpu_engine->close(cache->own_arrays, cpu, buffer);
	cpu_inject(CPU_INJECT_ARRAY_EMPTIED);
	put_buffer(cache, n, ret_bad);
	pthread_mutex_unlock(&buffer_lock);
	if (n)
		cache_event(cache, cpu, SLAB_EVENT_ARRAYS_CLOSED);
	return n;
}

static size_t drain_magazines(struct slab_cache *cache, struct put_bad *ret_bad)
{
	size_t n, sum = 0;

	pthread_mutex_lock(&buffer_lock);
	while ((n = magazines_take(cache, OBJECTS_MAX - 1, buffer))) {
		cpu_inject(CPU_INJECT_MAGAZINE_TAKEN);
		put_buffer(cache, n, ret_bad);
		sum += n;
	}
	pthread_mutex_unlock(&buffer_lock);
	return sum;
}

size_t close_drain(struct slab_cache *cache, struct put_bad *ret_bad)
{
	size_t n = 0;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		n += close_drain_cpu(cache, (int)cpu, ret_bad);
	return n + drain_magazines(cache, ret_bad);
}

bool cache_drain(struct slab_cache *cache, struct put_bad *ret_bad)
{
	bool fenced;

	close_begin(cache);
	/* A cache that is being destroyed has no other users, so it needs no fence. */
	fenced = close_fence() || cache_is_dying(cache);
	if (fenced)
		close_drain(cache, ret_bad);
	close_end(cache);
	return fenced;
}

/* With flush_lock, which this unlocks. */
static bool flush(struct slab_cache *cache, unsigned *ret_released)
{
	struct put_bad bad;
	bool fenced;

	bad.n = 0;
	fenced = cache_drain(cache, &bad);
	flush_unlock(cache);
	*ret_released =
		cache_release(cache, __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED));
	if (SLAB_UNLIKELY(bad.n))
		objects_report(cache, &bad, NULL);
	return fenced;
}

unsigned cache_flush(struct slab_cache *cache)
{
	unsigned released;

	flush_lock(cache);
	flush(cache, &released);
	return released;
}

bool cache_flush_as(struct slab_cache *cache, enum flush_lock_mode how, unsigned *ret_released)
{
	*ret_released = 0;
	return flush_lock_as(cache, how) && flush(cache, ret_released);
}
