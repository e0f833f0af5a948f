/* SPDX-License-Identifier: MIT */
/*
 * Decay: returning memory to the operating system after a time without use (SLAB_DECAY_MS).
 *
 * A *pass* of maintenance runs four times in a decay time. The number of a pass is its epoch.
 * A pass returns memory that was idle for a decay time:
 *
 *   slabs of CPUs       A pass revokes them (cache_revoke()) when no CPU used the cache since
 *                       the last pass, and lists them as idle since that use. It revokes the
 *                       slabs of a busy cache once in a decay time: the CPU soon owns the
 *                       slabs again that it works on, and slabs that it kept since a peak
 *                       stay listed
 *   listed slabs        A slab gets the epoch of the pass that finds it on its node's list.
 *                       It loses this epoch when a thread allocates from it
 *                       (decay_begin_use()). A pass isolates the slabs whose decay time is
 *                       over. Empty ones go to the page layer, even below min_partial. The
 *                       others return the pages without objects in use, and count as
 *                       *purged* until an object is freed into them
 *   free slabs          A free slab of the page layer has the epoch of the pass after its
 *                       free, or an older epoch that it had as a listed slab (segment.c)
 *
 * A slab that is allocated from and freed into alternately is never idle and keeps its memory.
 *
 * Pages within slabs. After slab_collect(), the free objects of an isolated slab are on its own
 * freelist. No thread allocates from the slab, and a thread that frees into it does not write
 * to the objects. Objects in a LIFO, in a remote batch, or waiting for a grace period are not on
 * the freelist and count as in use. So a page can be returned if all its objects are
 * on the freelist or were never initialized. Its contents are lost. Slabs of caches with a
 * constructor or destructor, and of type-safe caches, therefore keep their pages. Zeroed
 * objects (SLAB_ZERO=free) are zero on a fresh page, too. unbacked[] records returned pages for
 * the statistics alone; a page fault brings them back. Afterwards the freelist has objects on
 * backed pages first.
 *
 * Huge pages. Where the system always uses transparent huge pages ("always"), returning a part
 * of a huge page breaks it up for good. A pass does that only if at least half of the huge page
 * is free. A later pass, after another decay time, checks huge pages again that were kept.
 *
 * When passes run. The timer of the control thread runs them, or slab_maintain(), or
 * slab_control_dispatch(). Slow paths set a flag (idle_kick()). Passes end when the flag was not
 * set in the last QUIET_EPOCHS: by then a pass has visited every cache once more, has revoked the
 * slabs of CPUs (which sets the flag), and has returned free memory. After that, all LIFOs are
 * closed, and a CPU's first allocation or free takes a slow path, which sets the flag and starts
 * the timer again. So an idle process is never woken. A thread sets the flag after its operation;
 * even if the thread is delayed in between, passes go on for longer than a decay time. The child
 * of a fork has no control thread. Its first slow path starts one (server.c), and passes go on. A
 * process that only calls slab_malloc() starts one when it becomes large; before that only
 * slab_maintain() runs passes. In a process whose malloc() is libslab, or whose thread cannot start,
 * slow paths run the passes that are due (maintain.c).
 *
 * Only one pass runs at a time. A pass holds no lock while it runs destructors (release.c) or
 * returns pages (isolated.h); it pins the caches that it visits (registry.h).
 */
#include "memory/decay.h"
#include "base/cancel.h"
#include "base/probe.h"
#include "base/signals.h"
#include "base/clock.h"
#include "base/options.h"
#include "core/free_map.h"
#include "core/isolated.h"
#include "core/node.h"
#include "percpu/lifo_length.h"
#include "percpu/magazines.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "memory/growth.h"
#include "memory/shrink.h"
#include "pages/free_slabs.h"
#include "pages/huge.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/topology.h"
#include "core/init.h"
#include "core/registry.h"

#include <pthread.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <string.h>

