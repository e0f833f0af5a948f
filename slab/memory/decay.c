/* SPDX-License-Identifier: MIT */
/*
 * Returning memory to the operating system after a time without use.
 *
 * A *pass* of maintenance runs four times in a decay time (SLAB_DECAY_MS). The passes are
 * numbered: epochs. Memory that was idle for a decay time is returned:
 *
 *   what CPUs hold      is taken back (cache_revoke()) when no CPU used the cache since
 *                       the last pass, and listed as idle since its last use. From a
 *                       busy cache it is taken once in a decay time: the CPU soon owns
 *                       again the slabs that it works on, and those that it kept
 *                       since a peak stay listed
 *   listed slabs        get the number of the pass that finds them on their node's
 *                       list, and lose it when a thread allocates from them
 *                       (decay_begin_use()). A pass isolates those that are ripe: the
 *                       empty ones go to the page layer, min_partial or not; the others
 *                       return their pages without objects in use, and are *purged*
 *                       until an object is freed into them
 *   free slabs          of the page layer have the number of the pass after their free,
 *                       or an older one that they came with (segment.c)
 *
 * A slab that is allocated from and freed into alternately is never idle, so its memory stays.
 *
 * Pages within slabs. An isolated slab has its free objects on its own freelist, after it
 * was collected; no thread allocates from it, and a thread that frees into it writes beside
 * the objects. Objects on that freelist are unused; objects that are last-freed, in a remote
 * batch, or waiting for a grace period are not on it and count as in use. So a page whose
 * objects are all on the freelist, or were never initialized, can be returned. Its contents
 * are lost, which matters only with a constructor or destructor, or when readers may look
 * at freed objects (type-safe): such slabs keep their pages. Zeroed objects
 * (SLAB_ZERO=free) are zero on a fresh page, too. unbacked[] records such pages for the
 * statistics alone; a page fault brings them back. Objects on pages that are still backed
 * come first on the freelist afterwards.
 *
 * Huge pages. Where the system uses them always (transparent huge pages "always"),
 * returning a part of one breaks it up, for good. That is worth it for those that are
 * mostly free. A page that is kept for this reason is checked again in the next decay time.
 *
 * When there are passes. The control thread's timer runs them, or slab_maintain(), or
 * slab_control_dispatch(). Slow paths set a flag (idle_kick()), and passes end when it was
 * not set in the last QUIET_EPOCHS: by then a pass has visited every cache once more, has
 * taken back what CPUs held (which sets the flag), and has returned what was free. After
 * that, a thread that does more than to free one object per CPU sets the flag, in a slow path
 * or when it frees into a LIFO, and starts the timer again. An idle process is therefore never woken. A thread sets
 * the flag after what it did; even if it is delayed in between, passes go on for longer
 * than a decay time. The child of a fork has no control thread: it starts one with its
 * first slow path (server.c), and passes go on.
 *
 * One pass runs at a time, without locks of its own: destructors run in it, while nothing
 * is locked (release.c), on caches that are pinned (registry.h). Pages are returned with no
 * lock held (isolated.h).
 */
#include "memory/decay.h"
#include "base/cancel.h"
#include "base/signals.h"
#include "base/clock.h"
#include "config/options.h"
#include "core/isolated.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "memory/shrink.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/topology.h"
#include "registry/init.h"
#include "registry/registry.h"

#include <fcntl.h>
#include <pthread.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

static uint32_t passing; /* a pass runs */
static bool huge_pages;  /* they are used here: as of this pass */

/* --- huge pages ---------------------------------------------------------------------- */

/* libslab itself never requests huge pages. */
static bool huge_pages_are_always_on(void)
{
	char text[64] = "";
	int fd;

	if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
		return false;
	fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strstr(text, "[always]") != NULL;
}

bool decay_breaks_up(size_t used, size_t bytes)
{
	return used <= bytes / 2;
}

/* Of any slab, at about this moment. */
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
	size_t used = 0;

	/* The first pages of a segment cannot be accessed, so they are in no huge one. */
	if (huge < segment_of(slab)->base)
		return false;
	for (char *at = huge; at < huge + HUGE_PAGE; at += slab_bytes(slab))
		used += used_bytes(slab_of(at));
	return !decay_breaks_up(used, HUGE_PAGE);
}

