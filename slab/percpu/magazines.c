/* SPDX-License-Identifier: MIT */
#include "percpu/magazines.h"

#include "pages/free_slabs.h"
#include "pages/topology.h"

#include <errno.h>
#include <string.h>

/* Fewer objects are not worth a magazine. */
#define MAGAZINE_LEAST 16u

static unsigned full(const struct depot *depot)
{
	return __atomic_load_n(&depot->full, __ATOMIC_RELAXED);
}

/* With the lock. */
static void count(struct depot *depot, unsigned n, long objects)
{
	__atomic_store_n(&depot->objects, depot->objects + (uint64_t)objects, __ATOMIC_RELAXED);
	__atomic_store_n(&depot->full, n, __ATOMIC_RELAXED);
}

static bool fill(struct slab_cache *cache, struct depot *depot, size_t half)
{
	struct magazine **place = &depot->magazine[depot->full];
	int saved = errno;

	if (!*place)
		*place = metadata_block_take(sizeof(**place));
	errno = saved;
	if (!*place)
		return false;
	(*place)->count = cpu_engine->take(&cache->arrays, half, (*place)->obj);
	if (!(*place)->count)
		return false;
	count(depot, depot->full + 1, (long)(*place)->count);
	return true;
}

bool magazine_put(struct slab_cache *cache, unsigned node)
{
	struct depot *depot = &cache->node[node].depot;
	const int cpu = cpu_engine->cpu();
	size_t half = cpu < 0 ? 0 : cpu_array_count(cpu_array(cache_own_arrays(cache), cpu)) / 2;
	bool done = false;

	if (half > MAGAZINE_OBJECTS)
		half = MAGAZINE_OBJECTS;
	if (full(depot) == MAGAZINES_MAX || half < MAGAZINE_LEAST ||
	    !GUARD(magazine_put_lock, cpu_lock_try(&depot->lock)))
		return false;
	if (GUARD(magazine_put_again, depot->full < MAGAZINES_MAX))
		done = fill(cache, depot, half);
	cpu_lock_drop(&depot->lock);
	return done;
}

static bool spend(struct slab_cache *cache, struct depot *depot)
{
	struct magazine *magazine = depot->magazine[depot->full - 1];
	const size_t n = cpu_engine->put(&cache->arrays, magazine->count, magazine->obj);

	magazine->count -= n;
	memmove(magazine->obj, magazine->obj + n, magazine->count * sizeof(magazine->obj[0]));
	count(depot, depot->full - !magazine->count, -(long)n);
	return n;
}

bool magazine_get(struct slab_cache *cache, unsigned node)
{
	struct depot *depot = &cache->node[node].depot;
	bool done = false;

	if (!full(depot) || !GUARD(magazine_get_lock, cpu_lock_try(&depot->lock)))
		return false;
	if (GUARD(magazine_get_again, depot->full))
		done = spend(cache, depot);
	cpu_lock_drop(&depot->lock);
	return done;
}

static size_t take_some(struct depot *depot, size_t most, void **objs)
{
	struct magazine *magazine = depot->magazine[depot->full - 1];
	const size_t n = magazine->count < most ? magazine->count : most;

	magazine->count -= n;
	memcpy(objs, magazine->obj + magazine->count, n * sizeof(objs[0]));
	count(depot, depot->full - !magazine->count, -(long)n);
	return n;
}

size_t magazines_take(struct slab_cache *cache, size_t most, void **objs)
{
	size_t n = 0;

	for (unsigned i = 0; i < topology_nodes() && !n; i++) {
		struct depot *depot = &cache->node[i].depot;

		/* A thread that has the lock may be filling a magazine with objects that no array
		 * has any more. */
		if (GUARD(magazine_close_unlocked,
			  __atomic_load_n(&depot->lock.word, __ATOMIC_SEQ_CST) == CPU_LOCK_FREE) &&
		    !full(depot))
			continue;
		GUARD_STEP(magazine_close_lock, cpu_lock_take(&depot->lock));
		if (GUARD(magazine_close_again, depot->full))
			n = take_some(depot, most, objs);
		cpu_lock_drop(&depot->lock);
	}
	return n;
}

void magazines_destroy(struct slab_cache *cache)
{
	for (unsigned i = 0; i < topology_nodes(); i++)
		for (unsigned m = 0; m < MAGAZINES_MAX; m++) {
			struct magazine **place = &cache->node[i].depot.magazine[m];

			if (*place)
				metadata_block_put(*place);
			*place = NULL;
		}
}
