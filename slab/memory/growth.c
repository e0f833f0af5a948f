/* SPDX-License-Identifier: MIT */
/*
 * Reviews: empty slabs of caches that no CPU has used since the last review go to the page layer,
 * where every cache finds them. One thread at a time runs a review; the others go on.
 */
#include "memory/growth.h"
#include "base/cancel.h"
#include "core/isolated.h"
#include "core/registry.h"
#include "core/slab.h"
#include "memory/shrink.h"
#include "pages/free_slabs.h"
#include "pages/topology.h"
#include "percpu/refill.h"

#include <errno.h>

/* A review follows when the process has grown by 1/GROWTH_PART, or by GROWTH_STEP if that is more. */
#define GROWTH_PART 8u
#define GROWTH_STEP ((uint64_t)256 << 10)

uint64_t growth_from = (uint64_t)1 << 20;

static uint32_t reviewing; /* atomic: a review is running */

static uint64_t next_from(uint64_t used)
{
	return used + (used / GROWTH_PART > GROWTH_STEP ? used / GROWTH_PART : GROWTH_STEP);
}

static bool has_listed(const struct slab_cache *cache)
{
	for (unsigned n = 0; n < topology_nodes(); n++)
		if (__atomic_load_n(&cache->node[n].partial.count, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* Would the release wait? */
static bool is_locked(struct slab_cache *cache)
{
	if (!flush_trylock(cache))
		return true;
	flush_unlock(cache);
	return false;
}

/* Release the empty slabs of a cache that was not used since the last review. A destructor may wait
 * for a lock that the application holds while it allocates, so caches with one are left to decay. */
static void review(struct slab_cache *cache)
{
	struct activity *activity = &cache->activity;
	unsigned released;
	bool holds;
	uint64_t trace;

	if (cache->dtor || is_locked(cache))
		return;
	trace = cpu_use_trace(cache, &holds);

	if (trace != activity->growth_trace) {
		activity->growth_trace = trace;
		return;
	}
	if (holds)
		cache_flush_as(cache, FLUSH_LOCK_TIMED, &released);
	if (holds || has_listed(cache))
		cache_release_empty(cache, FLUSH_LOCK_TIMED);
	activity->growth_trace = cpu_use_trace(cache, &holds);
}

static bool begin(void)
{
	uint32_t no = 0;

	return __atomic_compare_exchange_n(&reviewing, &no, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void growth_review(void)
{
	int saved = errno, cancel;
	struct slab_cache *cache = NULL;

	if (flush_lock_is_held() || debug_is_destroying() || !begin())
		return;
	cancel = cancel_disable();
	__atomic_store_n(&growth_from, next_from(account_used()), __ATOMIC_RELAXED);
	while ((cache = registry_next_pinned(cache, false)))
		review(cache);
	segment_trim_metadata();
	__atomic_store_n(&reviewing, 0, __ATOMIC_RELEASE);
	cancel_restore(cancel);
	errno = saved;
}

void growth_after_decay(void)
{
	const uint64_t from = next_from(account_used());

	if (from < __atomic_load_n(&growth_from, __ATOMIC_RELAXED))
		__atomic_store_n(&growth_from, from, __ATOMIC_RELAXED);
}

void growth_after_fork_child(void)
{
	reviewing = 0;
}