static uint32_t passing; /* atomic: a pass is running */
static bool huge_pages;  /* atomic: the system always used huge pages when the last pass began */

/* --- huge pages ---------------------------------------------------------------------- */

bool decay_breaks_up(size_t used, size_t bytes)
{
	return used <= bytes / 2;
}

/* Bytes in use of any slab. A snapshot: other threads may change it. */
static size_t used_bytes(const struct slab *slab)
{
	unsigned objects = __atomic_load_n(&slab->objects, __ATOMIC_RELAXED);

	if (__atomic_load_n(&slab->large, __ATOMIC_RELAXED))
		return slab_bytes(slab);
	if (!slab_user(slab))
		return 0;
	if (slab_is_tagged(slab, SLAB_TAG_DEBUG) || !objects)
		return slab_bytes(slab);
	return slab_bytes(slab) * slab_used(slab) / objects;
}

bool decay_would_waste(const struct slab *slab)
{
	char *huge = (char *)((uintptr_t)slab->cpu.base & ~(HUGE_PAGE - 1));
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

/* Set the bits of a range of a slab; a unit has UNBACKED_BYTES. */
static void set_units(uint64_t units[2], size_t first, size_t end)
{
	for (size_t unit = first; unit < end; unit++)
		units[unit / 64] |= UINT64_C(1) << unit % 64;
}

void decay_used_pages(const struct slab *slab, const uint64_t *free_map, uint64_t used[2])
{
	const size_t size = slab_size(slab), in_page = os_page_size() - 1;

	used[0] = used[1] = 0;
	for (unsigned i = 0; i < slab_initialized(slab); i++)
		if (!free_map_has(free_map, i))
			set_units(used, (i * size & ~in_page) / UNBACKED_BYTES,
				  os_pages((i + 1) * size) / UNBACKED_BYTES);
}

/* Return runs of unused pages to the OS, and set them in unbacked[]. Returns their bytes. */
static size_t discard_pages(struct slab *slab, const uint64_t used[2])
{
	uint64_t unbacked[2] = {slab->unbacked[0], slab->unbacked[1]};
	size_t units = slab->populated / UNBACKED_BYTES, bytes = 0, end;

	for (size_t unit = 0; unit < units; unit = end) {
		bool idle = !free_map_has(used, unit) && !free_map_has(slab->unbacked, unit);
		size_t length;

		for (end = unit + 1; end < units; end++)
			if (idle !=
			    (!free_map_has(used, end) && !free_map_has(slab->unbacked, end)))
				break;
		length = (end - unit) * UNBACKED_BYTES;
		if (idle && os_discard(slab->cpu.base + unit * UNBACKED_BYTES, length)) {
			set_units(unbacked, unit, end);
			bytes += length;
		}
	}
	slab_set_unbacked(slab, unbacked[0], unbacked[1]);
	return bytes;
}

/* Move free objects on unbacked pages to the bottom of the freelist. */
static void put_unbacked_last(struct slab *slab)
{
	const size_t size = slab_size(slab);
	uint64_t *free_map = free_map_lock();
	uint16_t taken[CPU_BATCH_MAX];

	slab_map_free(slab, free_map);
	while (cpu_slab_take(&slab->cpu, CPU_BATCH_MAX, taken))
		;
	for (int is_unbacked = 1; is_unbacked >= 0; is_unbacked--)
		for (unsigned i = slab->initialized; i-- > 0;) {
			uint16_t offset8 = (uint16_t)(i * slab->cpu.size8);

			if (free_map_has(free_map, i) &&
			    free_map_has(slab->unbacked, i * size / UNBACKED_BYTES) ==
				    (bool)is_unbacked)
				cpu_slab_put(&slab->cpu, 1, &offset8);
		}
	free_map_unlock();
}

/*
 * Treat unbacked pages behind the last initialized object as never populated. The thread that
 * initializes objects there populates the pages in a batch, not with one page fault each.
 * Pages of free objects stay `populated`: allocations take these objects as they are. Memory
 * beyond `populated` is zero (large_calloc()).
 */
static void forget_end(struct slab *slab)
{
	const size_t made = os_pages(slab_initialized(slab) * slab_size(slab)) / UNBACKED_BYTES;
	uint64_t unbacked[2] = {slab->unbacked[0], slab->unbacked[1]};
	size_t units = slab->populated / UNBACKED_BYTES;

	for (; units > made && free_map_has(unbacked, units - 1); units--)
		unbacked[(units - 1) / 64] &= ~(UINT64_C(1) << (units - 1) % 64);
	slab_set_unbacked(slab, unbacked[0], unbacked[1]);
	__atomic_store_n(&slab->populated, (uint32_t)(units * UNBACKED_BYTES), __ATOMIC_RELAXED);
}

/* Does the application rely on the contents of free objects? */
static bool keeps_contents(const struct slab_cache *cache)
{
	return cache->ctor || cache->dtor || cache->flags & SLAB_TYPESAFE_BY_RCU;
}

/* --- listed slabs -------------------------------------------------------------------------- */

/* A walk over the listed slabs of one node, by a pass or by slab_trim(). */
struct visit {
	struct slab_cache *cache;
	unsigned node;
	bool all;     /* also slabs whose decay time is not over */
	uint32_t epoch;
	size_t bytes; /* returned to the OS */
};

/* Called under the node's lock. */
static bool is_due(struct slab *slab, void *arg)
{
	const struct visit *visit = arg;
	bool freed_into = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED) != REMOTE_OWNED;

	if (slab->idle_since == IDLE_PURGED && !freed_into)
		return false;
	if (slab->idle_since == IDLE_PURGED || !slab->idle_since)
		slab_set_idle_since(slab, visit->epoch);
	return visit->all || decay_is_ripe(slab->idle_since, visit->epoch);
}

