/* SPDX-License-Identifier: MIT */
#include "alloc/alloc.h"
#include "base/clock.h"
#include "core/cache.h"
#include "debug/debug_cache.h"
#include "memory/reclaim.h"
#include "pages/account.h"
#include "pages/os.h"
#include "pages/segment.h"
#include "registry/gate.h"
#include "registry/reserve.h"

#include <errno.h>
#include <pthread.h>

#define OBJECTS_MAX ((size_t)1 << 40)

/* How many there are, and how many there are to be, is in cache->memory, for all to see. */
struct cache_reserve {
	pthread_mutex_t lock;
	void *obj[];
};

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
		pthread_mutex_lock(&cache->reserve->lock);
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

/* --- the gate ------------------------------------------------------------------------- */

/*
 * Whoever takes stores the count and looks at the gate, whoever sets the gate does it the
 * other way round, all in one order: the last of them sees what is wrong.
 */
static void set_gate(struct slab_cache *cache, bool (*lock)(pthread_mutex_t *))
{
	while (cache_gate_is_set(cache, GATE_RESERVE) != reserve_is_short(cache) &&
	       lock(&cache->flush_lock)) {
		cache_gate_set(cache, GATE_RESERVE, reserve_is_short(cache));
		pthread_mutex_unlock(&cache->flush_lock);
	}
}

static bool try_lock(pthread_mutex_t *lock)
{
	return pthread_mutex_trylock(lock) == 0;
}

/* --- the list ------------------------------------------------------------------------- */

/* false: it is full. */
static bool put(struct slab_cache *cache, void *obj)
{
	bool is_room;

	reserve_lock(cache);
	is_room = left(cache) < room(cache);
	if (is_room) {
		cache->reserve->obj[left(cache)] = obj;
		set_left(cache, left(cache) + 1);
	}
	reserve_unlock(cache);
	return is_room;
}

/* NULL: it is empty. */
static void *get(struct slab_cache *cache)
{
	void *obj = NULL;

	reserve_lock(cache);
	if (left(cache)) {
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

/* --- filling and taking --------------------------------------------------------------- */

/* What can be had without asking anybody; false: that was not enough. */
static bool fill(struct slab_cache *cache, const void *caller)
{
	void *obj;

	while (reserve_is_short(cache)) {
		obj = cache_alloc_plain(cache, caller);
		if (!obj)
			return false;
		if (!put(cache, obj)) /* others fill it, too */
			slab_free_from(cache, obj, slab_of(obj), caller);
	}
	return true;
}

void reserve_refill(struct slab_cache *cache, const void *caller)
{
	if (!cache->reserve)
		return;
	fill(cache, caller);
	set_gate(cache, try_lock);
}

void *reserve_take(struct slab_cache *cache, size_t requested, const void *caller)
{
	void *obj = cache->reserve ? get(cache) : NULL;

	if (!obj)
		return NULL;
	set_gate(cache, limit_lock_soon);
	debug_hand_over(cache, obj, requested, caller);
	return obj;
}

/* --- creation and destruction ----------------------------------------------------------- */

static size_t bytes_for(size_t objects)
{
	return sizeof(struct cache_reserve) + objects * sizeof(void *);
}

static bool map(struct slab_cache *cache)
{
	const size_t objects = room(cache);
	struct cache_reserve *reserve;

	if (objects > OBJECTS_MAX) {
		errno = ENOMEM;
		return false;
	}
	reserve = os_map(bytes_for(objects), 1);
	if (!reserve)
		return false;
	pthread_mutex_init(&reserve->lock, NULL);
	/* A fork holds this lock, and that of every reserve. */
	pthread_mutex_lock(&cache->flush_lock);
	cache->reserve = reserve;
	pthread_mutex_unlock(&cache->flush_lock);
	return true;
}

bool reserve_create(struct slab_cache *cache, const void *caller)
{
	struct retry retry = {
		.cache = cache,
		.bytes = (size_t)1 << cache->slab_shift,
		.wish = {.node = -1},
	};
	bool full;

	if (!map(cache))
		return false;
	do {
		limit_clear();
		full = fill(cache, caller);
	} while (!full && retry_allocation(&retry));
	if (!full)
		errno = ENOMEM;
	return full;
}

void reserve_empty(struct slab_cache *cache)
{
	void *obj;

	while (cache->reserve && (obj = get(cache)))
		slab_free_from(cache, obj, slab_of(obj), NULL);
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
