/* SPDX-License-Identifier: MIT */
/*
 * Changing the debug flags of a cache that is in use.
 *
 * A slab keeps its debug flags, so a switch rebuilds no slab:
 *
 *   on      allocations leave the fast path; the thread revokes the slabs of CPUs; all slabs
 *           without debug flags become legacy slabs
 *   other   slabs with the new debug flags serve allocations; slabs with other flags become
 *           legacy slabs
 *   off     legacy slabs without debug flags become ordinary slabs again; debug slabs become
 *           legacy slabs; allocations return to the fast path
 *
 * A thread that was refilling while debug flags were switched on may still give its CPU a slab
 * without debug flags. Before libslab creates a debug slab, it looks for such slabs and makes
 * them legacy slabs (legacy_begin_rest()). Until then they do no harm: a free into them is an
 * ordinary free.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/fail.h"
#include "core/debug_record.h"
#include "core/isolated.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "inject.h"
#include "debug/debug_cache.h"
#include "debug/fault.h"
#include "pages/topology.h"
#include "core/gate.h"

/* The flags change only under flush_lock. */
static bool has_debug_flags(const struct slab_cache *cache)
{
	return cache_debug_flags(cache) & DEBUG_FLAGS_SLAB;
}

/* --- slabs without debug flags --------------------------------------------------- */

struct sweep {
	struct slab_cache *cache;
	bool left; /* a CPU owns some of them, or another thread has isolated some */
};

/* The slab may leave the cache in the meantime. */
static bool is_plain(const struct slab *slab)
{
	return !__atomic_load_n(&slab->debug, __ATOMIC_RELAXED) &&
	       !slab_is_tagged(slab, SLAB_TAG_DEBUG);
}

