/* SPDX-License-Identifier: MIT */
/*
 * Decay: returning memory to the operating system after a time without use (SLAB_DECAY_MS).
 *
 * A *pass* of maintenance runs four times in a decay time. The number of a pass is its epoch.
 * A pass returns memory that was idle for a decay time:
 *
 *   arrays of CPUs      A pass closes and empties them (percpu/closing.h) when no CPU used the
 *                       cache since the last pass, and returns the pages of long ones. It
 *                       empties the arrays of a busy cache once in a decay time, so that
 *                       what one of its CPUs kept since a peak comes back
 *   empty slabs         A pass releases those that the cache did not need since the last pass,
 *                       but for min_partial (cache_tick()), and all whose decay time is over
 *   partial slabs       A slab gets the epoch of the pass that finds it on a list; if the cache is
 *                       idle, the epoch of its last use. It loses this epoch when a thread
 *                       allocates from it. A pass takes the slabs whose decay time is over off
 *                       the lists, returns their pages without objects in use, and lists them
 *                       again. They count as *purged* until an object is freed into them
 *   free units          The free units of the page layer have the epoch of the pass after their
 *                       free, or an older epoch that their slab had (segment_decay())
 *
 * A slab that is allocated from and freed into alternately is never idle and keeps its memory.
 *
 * Pages within slabs. No thread allocates from a slab that is off the lists, and a thread that
 * frees into it only sets bits. So a page can be returned if the bit of each of its objects is set,
 * or they were never initialized. Objects in arrays and magazines, or waiting for a grace period,
 * have no bit set and count as in use. The contents of a returned page are lost. Slabs of caches
 * with a constructor or destructor, and of type-safe caches, therefore keep their pages. Zeroed
 * objects (SLAB_ZERO=free) are zero on a fresh page, too. `unbacked` counts returned pages for the
 * statistics alone; a page fault brings them back.
 *
 * Huge pages. Where the system always uses transparent huge pages ("always"), returning a part
 * of a huge page breaks it up for good. A pass does that only if at least half of the huge page
 * is free. A later pass, after another decay time, checks huge pages again that were kept.
 *
 * When passes run. The timer of the control thread runs them, or slab_maintain(), or
 * slab_control_dispatch(). Slow paths set a flag (idle_kick()). Passes end when the flag was not
 * set in the last QUIET_EPOCHS: by then a pass has visited every cache once more, has emptied the
 * arrays of CPUs (which sets the flag), and has returned free memory. After that, all arrays are
 * empty, and a CPU's first allocation or free takes a slow path, which sets the flag and starts the
 * timer again. So an idle process is never woken. A thread sets the flag after its operation; even
 * if the thread is delayed in between, passes go on for longer than a decay time. The child of a
 * fork has no control thread. Its first slow path starts one (server.c), and passes go on. A
 * process that only calls slab_malloc() starts one when it becomes large; before that only
 * slab_maintain() runs passes. In a process whose malloc() is libslab, or whose thread cannot
 * start, slow paths run the passes that are due (maintain.c).
 *
 * Only one pass runs at a time. It holds no lock while it runs destructors or returns pages.
 */
#include "memory/decay.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/probe.h"
#include "base/signals.h"
#include "core/flush_lock.h"
#include "core/init.h"
#include "core/registry.h"
#include "core/shard.h"
#include "core/slab.h"
#include "inject.h"
#include "memory/growth.h"
#include "memory/holders.h"
#include "memory/shrink.h"
#include "memory/turn.h"
#include "pages/free_slabs.h"
#include "pages/huge.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "percpu/closing.h"
#include "percpu/length.h"

#include <pthread.h>
#include <slab/memory.h>
#include <slab/slab.h>

/* slab->idle_since of a purged slab is PURGED and the number of its free objects then: with more of
 * them it may have more memory to return. */
#define PURGED UINT32_C(0xffff0000)

static bool huge_pages; /* atomic: the system always used huge pages when the last pass began */

/* --- huge pages ---------------------------------------------------------------------- */

bool decay_breaks_up(size_t used, size_t bytes)
{
	return used <= bytes / 2;
}

