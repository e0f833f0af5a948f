/* SPDX-License-Identifier: MIT */
/*
 * Limits: how an allocation takes back free memory before it fails at a limit, and the handler
 * that the application sets with slab_set_limit_handler(). pages/account.h counts the bytes.
 */
#include "memory/limit.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/publish.h"
#include "base/options.h"
#include "core/cache.h"
#include "core/debug_record.h"
#include "core/isolated.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "debug/guard.h"
#include "memory/shrink.h"
#include "pages/account.h"
#include "pages/free_slabs.h"
#include "pages/segment.h"
#include "pages/topology.h"
#include "rcu/free_rcu.h"
#include "core/init.h"
#include "core/registry.h"

#include <errno.h>
#include <pthread.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <time.h>

int slab_set_limit(size_t bytes)
{
	if (!limit_is_possible(bytes, LIMIT_LEAST_OF_PROCESS))
		return with_errno(-EINVAL);
	slab_init();
	__atomic_store_n(&slab_pages.account.limit, bytes, __ATOMIC_RELAXED);
	return 0;
}

/* --- taking back ----------------------------------------------------------------- */

/* Release the slabs that the cache's CPUs and guard pages hold and that wait for a grace
 * period. Returns the number of slabs, or -1: flush_lock was not free in time. */
static long flush(struct slab_cache *cache)
{
	unsigned released;

	rcu_wait_a_moment(cache);
	if (!cache_flush_as(cache, FLUSH_LOCK_TIMED, &released))
		return -1;
	return released + guard_flush(cache);
}

/* Isolate a listed slab of the node where the allocation will look for it. */
static struct slab *take_listed(struct slab_cache *cache, const struct placement *placement)
{
	unsigned node = placement->node < 0 ? topology_node_of_cpu(cpu_engine->cpu())
					    : (unsigned)placement->node;

	return placement->strict ? node_take(cache, node, 1) : node_take_any(cache, node);
}

/* Give this CPU a listed slab; false: there is none. flush_lock ensures that
 * no other thread has isolated listed slabs, so a free object is found if one exists. Once the
 * CPU owns the slab, no other thread can isolate it. An allocation for a given node takes from
 * the list, so for it the slab goes back to the list. */
static bool serve(struct slab_cache *cache, const struct placement *placement)
{
	struct slab *slab = NULL;

	if (cache && !(cache_debug_flags(cache) & DEBUG_FLAGS_SLAB) && flush_lock_purged(cache)) {
		slab = take_listed(cache, placement);
		if (slab && placement->node >= 0) {
			slab->next = NULL;
			node_put(cache, slab);
		}
		flush_unlock(cache);
	}
	if (slab && placement->node < 0)
		node_serve(cache, slab);
	return slab;
}

unsigned limit_shrink(struct slab_cache *cache)
{
	long released = flush(cache);

	if (released < 0)
		return 0;
	released += cache_release_empty(cache, FLUSH_LOCK_TIMED);
	if (cache->flags & SLAB_TYPESAFE_BY_RCU) /* the released slabs wait for a grace period */
		rcu_wait_a_moment(cache);
	return (unsigned)released;
}

static bool shrink_all(void)
{
	struct slab_cache *cache = NULL;
	bool any = false;

	while ((cache = registry_next_pinned(cache, false)))
		any |= limit_shrink(cache) != 0;
	return any;
}

bool limit_make_room(struct slab_cache *cache, const struct placement *placement)
{
	bool any;
	long released;

	switch (alloc_failure) {
	case ALLOC_FAILURE_CACHE:
		released = flush(cache);
		return released >= 0 && (serve(cache, placement) || released);
	case ALLOC_FAILURE_PROCESS:
		any = shrink_all();
		return serve(cache, placement) || any;
	case ALLOC_FAILURE_SYSTEM:
		any = shrink_all();
		any |= segment_trim(NULL) != 0;
		any |= segment_unmap_free() != 0;
		return serve(cache, placement) || any;
	default:
		return false;
	}
}

/* --- the handler --------------------------------------------------------------------- */

typedef void (*limit_fn)(struct slab_cache *cache, size_t limit, void *arg);
static struct handler_ring limit_handler;
static __thread bool in_handler;

void slab_set_limit_handler(limit_fn fn, void *arg)
{
	handler_set(&limit_handler, (handler_fn)fn, arg);
}

/* Call the handler. An allocation that fails within the handler is counted, but the handler is
 * not called for it. */
static void notify(struct slab_cache *cache, size_t limit)
{
	struct handler handler;
	int cancel;

	if (in_handler || !handler_get(&limit_handler, &handler))
		return;
	cancel = cancel_disable();
	in_handler = true;
	((limit_fn)handler.fn)(cache, limit, handler.arg);
	in_handler = false;
	cancel_restore(cancel);
}

void limit_failed(struct slab_cache *cache)
{
	enum alloc_failure why = alloc_failure;

	if (why == ALLOC_FAILURE_CACHE || why == ALLOC_FAILURE_PROCESS) {
		if (cache)
			__atomic_fetch_add(&cache->memory.limit_hits, 1, __ATOMIC_RELAXED);
		if (why == ALLOC_FAILURE_PROCESS)
			__atomic_fetch_add(&slab_pages.limit_hits, 1, __ATOMIC_RELAXED);
		if (why == ALLOC_FAILURE_CACHE)
			notify(cache, __atomic_load_n(&cache->account.limit, __ATOMIC_RELAXED));
		else
			notify(NULL, slab_limit());
	}
	errno = ENOMEM;
}
