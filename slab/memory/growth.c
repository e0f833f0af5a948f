/* SPDX-License-Identifier: MIT */
/*
 * Reviews: caches that no CPU has used since the last review are closed, with one fence for all of
 * them; what their CPUs held goes to the slabs, and the empty slabs to the page layer, where every
 * cache finds them. One thread at a time runs a review; the others go on.
 */
#include "memory/growth.h"
#include "memory/machine.h"
#include "memory/turn.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "core/flush_lock.h"
#include "core/registry.h"
#include "core/shard.h"
#include "core/slab.h"
#include "pages/free_slabs.h"
#include "percpu/closing.h"

#include <errno.h>
#include <pthread.h>

/* A review follows when the process has grown by 1/GROWTH_PART, or by GROWTH_STEP if that is
 * more. */
#define GROWTH_PART 32u
#define GROWTH_STEP ((uint64_t)512 << 10)
/* The same of what the soft limit does. */
#define SOFT_PART 64u
#define SOFT_STEP ((uint64_t)256 << 10)
/* Caches that one fence serves at most, and parts of a review: the thread has come to allocate. The
 * next one goes on there. */
#define CLOSED_MAX 8u
#define PARTS_MAX 8u
#define PARTS_UP_TO 1024u /* caches */

/* The part of the bytes in use that free units may have at a new peak. */
#define LEFT_PART 16u
/* CPUs hold much of a cache if it is MUCH_LEAST bytes or more, and 1/MUCH_PART of the process's. */
#define MUCH_LEAST ((uint64_t)64 << 10)
#define MUCH_PART 1024u

uint64_t growth_from = (uint64_t)1 << 20;
SLAB_EARLY uint64_t growth_peak, growth_peak_from = (uint64_t)1 << 20;

static uint64_t next_from(uint64_t used)
{
	return growth_next(used, GROWTH_PART, GROWTH_STEP);
}

/* How often CPUs have got objects from magazines and slabs. */
static uint64_t count_refills(const struct slab_cache *cache)
{
	uint64_t n = 0;

	shard_each (shard, cache)
		n += __atomic_load_n(&shard->event[SLAB_EVENT_ALLOC_REFILL], __ATOMIC_RELAXED) +
		     __atomic_load_n(&shard->event[SLAB_EVENT_ALLOC_MAGAZINE], __ATOMIC_RELAXED);
	return n;
}

/* Do CPUs hold so much that a cache without refills should return it, though it is used? */
static bool holds_much(const struct slab_cache *cache)
{
	const uint64_t bytes = (arrays_objects(cache) + magazines_objects(cache)) * cache->size;

	return bytes >= MUCH_LEAST && bytes >= account_used() / MUCH_PART;
}

/* Was the cache not used since the last review, or are objects only freed? A destructor may wait
 * for a lock that the application holds while it allocates, so caches with one are left to
 * decay. */
static bool is_unused(struct slab_cache *cache)
{
	struct activity *activity = &cache->activity;
	uint64_t trace, refills;
	bool holds, was_used;

	if (cache->dtor)
		return false;
	trace = cpu_use_trace(cache, &holds);
	refills = count_refills(cache);
	was_used = refills != activity->growth_refills ||
		   (trace != activity->growth_trace && !holds_much(cache));
	activity->growth_trace = trace;
	activity->growth_refills = refills;
	return !was_used && holds;
}

/* Pin unused caches, from the one on at which the last review has stopped; returns their number. */
static unsigned find_unused(struct slab_cache *unused[], struct pin pins[])
{
	static unsigned passed; /* caches that the last reviews have seen */
	struct pin pin = {0};
	unsigned n = 0, at = 0;

	while (n < CLOSED_MAX && registry_next_pinned(&pin)) {
		if (at++ < passed || !is_unused(pin.cache))
			continue;
		unused[n] = pin.cache;
		cache_pin(&pins[n++], pin.cache);
	}
	passed = pin.cache ? at : 0;
	if (pin.cache)
		cache_unpin(&pin);
	return n;
}

/* Returns the number of caches that were closed. */
static unsigned review_some(void)
{
	struct slab_cache *unused[CLOSED_MAX];
	struct pin pins[CLOSED_MAX];
	struct put_bad bad[CLOSED_MAX];
	const unsigned n = find_unused(unused, pins);
	bool holds;

	if (!n)
		return 0;
	caches_drain(unused, n, bad, NULL, NULL);
	for (unsigned i = 0; i < n; i++) {
		cache_release(unused[i], 0);
		unused[i]->activity.growth_trace = cpu_use_trace(unused[i], &holds);
		cache_unpin(&pins[i]);
	}
	return n;
}

/* Each part looks at all caches before those that it closes. */
static void review(void)
{
	const unsigned caches = __atomic_load_n(&registry_count, __ATOMIC_RELAXED),
		       parts = caches <= PARTS_UP_TO ? PARTS_MAX : 1;

	for (unsigned part = 0; part < parts && review_some() == CLOSED_MAX; part++)
		;
}

/* Fresh huge pages are free units, too, so some of these are left. */
static uint64_t needless(void)
{
	const uint64_t bytes = __atomic_load_n(&slab_pages.free_slab_bytes, __ATOMIC_RELAXED),
		       left = account_used() / LEFT_PART;

	return bytes > left ? bytes - left : 0;
}

static void set_peak(uint64_t peak)
{
	__atomic_store_n(&growth_peak, peak, __ATOMIC_RELAXED);
	__atomic_store_n(&growth_peak_from, next_from(peak), __ATOMIC_RELAXED);
}

/* What the last allocation got may not have been touched yet. */
static void stay_below_peak(void)
{
	const uint64_t peak = __atomic_load_n(&growth_peak, __ATOMIC_RELAXED),
		       resident = account_resident();
	uint64_t bytes = needless();

	if (resident <= peak)
		return;
	bytes = bytes < resident - peak ? bytes : resident - peak;
	if (bytes && peak)
		segment_trim_piece(bytes);
	set_peak(account_resident());
}

void growth_review(void)
{
	int saved = errno, cancel;

	if (flush_lock_is_held() || debug_is_destroying() || !turn_take(TURN_REVIEW))
		return;
	cancel = cancel_disable();
	stay_below_peak();
	__atomic_store_n(&slab_pages.reaped, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&growth_from, next_from(account_used()), __ATOMIC_RELAXED);
	machine_look();
	review();
	segment_trim_metadata();
	turn_end(TURN_REVIEW);
	cancel_restore(cancel);
	errno = saved;
}

uint64_t growth_soft_next(void)
{
	const uint64_t limit = __atomic_load_n(&slab_pages.soft_limit, __ATOMIC_RELAXED);
	const uint64_t used = account_used();

	if (!limit)
		return UINT64_MAX;
	return used < limit ? limit : growth_next(used, SOFT_PART, SOFT_STEP);
}

static void lower(uint64_t *from, uint64_t next)
{
	if (next < __atomic_load_n(from, __ATOMIC_RELAXED))
		__atomic_store_n(from, next, __ATOMIC_RELAXED);
}

void growth_after_decay(void)
{
	lower(&growth_from, next_from(account_used()));
	lower(&slab_pages.soft_from, growth_soft_next());
	set_peak(account_resident());
}