/* A full slab is on no list: the thread that sets REMOTE_OWNED isolates it. */
static void sweep_full(struct slab *slab, void *arg)
{
	struct sweep *sweep = arg;
	uint64_t full = 0;

	if (!is_plain(slab) || !has_debug_flags(sweep->cache))
		return;
	if (!__atomic_compare_exchange_n(&slab->remote, &full, REMOTE_OWNED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		sweep->left = true;
		return;
	}
	cpu_inject(CPU_INJECT_FULL_SWEPT);
	if (slab_user(slab) == sweep->cache) {
		legacy_begin(sweep->cache, slab);
	} else { /* the slab went to another cache before REMOTE_OWNED was set */
		slab->next = NULL;
		slab_put_back(slab_user(slab), slab);
	}
}

/* Make some of a node's listed slabs legacy slabs. false: flush_lock was not free in time. */
static bool sweep_listed(struct slab_cache *cache, unsigned n, enum flush_lock_mode how,
			 bool *ret_more)
{
	struct slab *slab = NULL, *next;

	if (!flush_lock_as(cache, how))
		return false;
	if (has_debug_flags(cache))
		slab = node_take(cache, n, ISOLATE_MAX);
	*ret_more = slab;
	for (; slab; slab = next) {
		next = slab->next;
		legacy_begin(cache, slab);
	}
	flush_unlock(cache);
	return true;
}

static bool sweep_lists(struct slab_cache *cache, enum flush_lock_mode how)
{
	for (unsigned n = 0; n < topology_nodes(); n++) {
		bool more = true;

		while (more)
			if (!sweep_listed(cache, n, how, &more))
				return false;
	}
	return true;
}

/* Make all slabs without debug flags legacy slabs. flush_lock is unlocked between slabs. If debug
 * flags are switched off in the meantime, the other slabs stay as they are. If the sweep missed
 * slabs, plain_owned requests another one. */
static void sweep(struct slab_cache *cache, enum flush_lock_mode how)
{
	struct sweep sweep = {.cache = cache};
	unsigned released;

	__atomic_store_n(&cache->plain_owned, false, __ATOMIC_SEQ_CST);
	if (!cache_flush_as(cache, how, &released) || !sweep_lists(cache, how) ||
	    !flush_each_slab(cache, how, sweep_full, &sweep) || sweep.left)
		__atomic_store_n(&cache->plain_owned, true, __ATOMIC_RELAXED);
}

void legacy_begin_rest(struct slab_cache *cache)
{
	if (__atomic_load_n(&cache->plain_owned, __ATOMIC_RELAXED) && has_debug_flags(cache))
		sweep(cache, FLUSH_LOCK_TIMED);
}

/* --- slabs with debug flags ------------------------------------------------------------ */

struct placing {
	struct slab_cache *cache;
	unsigned released;
};

/* Put a slab where it belongs under the cache's present debug flags: on the debug list or off it.
 * With no debug flags, a legacy slab becomes an ordinary slab again. */
static void place(struct slab *slab, void *arg)
{
	struct placing *placing = arg;
	struct slab_cache *cache = placing->cache;
	struct cache_node *node = &cache->node[__atomic_load_n(&slab->node, __ATOMIC_RELAXED)];
	bool unused = false, ordinary = false;

	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return;
	pthread_mutex_lock(&node->lock);
	if (slab_user(slab) != cache || !slab_is_tagged(slab, SLAB_TAG_DEBUG) ||
	    debug_is_guarded(slab)) {
		/* It is guarded, or was released or changed its kind before the lock was taken. */
	} else if (!slab_is_legacy(slab)) {
		unused = debug_slab_place(cache, slab);
	} else {
		legacy_collect(slab);
		unused = !slab->legacy_used;
		ordinary = !unused && !(cache_debug_flags(cache) & DEBUG_FLAGS_SLAB);
		if (unused)
			slab_withdraw(slab);
		else if (ordinary)
			legacy_end(cache, slab);
	}
	pthread_mutex_unlock(&node->lock);
	placing->released += unused;
	if (unused)
		slab_release(cache, slab);
	else if (ordinary)
		placing->released += slab_put_back(cache, slab);
}

unsigned legacy_finish(struct slab_cache *cache)
{
	struct placing placing = {.cache = cache};

	if (__atomic_load_n(&cache->had_debug_flags, __ATOMIC_RELAXED))
		flush_each_slab(cache, FLUSH_LOCK_WAIT, place, &placing);
	return placing.released;
}

/* Set the flags. true: the cache now needs debug slabs and did not before. */
static bool set_debug_flags(struct slab_cache *cache, uint64_t debug_flags)
{
	uint64_t old;

	flush_lock(cache);
	old = cache_debug_flags(cache);
	debug_flags |= old & DEBUG_FLAG_TOOL;
	if (debug_flags)
		__atomic_store_n(&cache->had_debug_flags, true, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->debug_flags, debug_flags, __ATOMIC_SEQ_CST);
	cache_gate_set(cache, GATE_DEBUG, debug_flags != 0);
	flush_unlock(cache);
	cpu_inject(CPU_INJECT_DEBUG_SET);
	return debug_flags & DEBUG_FLAGS_SLAB && !(old & DEBUG_FLAGS_SLAB);
}

int slab_cache_debug(struct slab_cache *cache, uint64_t debug_flags)
{
	int cancel;

	if (!cache || cache->magic != CACHE_MAGIC || debug_flags & ~(uint64_t)SLAB_DEBUG_FLAGS)
		return with_errno(-EINVAL);
	cancel = cancel_disable();
	if (debug_flags)
		fault_install();
	if (set_debug_flags(cache, debug_flags))
		sweep(cache, FLUSH_LOCK_WAIT);
	legacy_finish(cache);
	cancel_restore(cancel);
	return 0;
}

/* --- fault injection ----------------------------------------------------------------- */

/* Set flag A on caches that the specification names: it sends their allocations off the fast
 * path, where faults are injected. */
static int flag_cache(struct slab_cache *cache, void *unused)
{
	uint64_t debug_flags = cache_debug_flags(cache) & SLAB_DEBUG_FLAGS;

	(void)unused;
	if (!(debug_flags & SLAB_FAILSLAB) && fail_wants(cache->name))
		slab_cache_debug(cache, debug_flags | SLAB_FAILSLAB);
	return 0;
}

int slab_set_fail(const char *spec)
{
	struct slab_fail wanted = {.set = false};

	if (spec && *spec && !fail_parse(&wanted, spec))
		return with_errno(-EINVAL);
	fail_set(&wanted);
	slab_for_each_cache(flag_cache, NULL);
	return 0;
}
