/* SPDX-License-Identifier: MIT */
/* Filling a cache's reserve and allocating from it. core/reserve.c has the store itself; this
 * file is above it because it allocates objects. */
#include "alloc/alloc.h"
#include "core/cache.h"
#include "core/reserve.h"
#include "debug/debug_cache.h"
#include "memory/reclaim.h"
#include "pages/account.h"

#include <errno.h>

/* --- filling and taking --------------------------------------------------------------- */

/* Fill the reserve without reclaim. false: there was not enough memory. */
static bool fill(struct slab_cache *cache, const void *caller)
{
	void *obj;

	while (reserve_is_short(cache)) {
		obj = cache_alloc_plain(cache, caller);
		if (!obj)
			return false;
		if (!reserve_put(cache, obj)) /* other threads fill it at the same time */
			slab_free_slow(cache, obj, caller);
	}
	return true;
}

void reserve_refill(struct slab_cache *cache, const void *caller)
{
	if (!cache->reserve)
		return;
	fill(cache, caller);
	reserve_update_gate(cache);
}

void *reserve_take(struct slab_cache *cache, size_t requested, const void *caller)
{
	void *obj = reserve_get(cache);

	if (!obj)
		return NULL;
	reserve_update_gate(cache);
	debug_hand_over(cache, obj, requested, caller);
	return obj;
}

/* --- creation and destruction of the cache ------------------------------------------------ */

bool reserve_create(struct slab_cache *cache, const void *caller)
{
	struct retry retry = {
		.cache = cache,
		.bytes = cache_least_bytes(cache),
		.placement = {.node = -1},
	};
	bool full;

	if (!reserve_map(cache))
		return false;
	do {
		alloc_failure_clear();
		full = fill(cache, caller);
	} while (!full && alloc_retry(&retry));
	if (!full)
		errno = ENOMEM;
	return full;
}

void reserve_empty(struct slab_cache *cache)
{
	void *obj;

	while ((obj = reserve_get(cache)))
		slab_free_slow(cache, obj, NULL);
}