bool decay_may_discard(const struct slab *slab)
{
	return !__atomic_load_n(&huge_pages, __ATOMIC_RELAXED) || !decay_would_waste(slab);
}

/* --- pages within a slab ---------------------------------------------------------------- */

/* Of a slab, UNBACKED_BYTES each. */
static void set_units(uint64_t units[2], size_t first, size_t end)
{
	for (size_t unit = first; unit < end; unit++)
		units[unit / 64] |= UINT64_C(1) << unit % 64;
}

static bool is_set(const uint64_t *map, size_t i)
{
	return map[i / 64] >> i % 64 & 1;
}

void decay_used_pages(const struct slab *slab, const uint64_t *free_map, uint64_t used[2])
{
	const size_t size = slab_size(slab), in_page = os_page_size() - 1;

	used[0] = used[1] = 0;
	for (unsigned i = 0; i < slab_initialized(slab); i++)
		if (!is_set(free_map, i))
			set_units(used, (i * size & ~in_page) / UNBACKED_BYTES,
				  os_pages((i + 1) * size) / UNBACKED_BYTES);
}

/* Runs of unused pages; the returned ones are set in unbacked[]. */
static size_t discard_pages(struct slab *slab, const uint64_t used[2])
{
	uint64_t unbacked[2] = {slab->unbacked[0], slab->unbacked[1]};
	size_t units = slab->populated / UNBACKED_BYTES, bytes = 0, end;

	for (size_t unit = 0; unit < units; unit = end) {
		bool idle = !is_set(used, unit) && !is_set(slab->unbacked, unit);
		size_t length;

		for (end = unit + 1; end < units; end++)
			if (idle != (!is_set(used, end) && !is_set(slab->unbacked, end)))
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

/* Free objects on unbacked pages go to the bottom of the freelist. */
static void put_unbacked_last(struct slab *slab, const uint64_t *free_map)
{
	const size_t size = slab_size(slab);
	uint16_t taken[CPU_BATCH_MAX];

	while (cpu_slab_take(&slab->cpu, CPU_BATCH_MAX, taken))
		;
	for (int is_unbacked = 1; is_unbacked >= 0; is_unbacked--)
		for (unsigned i = slab->initialized; i-- > 0;) {
			uint16_t offset8 = (uint16_t)(i * slab->cpu.size8);

			if (is_set(free_map, i) &&
			    is_set(slab->unbacked, i * size / UNBACKED_BYTES) == (bool)is_unbacked)
				cpu_slab_put(&slab->cpu, 1, &offset8);
		}
}

/*
 * Pages behind the objects that were made were never populated, so to speak: the next objects
 * that are made there take their page faults in one go. Free objects are handed out as they
 * are, so their pages stay populated: what is not is zero (large_calloc()).
 */
static void forget_end(struct slab *slab)
{
	const size_t made = os_pages(slab_initialized(slab) * slab_size(slab)) / UNBACKED_BYTES;
	uint64_t unbacked[2] = {slab->unbacked[0], slab->unbacked[1]};
	size_t units = slab->populated / UNBACKED_BYTES;

	for (; units > made && is_set(unbacked, units - 1); units--)
		unbacked[(units - 1) / 64] &= ~(UINT64_C(1) << (units - 1) % 64);
	slab_set_unbacked(slab, unbacked[0], unbacked[1]);
	__atomic_store_n(&slab->populated, (uint32_t)(units * UNBACKED_BYTES), __ATOMIC_RELAXED);
}

/* The application relies on the contents of its free objects. */
static bool keeps_contents(const struct slab_cache *cache)
{
	return cache->ctor || cache->dtor || cache->flags & SLAB_TYPESAFE_BY_RCU;
}

/* --- listed slabs -------------------------------------------------------------------------- */

/* One node's, of one pass, or of slab_trim(). */
struct visit {
	struct slab_cache *cache;
	unsigned node;
	bool all;     /* what is not ripe, too */
	uint32_t epoch;
	size_t bytes; /* returned to the OS */
	uint64_t map[SLAB_MAP_WORDS]; /* of one slab's free objects */
};

/* Under the node's lock. */
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

/* Of an isolated slab, collected, with no lock held: how many bytes were returned. */
static size_t give_pages(struct visit *visit, struct slab *slab)
{
	uint64_t used[2];

	if (keeps_contents(visit->cache) || slab_map_free(slab, visit->map))
		return 0;
	decay_used_pages(slab, visit->map, used);
	return discard_pages(slab, used);
}

/* A slab in use returns its pages and is purged; for the sake of a huge page it may
 * have to come again. Its freelist changes under flush_lock: the child of a fork has it whole. */
static void purge(struct visit *visit, struct slab *slab)
{
	bool may = visit->all || decay_may_discard(slab);
	size_t bytes = may ? give_pages(visit, slab) : 0;

	pthread_mutex_lock(&visit->cache->flush_lock);
	if (bytes && !slab_options()->random)
		put_unbacked_last(slab, visit->map);
	if (bytes)
		forget_end(slab);
	slab_set_idle_since(slab, may ? IDLE_PURGED : visit->epoch);
	purge_end(visit->cache, slab);
	pthread_mutex_unlock(&visit->cache->flush_lock);
	visit->bytes += bytes;
}

/* In and out with flush_lock, without it meanwhile. */
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

/* Empty slabs are released, the others purged. */
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
		/* Another thread is emptying a slab. */
		.sparse = !__atomic_load_n(&visit->cache->defragging, __ATOMIC_RELAXED),
		.wants = is_due,
		.look = look,
		.arg = visit,
	});
}