/* Bytes in use of any slab. A snapshot: other threads may change it. */
static size_t used_bytes(const struct slab *slab)
{
	unsigned objects = __atomic_load_n(&slab->objects, __ATOMIC_RELAXED);

	if (slab_large(slab))
		return slab_bytes(slab);
	if (!slab_user(slab))
		return 0;
	if (slab_is_tagged(slab, SLAB_TAG_DEBUG) || !objects)
		return slab_bytes(slab);
	return slab_bytes(slab) * slab_used(slab) / objects;
}

bool decay_would_waste(const struct slab *slab)
{
	char *huge = (char *)((uintptr_t)slab->base & ~(HUGE_PAGE - 1));
	size_t used = 0, bytes;

	/* The first pages of a segment are inaccessible, so no huge page contains them. */
	if (huge == segment_start(huge))
		return false;
	for (char *at = huge; at < huge + HUGE_PAGE; at += bytes) {
		const struct slab *other = slab_of(at);

		bytes = (size_t)1 << SEGMENT_UNIT_SHIFT;
		if (other != &slab_none) {
			bytes = slab_bytes(other);
			used += used_bytes(other);
		}
	}
	return !decay_breaks_up(used, HUGE_PAGE);
}

bool decay_may_discard(const struct slab *slab)
{
	return !__atomic_load_n(&huge_pages, __ATOMIC_RELAXED) || !decay_would_waste(slab);
}

/* --- pages within a slab ---------------------------------------------------------------- */

bool decay_is_unused(const struct slab *slab, size_t size, size_t from, size_t end)
{
	const unsigned initialized = slab_initialized(slab);

	for (size_t i = from / size; i < initialized && i * size < end; i++)
		if (!slab_bit(slab, (unsigned)i))
			return false;
	return true;
}

/* Return the unused pages of a slab that is off the lists. Returns the bytes without memory, from
 * all purges. */
static size_t discard_pages(const struct slab *slab, size_t size)
{
	const size_t page = os_page_size(),
		     bytes = __atomic_load_n(&slab->populated, __ATOMIC_RELAXED);
	size_t from = 0, end, gone = 0;

	for (; from < bytes; from = end) {
		bool unused = decay_is_unused(slab, size, from, from + page);

		for (end = from + page; end < bytes; end += page)
			if (decay_is_unused(slab, size, end, end + page) != unused)
				break;
		if (unused && segment_discard_part(slab->base + from, end - from))
			gone += end - from;
	}
	return gone;
}

/*
 * Treat unbacked pages behind the last initialized object as never populated. The thread that
 * initializes objects there populates the pages in a batch, not with one page fault each.
 * Pages of free objects stay `populated`: allocations take these objects as they are. Memory
 * beyond `populated` is zero (large_calloc()). Returns the bytes of `gone` that are left.
 */
