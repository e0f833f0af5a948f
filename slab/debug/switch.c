/* SPDX-License-Identifier: MIT */
/*
 * Changing the debug flags of a cache that is in use.
 *
 * A slab keeps its debug flags, so a switch rebuilds no slab:
 *
 *   on      allocations leave the fast path; all slabs without debug flags become legacy slabs; the
 *           objects of arrays and magazines return to them
 *   other   slabs with the new debug flags serve allocations; slabs with other flags become
 *           legacy slabs
 *   off     legacy slabs without debug flags become ordinary slabs again; debug slabs become
 *           legacy slabs; allocations return to the fast path
 *
 * A thread that was creating a slab or worked on one while debug flags were switched on leaves an
 * ordinary slab behind, which it lists. Before libslab creates a debug slab, it makes such slabs
 * legacy slabs and drains the arrays again (legacy_begin_rest()). Until then they do no harm: a
 * free into them is an ordinary free. Objects that such a thread has put into an array stay there
 * until the array is drained for another reason.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/fail.h"
#include "core/debug_record.h"
#include "core/flush_lock.h"
#include "core/gate.h"
#include "core/shard.h"
#include "core/slab.h"
#include "inject.h"
#include "debug/debug_cache.h"
#include "debug/fault.h"
#include "percpu/closing.h"

/* The flags change only under flush_lock. */
static bool has_debug_flags(const struct slab_cache *cache)
{
	return cache_debug_flags(cache) & DEBUG_FLAGS_SLAB;
}

/* --- slabs without debug flags --------------------------------------------------- */

struct sweep {
	struct slab_cache *cache;
	bool left; /* some stay ordinary slabs */
};

/* The slab may leave the cache in the meantime. */
static bool is_plain(const struct slab *slab)
{
	return !__atomic_load_n(&slab->debug, __ATOMIC_RELAXED) &&
	       !slab_is_tagged(slab, SLAB_TAG_DEBUG);
}

static void sweep_one(struct slab *slab, void *arg)
{
	struct sweep *sweep = arg;

	if (is_plain(slab) && has_debug_flags(sweep->cache) && !legacy_begin(sweep->cache, slab))
		sweep->left = true;
}

/* Make all slabs without debug flags legacy slabs. flush_lock is unlocked between slabs. If debug
 * flags are switched off in the meantime, the other slabs stay as they are. Arrays are drained
 * last: then nearly all frees know that the slabs are legacy slabs. If the sweep missed something,
 * plain_left requests another one. */
static void sweep(struct slab_cache *cache)
{
	struct sweep sweep = {.cache = cache};

	__atomic_store_n(&cache->plain_left, false, __ATOMIC_SEQ_CST);
	flush_each_slab(cache, sweep_one, &sweep);
	if (cache_drain(cache, NULL, NULL) < 0 || sweep.left)
		__atomic_store_n(&cache->plain_left, true, __ATOMIC_RELAXED);
}

/* Legacy slabs are on no list. */
static bool has_listed(const struct slab_cache *cache)
{
	shard_each (shard, cache)
		if (__atomic_load_n(&shard->buckets, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&shard->empty, __ATOMIC_RELAXED))
			return true;
	return false;
}

void legacy_begin_rest(struct slab_cache *cache)
{
	if (has_debug_flags(cache) &&
	    (__atomic_load_n(&cache->plain_left, __ATOMIC_RELAXED) || has_listed(cache)))
		sweep(cache);
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
	struct debug_lock lock;
	bool unused = false;

	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return;
	lock = debug_lock(cache, slab);
	/* It may have been released or changed its kind before the lock was taken. */
	if (GUARD(place_ours, debug_is_ours(cache, slab, &lock)) && !debug_is_guarded(slab))
		unused = lock.shard ? legacy_place(cache, lock.shard, slab)
				    : debug_slab_place(cache, slab);
	debug_unlock(&lock);
	placing->released += unused;
	if (unused)
		slab_release(cache, slab);
}

unsigned legacy_finish(struct slab_cache *cache)
{
	struct placing placing = {.cache = cache};

	if (__atomic_load_n(&cache->had_debug_flags, __ATOMIC_RELAXED))
		flush_each_slab(cache, place, &placing);
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
	GUARD_STEP(debug_gate, cache_gate_set(cache, GATE_DEBUG, debug_flags != 0));
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
		sweep(cache);
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