/* --- what CPUs hold --------------------------------------------------------------------------- */

static uint64_t mix(uint64_t trace, uint64_t value)
{
	return (trace ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* Whatever a CPU does to a cache moves something of this, but for frees into slabs that
 * are not its current one while all of them keep free objects. */
static uint64_t trace_of(const struct slab_cache *cache, bool *ret_holds)
{
	uint64_t trace = 0;

	*ret_holds = cache_has_taken(cache);
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		const struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
		const struct cpu_slab *current;

		if (!cpu_holds(cache, cpu))
			continue;
		*ret_holds = true;
		current = __atomic_load_n(&slot->current, __ATOMIC_RELAXED);
		trace = mix(trace, cpu);
		trace = mix(trace, __atomic_load_n(&slot->last_freed, __ATOMIC_RELAXED));
		trace = mix(trace, __atomic_load_n(&cpu_lifo(cache->cpu_lifos, cpu)->count,
						   __ATOMIC_RELAXED));
		trace = mix(trace, (uintptr_t)current);
		trace = mix(trace, current ? cpu_slab_free_count(current) : 0);
		trace = mix(trace, __atomic_load_n(&slot->partial, __ATOMIC_RELAXED));
		trace = mix(trace, __atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED));
		for (unsigned event = 0; event < CPU_EVENTS; event++)
			trace = mix(trace, __atomic_load_n(&slot->event[event], __ATOMIC_RELAXED));
	}
	return trace;
}

/* Each pass looks at another part of the busy caches. */
static bool is_selected(const struct slab_cache *cache, uint32_t now)
{
	return ((uintptr_t)cache / CPU_CACHELINE + now) % DECAY_EPOCHS == 0;
}

/* Take back what CPUs hold, if it is time. */
static void take_back(struct slab_cache *cache, uint32_t now)
{
	struct activity *activity = &cache->activity;
	bool holds;
	uint64_t trace = trace_of(cache, &holds);

	if (trace != activity->trace || !activity->last_epoch) {
		activity->trace = trace;
		activity->last_epoch = now;
	}
	if (!holds || (activity->last_epoch == now && !is_selected(cache, now)))
		return;
	cache_revoke(cache, activity->last_epoch);
	idle_kick();
	/* That was not its own doing. */
	activity->trace = trace_of(cache, &holds);
}

static void visit_cache(struct slab_cache *cache, uint32_t now)
{
	struct visit visit = {.cache = cache, .epoch = now};

	take_back(cache, now);
	for (visit.node = 0; visit.node < topology_nodes(); visit.node++)
		visit_node(&visit);
}

/* --- passes --------------------------------------------------------------------------------------- */

static void pass(void)
{
	struct slab_cache *cache = NULL;
	uint32_t now = decay_begin_pass();

	__atomic_store_n(&huge_pages, huge_pages_are_always_on(), __ATOMIC_RELAXED);
	while ((cache = registry_next_pinned(cache, true)))
		visit_cache(cache, now);
	segment_decay(now, decay_may_discard);
	decay_end_pass();
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

/* --- at once ------------------------------------------------------------------------------------------ */

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
