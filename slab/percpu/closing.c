/* SPDX-License-Identifier: MIT */
#include "percpu/closing.h"

#include <errno.h>

#include "base/compiler.h"
#include "base/fail.h"
#include "base/signals.h"
#include "core/gate.h"
#include "core/flush_lock.h"
#include "core/pin.h"
#include "core/slab.h"
#include "core/upcalls.h"
#include "percpu/length.h"
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

void close_begin(struct slab_cache *cache)
{
	pthread_mutex_lock(&cache->flush_lock);
	if (!cache->closers++)
		GUARD_STEP(close_pointer, cache_arrays_set(cache, cpu_arrays_none()));
	pthread_mutex_unlock(&cache->flush_lock);
	cpu_inject(CPU_INJECT_ARRAYS_CLOSED);
}

bool close_fence(void)
{
	const bool done = GUARD(close_fence, cpu_engine->fence());

	cpu_inject(CPU_INJECT_ARRAYS_FENCED);
	return done;
}

void close_end(struct slab_cache *cache)
{
	pthread_mutex_lock(&cache->flush_lock);
	if (!--cache->closers) {
		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
			cpu_engine->open(cache->own_arrays, (int)cpu);
		cache_arrays_set(cache, cache->own_arrays);
	}
	pthread_mutex_unlock(&cache->flush_lock);
}

void closing_after_fork_child(struct slab_cache *cache)
{
	if (!cache->closers)
		return;
	cache->closers = 1;
	close_end(cache);
}

/* --- draining --------------------------------------------------------------------------------- */

/* A long array has more objects than fit on the stack of a thread that calls malloc(). So there is
 * one buffer, which a thread with a flush_lock uses; no other lock but those of shards is taken
 * meanwhile. A fork takes all flush_locks, and so finds the buffer unused. Short arrays and
 * magazines need no buffer: a thread that lengthens the arrays of its cache waits for no other
 * cache. */
static SLAB_EARLY pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static void *buffer[OBJECTS_MAX];

/* The most objects of a short array, and of a magazine that are taken at once. */
#define SHORT_MAX (CPU_SHORT_BYTES / sizeof(void *))
#define PIECE_MAX 128u

/* May this array be left as it is? Without flush_lock: another thread may put long arrays in the
 * place of short ones meanwhile, and both are empty then. A write would populate the row of a CPU
 * that has none. With an engine of pairs even an empty array must be closed; with one of locks a
 * thread that takes the lock after this look sees the closed pointer. */
static bool is_untouched(const struct slab_cache *cache, int cpu)
{
	const struct cpu_array *array = cpu_array(cache_own_arrays(cache), cpu);

	return !cpu_engine->pairs &&
	       __atomic_load_n(&array->lock.word, __ATOMIC_SEQ_CST) == CPU_LOCK_FREE &&
	       !cpu_array_count(array);
}

/* With flush_lock. Returns the number of objects. */
static size_t empty_array(struct slab_cache *cache, int cpu, void **objs, struct put_bad *ret_bad)
{
	const size_t n = cpu_engine->close(cache->own_arrays, cpu, objs);

	cpu_inject(CPU_INJECT_ARRAY_EMPTIED);
	objects_put(cache, (unsigned)n, objs, ret_bad);
	return n;
}

static size_t empty_short(struct slab_cache *cache, int cpu, struct put_bad *ret_bad)
{
	void *objs[SHORT_MAX + 1];

	return empty_array(cache, cpu, objs, ret_bad);
}

/* The buffer keeps no address of an object: `slabinfo --find-leaks` would take it for the
 * program's. */
static size_t empty_long(struct slab_cache *cache, int cpu, struct put_bad *ret_bad)
{
	size_t n;

	pthread_mutex_lock(&buffer_lock);
	n = empty_array(cache, cpu, buffer, ret_bad);
	memset(buffer, 0, (n + 1) * sizeof(buffer[0]));
	pthread_mutex_unlock(&buffer_lock);
	return n;
}

size_t close_drain_cpu(struct slab_cache *cache, int cpu, struct put_bad *ret_bad)
{
	size_t n;

	if (is_untouched(cache, cpu))
		return 0;
	pthread_mutex_lock(&cache->flush_lock);
	n = cache_has_long_arrays(cache) ? empty_long(cache, cpu, ret_bad)
					 : empty_short(cache, cpu, ret_bad);
	pthread_mutex_unlock(&cache->flush_lock);
	if (n)
		cache_event(cache, cpu, SLAB_EVENT_ARRAYS_CLOSED);
	return n;
}

static size_t drain_magazines(struct slab_cache *cache, struct put_bad *ret_bad)
{
	void *objs[PIECE_MAX + 1];
	size_t n, sum = 0;

	do {
		pthread_mutex_lock(&cache->flush_lock);
		n = magazines_take(cache, PIECE_MAX, objs);
		if (n) {
			cpu_inject(CPU_INJECT_MAGAZINE_TAKEN);
			objects_put(cache, (unsigned)n, objs, ret_bad);
		}
		pthread_mutex_unlock(&cache->flush_lock);
		sum += n;
	} while (n);
	return sum;
}

/* An array may look untouched because another thread has its objects in the buffer. The magazines
 * come last and always need the lock, so that thread is done in the end. */
size_t close_drain(struct slab_cache *cache, struct put_bad *ret_bad)
{
	size_t n = 0;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		n += close_drain_cpu(cache, (int)cpu, ret_bad);
	return n + drain_magazines(cache, ret_bad);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The cache is closed and fenced. */
static size_t drain_closed(struct slab_cache *cache, struct put_bad *bad, closed_fn *fn, void *arg)
{
	const size_t n = close_drain(cache, bad);

	if (fn)
		fn(cache, arg);
	return n;
}

/* A handler must not fork meanwhile: the child would open the caches, and this thread go on. */
static long drain(struct slab_cache *const caches[], unsigned n, struct put_bad bad[],
		  closed_fn *fn, void *arg)
{
	const uint64_t mask = signals_block();
	size_t drained = 0;
	bool fenced;

	for (unsigned i = 0; i < n; i++)
		close_begin(caches[i]);
	/* A cache that is being destroyed has no other users, so it needs no fence. */
	fenced = close_fence() || cache_is_dying(caches[0]);
	for (unsigned i = 0; i < n; i++) {
		bad[i].n = 0;
		if (fenced)
			drained += drain_closed(caches[i], &bad[i], fn, arg);
		close_end(caches[i]);
	}
	signals_restore(mask);
	return fenced ? (long)drained : -1;
}

long caches_drain(struct slab_cache *const caches[], unsigned n, struct put_bad bad[],
		  closed_fn *fn, void *arg)
{
	long drained;

	flush_hold_begin();
	drained = drain(caches, n, bad, fn, arg);
	flush_hold_end();
	for (unsigned i = 0; i < n; i++) {
		release_leaving(caches[i]);
		if (SLAB_UNLIKELY(bad[i].n))
			objects_report(caches[i], &bad[i], NULL);
	}
	return drained;
}

long cache_drain(struct slab_cache *cache, closed_fn *fn, void *arg)
{
	struct put_bad bad;

	return caches_drain(&cache, 1, &bad, fn, arg);
}
