/* SPDX-License-Identifier: MIT */
/*
 * The store of a cache's reserve, and its gate. alloc/reserve_fill.c fills it and takes from it,
 * because that needs higher rooms.
 */
#include "core/reserve.h"
#include "base/range.h"
#include "core/cache.h"
#include "core/gate.h"
#include "pages/os.h"

#include <errno.h>

#define RESERVE_MAX ((size_t)1 << 40)

static size_t room(const struct slab_cache *cache)
{
	return cache->memory.reserve;
}

static size_t left(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->memory.reserve_left, __ATOMIC_SEQ_CST);
}

static void set_left(struct slab_cache *cache, size_t n)
{
	__atomic_store_n(&cache->memory.reserve_left, n, __ATOMIC_SEQ_CST);
}

void reserve_lock(struct slab_cache *cache)
{
	if (cache->reserve)
		GUARD_STEP(reserve_lock, pthread_mutex_lock(&cache->reserve->lock));
}

void reserve_unlock(struct slab_cache *cache)
{
	if (cache->reserve)
		pthread_mutex_unlock(&cache->reserve->lock);
}

bool reserve_is_short(const struct slab_cache *cache)
{
	return cache->reserve && left(cache) < room(cache);
}

/*
 * A thread that takes an object stores the count and then reads the gate. A thread that sets the
 * gate stores the gate and then reads the count. All four accesses are in one total order, so
 * the later thread sees and corrects a wrong gate.
 */
void reserve_update_gate(struct slab_cache *cache)
{
	while (GUARD_AGAINST(reserve_gate,
			     cache_gate_is_set(cache, GATE_RESERVE) != reserve_is_short(cache))) {
		pthread_mutex_lock(&cache->flush_lock);
		cache_gate_set(cache, GATE_RESERVE, reserve_is_short(cache));
		pthread_mutex_unlock(&cache->flush_lock);
	}
}

bool reserve_put(struct slab_cache *cache, void *obj)
{
	bool is_room;

	reserve_lock(cache);
	is_room = GUARD(reserve_room, left(cache) < room(cache));
	if (is_room) {
		cache->reserve->obj[left(cache)] = obj;
		set_left(cache, left(cache) + 1);
	}
	reserve_unlock(cache);
	return is_room;
}

void *reserve_get(struct slab_cache *cache)
{
	void *obj = NULL;

	if (!cache->reserve)
		return NULL;
	reserve_lock(cache);
	if (GUARD(reserve_left, left(cache))) {
		set_left(cache, left(cache) - 1);
		obj = cache->reserve->obj[left(cache)];
	}
	reserve_unlock(cache);
	return obj;
}

bool reserve_holds(struct slab_cache *cache, const void *obj)
{
	bool found = false;

	if (!cache->reserve)
		return false;
	reserve_lock(cache);
	for (size_t i = 0; i < left(cache) && !found; i++)
		found = cache->reserve->obj[i] == obj;
	reserve_unlock(cache);
	return found;
}

static size_t bytes_for(size_t objects)
{
	return sizeof(struct cache_reserve) + objects * sizeof(void *);
}

bool reserve_has(const struct slab_cache *cache, const char *start, size_t bytes)
{
	const struct cache_reserve *reserve = __atomic_load_n(&cache->reserve, __ATOMIC_RELAXED);

	return reserve && range_has(reserve, bytes_for(room(cache)), start, bytes);
}

bool reserve_map(struct slab_cache *cache)
{
	const size_t objects = room(cache);
	struct cache_reserve *reserve;

	if (objects > RESERVE_MAX) {
		errno = ENOMEM;
		return false;
	}
	reserve = os_map(bytes_for(objects), 1);
	if (!reserve)
		return false;
	reserve->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	/* A fork takes flush_lock before the locks of reserves, so it finds either no reserve or an
	 * initialized one. */
	pthread_mutex_lock(&cache->flush_lock);
	__atomic_store_n(&cache->reserve, reserve, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&cache->flush_lock);
	return true;
}

void reserve_destroy(struct slab_cache *cache)
{
	struct cache_reserve *reserve = cache->reserve;

	if (!reserve)
		return;
	cache->reserve = NULL;
	pthread_mutex_destroy(&reserve->lock);
	os_unmap(reserve, bytes_for(cache->memory.reserve));
	cache->memory.reserve = 0;
}