static size_t forget_end(struct slab *slab, size_t size, size_t gone)
{
	const size_t made = os_pages(slab_initialized(slab) * size);
	uint32_t end = __atomic_load_n(&slab->populated, __ATOMIC_RELAXED);

	if (made >= end || gone < end - made)
		return gone;
	/* A thread that took objects before may populate more just now. */
	if (!__atomic_compare_exchange_n(&slab->populated, &end, (uint32_t)made, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return gone;
	return gone - (end - made);
}

/* Does the application rely on the contents of free objects? */
static bool keeps_contents(const struct slab_cache *cache)
{
	return cache->ctor || cache->dtor || cache->flags & SLAB_TYPESAFE_BY_RCU;
}

/* --- listed slabs -------------------------------------------------------------------------- */

/* A walk over the listed slabs of a cache, by a pass or by slab_trim(). */
struct visit {
	struct slab_cache *cache;
	bool all; /* also slabs whose decay time is not over */
	uint32_t epoch;
	uint32_t idle_from; /* the epoch of a slab that has none yet */
	/* Slabs of this piece that are off the lists, neighbours on cache->purging. */
	unsigned purging;
	struct slab *first; /* of these */
	unsigned ripe; /* empty slabs of the shard whose decay time is over */
	size_t bytes; /* returned to the OS */
};

static bool is_purged(const struct slab *slab)
{
	return slab_idle_since(slab) >= PURGED;
}

/* With the shard's lock. */
static bool is_due(const struct visit *visit, struct slab *slab)
{
	if (is_purged(slab) && (uint16_t)slab_idle_since(slab) == slab->free)
		return false;
	if (is_purged(slab))
		slab_set_idle_since(slab, visit->epoch);
	else if (!slab_idle_since(slab))
		slab_set_idle_since(slab, visit->idle_from);
	return visit->all || decay_is_ripe(slab_idle_since(slab), visit->epoch);
}

static bool look(struct shard *shard, struct slab *slab, void *arg)
{
	struct visit *visit = arg;
	const bool is_empty = slab->bucket == SLAB_EMPTY;

	if (!is_empty && keeps_contents(visit->cache))
		return true;
	if (!is_due(visit, slab))
		return true;
	if (is_empty) {
		visit->ripe++;
		return true;
	}
	slab_take_off(shard, slab);
	purge_begin(visit->cache, slab);
	if (!visit->purging)
		visit->first = slab;
	visit->purging++;
	return true;
}

/* Returns the number of bytes. */
static size_t give_pages(const struct slab_cache *cache, struct slab *slab)
{
	const size_t before = slab_held(slab), gone = discard_pages(slab, cache->size);
	size_t left;

	if (gone <= __atomic_load_n(&slab->unbacked, __ATOMIC_RELAXED) * UNBACKED_BYTES)
		return 0;
	left = forget_end(slab, cache->size, gone);
	__atomic_store_n(&slab->unbacked, (uint16_t)(left / UNBACKED_BYTES), __ATOMIC_RELAXED);
	return before - slab_held(slab);
}

/* Return the unused pages of a slab, with no lock held, and list it again. If a huge page should
 * stay whole, the slab keeps its pages and its idle time starts again. */
static void purge(struct visit *visit, struct slab *slab)
{
	struct slab_cache *cache = visit->cache;
	const bool may = visit->all || decay_may_discard(slab);
	const unsigned free = slab_free_count(slab);

	if (may)
		visit->bytes += give_pages(cache, slab);
	slab_set_idle_since(slab, may ? PURGED | free : visit->epoch);
	flush_lock(cache);
	purge_end(cache, slab);
	flush_unlock(cache);
}

/* Other threads add slabs to cache->purging behind those of this thread, and remove their own
 * ones. */
static void purge_all(struct visit *visit)
{
	struct slab *slab = visit->first, *next;

	for (unsigned left = visit->purging; left; left--, slab = next) {
		next = left > 1 ? slab->next : NULL; /* others change that of the last one */
		purge(visit, slab);
	}
}

/* One piece of a walk over a shard. false: it was the last one. */
static bool visit_piece(struct visit *visit, struct shard_walk *walk)
{
	const uint64_t mask = signals_block();
	bool more;

	visit->purging = 0;
	flush_lock(visit->cache);
	more = shard_walk_piece(walk, look, visit);
	flush_unlock(visit->cache);
	cpu_inject(CPU_INJECT_PURGE_BEGUN);
	purge_all(visit);
	signals_restore(mask);
	return more;
}

static void visit_shard(struct visit *visit, struct shard *shard)
{
	struct shard_walk walk = {.shard = shard};
	unsigned empties;

	visit->ripe = 0;
	while (visit_piece(visit, &walk))
		;
	empties = __atomic_load_n(&shard->empties, __ATOMIC_RELAXED);
	if (visit->ripe)
		shard_release(visit->cache, shard,
			      empties > visit->ripe ? empties - visit->ripe : 0);
}

static bool has_listed(const struct shard *shard)
{
	return __atomic_load_n(&shard->partial, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&shard->empties, __ATOMIC_RELAXED);
}

static void visit_shards(struct visit *visit)
{
	shard_each (shard, visit->cache)
		if (has_listed(shard))
			visit_shard(visit, shard);
}

/* --- what CPUs hold --------------------------------------------------------------------------- */

/* Each pass selects another quarter of the caches, so that it visits every busy cache once in a
 * decay time. */
static bool is_selected(const struct slab_cache *cache, uint32_t now)
{
	/* Handles of one size lie at multiples of it, so the high bits of a product decide. */
	const uint64_t mixed = (uintptr_t)cache / CPU_CACHELINE * UINT64_C(0x9e3779b97f4a7c15);

	return ((mixed >> 32) + now) % DECAY_EPOCHS == 0;
}

/* Without a limit the first free into an array takes a slow path, too, which sets the flag. Returns
 * true if an array had one. */
static bool reset_limits(struct slab_cache *cache)
{
	const char *arrays = cache_own_arrays(cache);
	bool any = false;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_array *array = cpu_array(arrays, cpu);

		if (!cpu_array_limit(array))
			continue;
		cpu_array_set_limit(array, 0);
		any = true;
	}
	return any;
}

/* Return the pages of long arrays, which are closed and empty. */
static void discard_arrays(struct slab_cache *cache, void *unused)
{
	(void)unused;
	if (!cache_has_long_arrays(cache))
		return;
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		cpu_array_discard(cache_own_arrays(cache), (int)cpu);
}

/* Empty the arrays if the cache was idle since the last pass, or if it is its turn. Returns the
 * epoch of its last use. */
static uint32_t take_back(struct slab_cache *cache, uint32_t now)
{
	struct activity *activity = &cache->activity;
	bool holds, is_idle, changes = false;
	uint64_t trace = cpu_use_trace(cache, &holds);

	if (trace != activity->trace || !activity->last_epoch) {
		activity->trace = trace;
		activity->last_epoch = now;
	}
	is_idle = activity->last_epoch != now;
	if (holds && (is_idle || is_selected(cache, now))) {
		cache_drain(cache, is_idle ? discard_arrays : NULL, NULL);
		changes = true;
	}
	if (is_idle)
		changes |= reset_limits(cache);
	if (changes) {
		idle_kick();
		/* This changed the state, too; it must not count as use. */
		activity->trace = cpu_use_trace(cache, &holds);
	}
	return activity->last_epoch;
}

static void visit_cache(struct slab_cache *cache, uint32_t now)
{
	struct visit visit = {.cache = cache, .epoch = now};

	visit.idle_from = take_back(cache, now);
	visit_shards(&visit); /* empty slabs get their epochs before they leave */
	cache_tick(cache);
}

/* --- passes ---------- */

static void pass(void)
{
	struct pin pin = {0};
	uint32_t now = decay_begin_pass();

	SLAB_PROBE(decay_begin, now);
	__atomic_store_n(&huge_pages, huge_is_system_always(), __ATOMIC_RELAXED);
	while (registry_next_pinned(&pin))
		visit_cache(pin.cache, now);
	segment_decay(now);
	growth_after_decay();
	holders_note();
	decay_end_pass();
	SLAB_PROBE(decay_end, now);
}

void decay_tick(uint64_t now)
{
	if (decay_is_asleep() || !turn_take(TURN_DECAY))
		return;
	if (decay_take_due(now))
		pass();
	turn_end(TURN_DECAY);
}

long decay_wait(void)
{
	return decay_is_asleep() ? 0 : decay_wait_from(clock_us());
}

long decay_maintain(uint64_t now)
{
	decay_tick(now);
	return decay_is_asleep() ? -1 : decay_wait_from(now);
}

/* --- at once ---------- */

size_t decay_trim(unsigned *ret_slabs)
{
	const uint32_t next = decay_epoch() + 1;
	struct visit visit = {.all = true, .epoch = next, .idle_from = next};
	struct pin pin = {0};
	size_t bytes;

	slab_init();
	*ret_slabs = 0;
	bytes = segment_trim();
	while ((visit.cache = registry_next_pinned(&pin))) {
		*ret_slabs += cache_shrink(visit.cache);
		visit_shards(&visit);
	}
	return bytes + visit.bytes + segment_trim();
}

size_t slab_trim(void)
{
	int cancel = cancel_disable();
	unsigned slabs;
	size_t bytes = decay_trim(&slabs);

	cancel_restore(cancel);
	return bytes;
}
