/* SPDX-License-Identifier: MIT */
#include "percpu/lifo_length.h"

#include <slab/stats.h>

#include "base/clock.h"
#include "base/compiler.h"

static unsigned objects_of(const struct slab_cache *cache, size_t bytes)
{
	return bytes / cache->size < CPU_LIFO_MAX ? (unsigned)(bytes / cache->size) : CPU_LIFO_MAX;
}

/* The threads that free read the word all the time, so store it only if it changes. */
static void set_length(struct slab_cache *cache, uint64_t length)
{
	const unsigned least = __atomic_load_n(&cache->lifo_least, __ATOMIC_RELAXED);
	const unsigned most = __atomic_load_n(&cache->lifo_most, __ATOMIC_RELAXED);

	if (length > most)
		length = most;
	if (length < least)
		length = least;
	if (lifo_length(cache) != length)
		__atomic_store_n(&cache->lifo_max, length, __ATOMIC_RELAXED);
}

void lifo_init(struct slab_cache *cache)
{
	const unsigned more = objects_of(cache, 2 * LIFO_BYTES_LEAST);

	cache->lifo_least = objects_of(cache, LIFO_BYTES_LEAST);
	if (cache->lifo_least < LIFO_LEAST)
		cache->lifo_least = more < LIFO_LEAST ? more : LIFO_LEAST;
	cache->lifo_most = objects_of(cache, LIFO_BYTES_MOST);
	set_length(cache, cache->lifo_least);
}

static uint64_t misses_of(const struct slab_cache *cache, unsigned cpu)
{
	const uint64_t *count = &cpu_slot(cache->cpu_slots, cpu)->event[SLAB_EVENT_FREE_SLOWPATH];

	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/* A lost update of the time does no harm. */
static SLAB_SLOWPATH void grow(struct slab_cache *cache)
{
	const uint64_t now = clock_us();
	const uint64_t before = __atomic_load_n(&cache->lifo_missed, __ATOMIC_RELAXED);

	__atomic_store_n(&cache->lifo_missed, now, __ATOMIC_RELAXED);
	if (now - before <= LIFO_GROW_US)
		set_length(cache, 2 * lifo_length(cache));
}

void lifo_count_miss(struct slab_cache *cache, int cpu)
{
	cache_event(cache, cpu, SLAB_EVENT_FREE_SLOWPATH);
	if (SLAB_UNLIKELY(cpu >= 0 && misses_of(cache, (unsigned)cpu) % LIFO_GROW_AFTER == 0))
		grow(cache);
}

/* The sum falls if an operator clears the statistics; then the difference is large. */
void lifo_review(struct slab_cache *cache)
{
	uint64_t misses = 0;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		misses += misses_of(cache, cpu);
	if (misses - cache->lifo_misses < LIFO_KEEP_AFTER)
		set_length(cache, lifo_length(cache) / 2);
	cache->lifo_misses = misses;
}
