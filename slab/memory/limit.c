/* SPDX-License-Identifier: MIT */
/*
 * Limits: how an allocation takes back free memory before it fails at a limit, and the handler
 * that the application sets with slab_set_limit_handler(). pages/account.h counts the bytes.
 */
#include "memory/limit.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/publish.h"
#include "base/options.h"
#include "core/cache.h"
#include "core/debug_record.h"
#include "core/flush_lock.h"
#include "core/init.h"
#include "core/registry.h"
#include "core/shard.h"
#include "debug/guard.h"
#include "memory/defrag.h"
#include "memory/holders.h"
#include "memory/machine.h"
#include "memory/shrink.h"
#include "pages/account.h"
#include "pages/free_slabs.h"
#include "pages/segment.h"
#include "pages/space.h"
#include "pages/topology.h"
#include "percpu/closing.h"
#include "rcu/free_rcu.h"

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
	machine_forget_limit();
	__atomic_store_n(&slab_pages.account.limit, bytes, __ATOMIC_RELAXED);
	return 0;
}

size_t slab_limit(void)
{
	if (SLAB_UNLIKELY(slab_options()->limit_percent))
		machine_look();
	return __atomic_load_n(&slab_pages.account.limit, __ATOMIC_RELAXED);
}

/* --- taking back ----------------------------------------------------------------- */

/* Release the slabs that are empty without what CPUs hold, and those of guarded objects; first wait
 * for objects that wait for a grace period. Returns the number of slabs. */
static unsigned flush(struct slab_cache *cache)
{
	rcu_wait_a_moment(cache);
	cache_drain(cache, NULL, NULL);
	return cache_release_empty(cache) + guard_flush(cache);
}

static void *take_on(struct slab_cache *cache, unsigned node)
{
	void *obj;

	return objects_take(cache, shard_at(cache, node, cpu_engine->cpu()), 1, &obj,
			    TAKE_PARTIAL | TAKE_OTHERS)
		       ? obj
		       : NULL;
}

/* Take an object of the node where the allocation would look for it first, or of another one. */
static void *take(struct slab_cache *cache, const struct placement *placement)
{
	const unsigned node = placement->node < 0 ? topology_node_of_cpu(cpu_engine->cpu())
						  : (unsigned)placement->node;
	void *obj = take_on(cache, node);

	for (unsigned n = 0; !obj && !placement->strict && n < topology_nodes(); n++)
		if (n != node)
			obj = take_on(cache, n);
	return obj;
}

struct serving {
	const struct placement *placement;
	bool takes;
	void *obj;
};

/* While the arrays are closed, no other thread takes more than the object that it needs. With
 * flush_lock and no slab being purged, every free object is in a listed slab, so one is found if it
 * exists. */
static void take_closed(struct slab_cache *cache, void *arg)
{
	struct serving *serving = arg;
	bool more = true;

	while (more) {
		flush_lock_purged(cache);
		more = defrag_give_back(cache);
		if (!more && serving->takes)
			serving->obj = take(cache, serving->placement);
		flush_unlock(cache);
	}
}

/* Serve the allocation from what the cache has; false: it has nothing. A constructor does not run
 * while the cache is closed. */
static bool serve(struct slab_cache *cache, const struct placement *placement, void **ret_obj)
{
	struct serving serving = {.placement = placement};
	long drained;

	if (!cache || cache_debug_flags(cache) & DEBUG_FLAGS_SLAB)
		return false;
	serving.takes = ret_obj && !cache->ctor;
	drained = cache_drain(cache, take_closed, &serving);
	if (!ret_obj)
		return drained > 0;
	*ret_obj = serving.takes && drained >= 0 ? serving.obj : take(cache, placement);
	return *ret_obj;
}

unsigned limit_shrink(struct slab_cache *cache)
{
	const unsigned released = flush(cache);

	if (cache->flags & SLAB_TYPESAFE_BY_RCU) /* the released slabs wait for a grace period */
		rcu_wait_a_moment(cache);
	return released;
}

static bool shrink_all(void)
{
	struct pin pin = {0};
	bool any = false;

	while (registry_next_pinned(&pin))
		any |= limit_shrink(pin.cache) != 0;
	return any;
}

bool limit_make_room(struct slab_cache *cache, const struct placement *placement, void **ret_obj)
{
	bool any;

	if (ret_obj)
		*ret_obj = NULL;
	switch (alloc_failure) {
	case ALLOC_FAILURE_CACHE:
		return serve(cache, placement, ret_obj) || flush(cache) ||
		       serve(cache, placement, ret_obj);
	case ALLOC_FAILURE_PROCESS:
		any = machine_look() || shrink_all();
		return serve(cache, placement, ret_obj) || any;
	case ALLOC_FAILURE_SYSTEM:
		any = shrink_all();
		any |= segment_trim() != 0;
		any |= segment_unmap_free() != 0;
		return serve(cache, placement, ret_obj) || any;
	default:
		return false;
	}
}

/* --- the handler --------------------------------------------------------------------- */

typedef void (*limit_fn)(struct slab_cache *cache, size_t limit, const char *text, void *arg);
static struct handler_ring limit_handler;
static __thread bool in_handler;

void slab_set_limit_handler(limit_fn fn, void *arg)
{
	handler_set(&limit_handler, (handler_fn)fn, arg);
}

/* Call the handler. An allocation that fails within the handler is counted, but the handler is
 * not called for it. */
static void notify(struct slab_cache *cache, size_t limit, const char *text)
{
	struct handler handler;
	int cancel;

	if (in_handler || !handler_get(&limit_handler, &handler))
		return;
	cancel = cancel_disable();
	in_handler = true;
	((limit_fn)handler.fn)(cache, limit, text, handler.arg);
	in_handler = false;
	cancel_restore(cancel);
}

void limit_tell(size_t limit)
{
	notify(NULL, limit, NULL);
}

/* The limit that an allocation has met; 0: none. */
static size_t limit_of(const struct slab_cache *cache, enum alloc_failure why)
{
	size_t limit;

	if (why == ALLOC_FAILURE_PROCESS)
		return slab_limit();
	if (why != ALLOC_FAILURE_CACHE)
		return 0;
	limit = __atomic_load_n(&cache->account.limit, __ATOMIC_RELAXED);
	return limit || !cache->space ? limit : cache->space->limit;
}

static void count_failure(struct slab_cache *cache, enum alloc_failure why)
{
	if (cache)
		__atomic_fetch_add(&cache->memory.limit_hits, 1, __ATOMIC_RELAXED);
	if (why == ALLOC_FAILURE_PROCESS)
		__atomic_fetch_add(&slab_pages.limit_hits, 1, __ATOMIC_RELAXED);
}

SLAB_SLOWPATH void limit_failed(struct slab_cache *cache, size_t bytes)
{
	const enum alloc_failure why = alloc_failure;
	const size_t limit = limit_of(cache, why);
	const char *text = holders_report(cache, bytes, why, limit);

	if (why == ALLOC_FAILURE_CACHE || why == ALLOC_FAILURE_PROCESS) {
		count_failure(cache, why);
		notify(why == ALLOC_FAILURE_CACHE ? cache : NULL, limit, text);
	}
	if (text)
		holders_done();
	errno = ENOMEM;
}
