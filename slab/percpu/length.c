/* SPDX-License-Identifier: MIT */
#include "percpu/length.h"

#include <errno.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "core/flush_lock.h"
#include "core/pin.h"
#include "core/shard.h"
#include "percpu/closing.h"

#define LEAST_BYTES ((size_t)32 << 10)
#define MOST_BYTES ((size_t)512 << 10)
#define GROW_US UINT64_C(1000)
#define SHRINK_US UINT64_C(1000000)
/* A CPU that misses so often for so long is busy with few objects. */
#define BUSY_US UINT64_C(100)
#define BUSY_FOR_US UINT64_C(500)
/* An array has this part of the cache's objects at most. */
#define SHARE 16u

static unsigned objects_of(const struct slab_cache *cache, size_t bytes, unsigned most)
{
	return bytes / cache->size < most ? (unsigned)(bytes / cache->size) : most;
}

void length_init(struct slab_cache *cache)
{
	const unsigned least = objects_of(cache, LEAST_BYTES, cpu_array_room(false));

	cache->array_least = least < 2 ? 2 : least;
	cache->array_most = objects_of(cache, MOST_BYTES, cpu_array_room(true));
}

/* Let the cache have long arrays, unless another thread was faster. Threads that still have the
 * address of the short ones find them closed for ever. */
static void exchange(struct slab_cache *cache, void *arg)
{
	char **arrays = arg;

	pthread_mutex_lock(&cache->flush_lock);
	if (GUARD(lengthen_again, !cache_has_long_arrays(cache))) {
		__atomic_store_n(&cache->short_arrays, cache->own_arrays, __ATOMIC_RELEASE);
		__atomic_store_n(&cache->own_arrays, *arrays, __ATOMIC_RELEASE);
		*arrays = NULL;
	}
	pthread_mutex_unlock(&cache->flush_lock);
}

/* Where the system refuses the memory or the fence, the cache keeps short arrays. */
static SLAB_SLOWPATH void lengthen(struct slab_cache *cache)
{
	int saved = errno;
	char *arrays;

	if (flush_lock_is_held() || cache_is_dying(cache))
		return;
	arrays = cpu_arrays_create(true);
	if ((!arrays || cache_drain(cache, exchange, &arrays) < 0) && !cache_has_long_arrays(cache))
		__atomic_store_n(&cache->array_most, cpu_array_room(false), __ATOMIC_RELAXED);
	if (arrays)
		cpu_arrays_destroy(arrays);
	errno = saved;
}

/* The most objects of an array of a CPU that is not busy. Other CPUs write to the shards. */
static uint64_t share_of(const struct slab_cache *cache)
{
	uint64_t room = 0;

	shard_each (shard, cache)
		room += __atomic_load_n(&shard->room, __ATOMIC_RELAXED);
	return room / SHARE;
}

/* The limit that the times of this miss and the last ones suggest. */
static uint64_t suggest(const struct slab_cache *cache, struct cpu_array *array)
{
	const uint64_t now = clock_us();
	const uint64_t since = now - __atomic_load_n(&array->stamp, __ATOMIC_RELAXED);
	uint64_t limit = cpu_array_limit(array), most = cpu_array_room(true);

	__atomic_store_n(&array->stamp, now, __ATOMIC_RELAXED);
	if (since < GROW_US)
		limit *= 2;
	else if (since > SHRINK_US)
		limit /= 2;
	if (since >= BUSY_US)
		__atomic_store_n(&array->streak, now, __ATOMIC_RELAXED);
	if (since >= BUSY_US ||
	    now - __atomic_load_n(&array->streak, __ATOMIC_RELAXED) <= BUSY_FOR_US)
		most = share_of(cache);
	return limit < most ? limit : most;
}

unsigned length_miss(struct slab_cache *cache, int cpu)
{
	const unsigned least = __atomic_load_n(&cache->array_least, __ATOMIC_RELAXED);
	const unsigned most = __atomic_load_n(&cache->array_most, __ATOMIC_RELAXED);
	struct cpu_array *array = cpu_array(cache_own_arrays(cache), cpu);
	uint64_t limit = suggest(cache, array);

	limit = limit < least ? least : limit;
	limit = limit > most ? most : limit;
	if (limit > cpu_array_room(false) && !cache_has_long_arrays(cache))
		lengthen(cache);
	if (limit > cpu_array_room(false) && !cache_has_long_arrays(cache))
		limit = cpu_array_room(false);
	/* Another thread may have exchanged the arrays. */
	array = cpu_array(cache_own_arrays(cache), cpu);
	/* Not read before: the first read of a page is a page fault of its own. */
	cpu_array_set_limit(array, (unsigned)limit);
	return (unsigned)limit;
}