/* Return the unused pages of an isolated, collected slab. The caller holds no lock. Returns the
 * number of bytes returned. */
static size_t give_pages(struct visit *visit, struct slab *slab)
{
	uint64_t used[2], *map;
	bool may;

	if (keeps_contents(visit->cache))
		return 0;
	map = free_map_lock();
	may = !slab_map_free(slab, map);
	if (may)
		decay_used_pages(slab, map, used);
	free_map_unlock();
	return may ? discard_pages(slab, used) : 0;
}

/* Purge a slab that has objects in use. If a huge page should stay whole, the slab keeps its
 * pages and its idle time starts again. The freelist changes only under flush_lock, so the child
 * of a fork never finds it half rebuilt. */
static void purge(struct visit *visit, struct slab *slab)
{
	bool may = visit->all || decay_may_discard(slab);
	size_t bytes = may ? give_pages(visit, slab) : 0;

	pthread_mutex_lock(&visit->cache->flush_lock);
	if (bytes && !slab_options()->random)
		put_unbacked_last(slab);
	if (bytes)
		forget_end(slab);
	slab_set_idle_since(slab, may ? IDLE_PURGED : visit->epoch);
	purge_end(visit->cache, slab);
	pthread_mutex_unlock(&visit->cache->flush_lock);
	visit->bytes += bytes;
}

/* The caller holds flush_lock; this function unlocks it while pages are returned. */
static void purge_all(struct visit *visit, struct slab *const *slabs, unsigned count)
{
	uint64_t mask = signals_block();

	for (unsigned i = 0; i < count; i++)
		purge_begin(visit->cache, slabs[i]);
	pthread_mutex_unlock(&visit->cache->flush_lock);
	for (unsigned i = 0; i < count; i++)
		purge(visit, slabs[i]);
	pthread_mutex_lock(&visit->cache->flush_lock);
	signals_restore(mask);
}

/* Release the empty slabs and purge the others. */
static void look(struct slab *isolated, void *arg)
{
	struct visit *visit = arg;
	struct slab *kept[ISOLATE_MAX], *empty = NULL, *next;
	unsigned count = 0;

	for (; isolated; isolated = next) {
		next = isolated->next;
		slab_collect(isolated);
		if (slab_is_empty(isolated)) {
			isolated->next = empty;
			empty = isolated;
		} else {
			kept[count++] = isolated;
		}
	}
	node_release(visit->cache, empty);
	if (count)
		purge_all(visit, kept, count);
}

static void visit_node(struct visit *visit)
{
	list_walk(&(struct list_walk){
		.cache = visit->cache,
		.node = visit->node,
		/* While another thread defragments the cache, leave its sparse slabs alone. */
		.sparse = !__atomic_load_n(&visit->cache->defragging, __ATOMIC_RELAXED),
		.wants = is_due,
		.look = look,
		.arg = visit,
	});
}

/* --- what CPUs hold --------------------------------------------------------------------------- */

/* Each pass selects another quarter of the caches, so that it visits every busy cache once in a
 * decay time. */
static bool is_selected(const struct slab_cache *cache, uint32_t now)
{
	return ((uintptr_t)cache / CPU_CACHELINE + now) % DECAY_EPOCHS == 0;
}

/* Revoke the slabs of CPUs if the cache was idle since the last pass, or if it is its turn. */
static void take_back(struct slab_cache *cache, uint32_t now)
{
	struct activity *activity = &cache->activity;
	bool holds;
	uint64_t trace = cpu_use_trace(cache, &holds);

	if (trace != activity->trace || !activity->last_epoch) {
		activity->trace = trace;
		activity->last_epoch = now;
	}
	if (!holds || (activity->last_epoch == now && !is_selected(cache, now)))
		return;
	cache_revoke(cache, activity->last_epoch);
	idle_kick();
	/* The revocation changed the state, too; it must not count as use. */
	activity->trace = cpu_use_trace(cache, &holds);
}

static void visit_cache(struct slab_cache *cache, uint32_t now)
{
	struct visit visit = {.cache = cache, .epoch = now};

	lifo_review(cache);
	take_back(cache, now);
	for (visit.node = 0; visit.node < topology_nodes(); visit.node++)
		visit_node(&visit);
}

/* --- passes ---------- */

static void pass(void)
{
	struct slab_cache *cache = NULL;
	uint32_t now = decay_begin_pass();

	SLAB_PROBE(decay_begin, now);
	__atomic_store_n(&huge_pages, huge_is_system_always(), __ATOMIC_RELAXED);
	while ((cache = registry_next_pinned(cache, true)))
		visit_cache(cache, now);
	segment_decay(now, decay_may_discard);
	growth_after_decay();
	decay_end_pass();
	SLAB_PROBE(decay_end, now);
}

static bool begin_passing(void)
{
	uint32_t no = 0;

	return __atomic_compare_exchange_n(&passing, &no, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void end_passing(void)
{
	__atomic_store_n(&passing, 0, __ATOMIC_RELEASE);
}

void decay_tick(uint64_t now)
{
	if (decay_is_asleep() || !begin_passing())
		return;
	if (decay_take_due(now))
		pass();
	end_passing();
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
	struct visit visit = {.all = true, .epoch = decay_epoch() + 1};
	size_t before, bytes;

	slab_init();
	*ret_slabs = segment_trim(&before);
	while ((visit.cache = registry_next_pinned(visit.cache, true))) {
		*ret_slabs += cache_shrink(visit.cache);
		for (visit.node = 0; visit.node < topology_nodes(); visit.node++)
			visit_node(&visit);
	}
	segment_trim(&bytes);
	return before + visit.bytes + bytes;
}

size_t slab_trim(void)
{
	int cancel = cancel_disable();
	unsigned slabs;
	size_t bytes = decay_trim(&slabs);

	cancel_restore(cancel);
	return bytes;
}

void decay_after_fork_child(void)
{
	passing = 0;
	decay_clear_after_fork();
}
