/* SPDX-License-Identifier: MIT */
/*
 * Free slabs: slabs that no cache has.
 *
 * A free slab that holds memory is on the list of its size and node. The slab that was freed last
 * is used first, whatever geometry it had, so the end of the list has been unused for longest. If
 * the geometry differs, the memory gets another descriptor. Decay returns the memory at the end of
 * the list (decay.c), and segment_trim() returns all of it at once. A slab without memory does not
 * exist: its units are free, and so is its descriptor.
 *
 * slab_populate() takes page faults in batches, because a page fault costs more than everything
 * else here.
 *
 * A thread returns memory without the lock: it moves the slabs to the queue `returning` before, and
 * back to their list afterwards. The child of a fork lists the slabs that threads of its parent had
 * there. The thread blocks signals meanwhile: otherwise a handler could fork, and in the child this
 * thread would go on returning the memory of slabs that the child has listed.
 */
#include <errno.h>
#include <slab/stats.h>

#include "pages/free_slabs.h"
#include "base/compiler.h"
#include "base/signals.h"
#include "config/fail.h"
#include "pages/account.h"
#include "pages/idle.h"
#include "pages/metadata.h"
#include "pages/os.h"
#include "pages/queue.h"
#include "pages/topology.h"

#define GEOMETRIES_MAX 256u
#define SHIFTS (LARGE_SHIFT_MAX + 1 - SLAB_SHIFT_MIN)
#define TRIM_BATCH 16u /* slabs whose memory a thread returns before it locks again */

struct geometry {
	unsigned slab_shift;
	struct metadata_class *metadata;
};

static struct geometry geometries[GEOMETRIES_MAX];
static SLAB_EARLY unsigned geometry_count;
/* Free slabs that hold memory, by size and node. */
static struct slab_queue free_slabs[SHIFTS][SLAB_STATS_MAX_NODES];
static struct slab_queue returning; /* free slabs whose memory a thread is returning */

/* --- geometries ----------------------------------------------------------------------- */

/* With the lock; NULL: there are too many. */
static struct geometry *find_or_make(unsigned slab_shift, struct metadata_class *metadata)
{
	struct geometry *geometry;

	for (unsigned i = 0; i < geometry_count; i++)
		if (geometries[i].slab_shift == slab_shift && geometries[i].metadata == metadata)
			return &geometries[i];
	if (geometry_count == GEOMETRIES_MAX)
		return NULL;
	geometry = &geometries[geometry_count++];
	*geometry = (struct geometry){.slab_shift = slab_shift, .metadata = metadata};
	return geometry;
}

struct geometry *geometry_get_debug(unsigned slab_shift, unsigned objects, size_t side)
{
	struct metadata_class *metadata;
	struct geometry *found = NULL;

	segment_lock();
	metadata = metadata_class_get(objects, side);
	if (metadata)
		found = find_or_make(slab_shift, metadata);
	segment_unlock();
	if (!found)
		errno = ENOMEM;
	return found;
}

struct geometry *geometry_get(unsigned slab_shift, unsigned objects)
{
	return geometry_get_debug(slab_shift, objects, 0);
}

/* --- taking --------------------------------------------------------------------------- */

static struct slab_queue *list_of(unsigned shift, unsigned node)
{
	return &free_slabs[shift - SLAB_SHIFT_MIN][node];
}

/* What is missing to take a slab of a geometry? */
enum missing { MISSING_NOTHING, MISSING_METADATA, MISSING_RANGE };

/* With the lock. */
static enum missing missing(const struct geometry *geometry, unsigned node)
{
	const struct slab *first = list_of(geometry->slab_shift, node)->first;

	if (first && first->geometry == geometry)
		return MISSING_NOTHING;
	if (!metadata_has(geometry->metadata, node))
		return MISSING_METADATA;
	if (!first && !segment_has_range(geometry->slab_shift, node))
		return MISSING_RANGE;
	return MISSING_NOTHING;
}

/* With the lock: give a range of units, or the memory of another geometry's free slab, a
 * descriptor. */
static struct slab *describe(struct geometry *geometry, unsigned node, struct slab *other)
{
	struct slab *slab = metadata_take(geometry->metadata, node);

	slab->geometry = geometry;
	slab->shift = (uint8_t)geometry->slab_shift;
	if (other) {
		slab->cpu.base = other->cpu.base;
		slab->populated = other->populated;
	} else {
		slab->cpu.base = segment_take_range(geometry->slab_shift, node);
	}
	segment_lead_to(slab, slab);
	if (other)
		metadata_put(other, decay_epoch() + 1);
	return slab;
}

/* With the lock, if nothing is missing: take a slab, one with memory if possible. */
static struct slab *take(struct geometry *geometry, unsigned node)
{
	struct slab_queue *list = list_of(geometry->slab_shift, node);
	struct slab *slab = list->first;

	if (slab) {
		queue_remove(list, slab);
		slab_pages.free_slab_bytes -= slab_held(slab);
	}
	if (!slab || slab->geometry != geometry)
		slab = describe(geometry, node, slab);
	slab_set_idle_since(slab, 0);
	slab_set_unbacked(slab, 0, 0);
	return slab;
}

/* Map what is missing. false and ENOMEM. */
static SLAB_SLOWPATH bool map(enum missing what, struct geometry *geometry, unsigned node)
{
	if (what == MISSING_METADATA)
		return metadata_map(geometry->metadata, node);
	return segment_map(geometry->slab_shift, node);
}

struct slab *segment_take_slab(struct geometry *geometry, unsigned node)
{
	struct slab *slab = NULL;
	bool mapped = false;

	while (!slab) {
		enum missing what;

		segment_lock();
		what = missing(geometry, node);
		/* os_map() injects failures, too. */
		if (what == MISSING_NOTHING && !mapped && fail_pages()) {
			segment_unlock();
			errno = ENOMEM;
			return NULL;
		}
		if (what == MISSING_NOTHING)
			slab = take(geometry, node);
		segment_unlock();
		if (!slab && !map(what, geometry, node))
			return NULL;
		mapped = true;
	}
	return slab;
}

void slab_populate(struct slab *slab, size_t bytes)
{
	size_t end = os_pages(bytes);

	if (end > slab_bytes(slab))
		end = slab_bytes(slab);
	if (end <= slab->populated)
		return;
	os_populate(slab->cpu.base + slab->populated, end - slab->populated);
	__atomic_store_n(&slab->populated, (uint32_t)end, __ATOMIC_RELAXED);
}

/* --- freeing -------------------------------------------------------------------------- */

/* With the lock: free the units and the descriptor of a slab that holds no memory. */
static void dissolve(struct slab *slab)
{
	segment_lead_to(slab, &slab_none);
	segment_put_range(slab->cpu.base, slab->shift);
	metadata_put(slab, slab->idle_since ? slab->idle_since : decay_epoch() + 1);
}

/* With the lock. Slabs that were idle before they were freed go to the end of the list. */
static void list_free(struct slab *slab)
{
	struct slab_queue *list = list_of(slab->shift, slab->node);
	size_t held = slab_held(slab);

	slab_pages.free_slab_bytes += held;
	if (!held) {
		dissolve(slab);
	} else if (slab->idle_since) {
		queue_add_tail(list, slab);
	} else {
		/* the next pass is the first that can find the slab idle */
		slab_set_idle_since(slab, decay_epoch() + 1);
		queue_add_head(list, slab);
	}
}

/* Return the memory of an isolated free slab; returns the number of bytes. */
static size_t discard(struct slab *slab)
{
	size_t held = slab_held(slab);

	if (!held || !os_discard(slab->cpu.base, slab_bytes(slab)))
		return 0;
	slab_set_unbacked(slab, 0, 0);
	__atomic_store_n(&slab->populated, 0, __ATOMIC_RELAXED);
	return held;
}

void segment_discard_at_once(struct slab *slab)
{
	if (decay_at_once())
		discard(slab);
}

void segment_free_slab(struct slab *slab)
{
	__atomic_store_n(&slab->cpu.user, NULL, __ATOMIC_RELEASE);
	segment_discard_at_once(slab);
	segment_lock();
	list_free(slab);
	segment_unlock();
	idle_kick();
}

/* --- returning memory ----------------------------------------------------------------- */

struct trim {
	/* NULL: all slabs. Else only slabs that are ripe in `epoch` (idle.h) and for which this
	 * function returns true. */
	bool (*may_discard)(const struct slab *slab);
	uint32_t epoch;
	unsigned slabs;
	size_t bytes;
};

/* With the lock: take up to TRIM_BATCH slabs from the end of a list; returns their number. */
static unsigned take_some(struct slab_queue *list, const struct trim *trim,
			  struct slab *isolated[TRIM_BATCH])
{
	struct slab *slab;
	unsigned n = 0;

	for (; n < TRIM_BATCH && (slab = list->last); n++) {
		if (trim->may_discard && !decay_is_ripe(slab->idle_since, trim->epoch))
			break;
		slab_pages.free_slab_bytes -= slab_held(slab);
		queue_remove(list, slab);
		queue_add_head(&returning, slab);
		isolated[n] = slab;
	}
	return n;
}

/* With the lock: move a slab from `returning` to its list. */
static void list_again(struct slab *slab)
{
	queue_remove(&returning, slab);
	list_free(slab);
}

void segment_after_fork_child(void)
{
	segment_lock();
	while (returning.first)
		list_again(returning.first);
	metadata_after_fork_child();
	segment_unlock();
}

/* A slab may keep its memory, because a huge page would break or because the memory is locked. Its
 * idle time starts again, so the next attempt follows in a decay time. */
static void trim_one(struct trim *trim, struct slab *slab)
{
	bool may = !trim->may_discard || trim->may_discard(slab);
	size_t bytes = may ? discard(slab) : 0;

	trim->bytes += bytes;
	trim->slabs += bytes != 0;
	if (!bytes)
		slab_set_idle_since(slab, 0);
}

/* Return the memory of some free slabs. false: there was none to return. */
static bool trim_some(struct slab_queue *list, struct trim *trim)
{
	struct slab *isolated[TRIM_BATCH];
	size_t before = trim->bytes;
	uint64_t mask = signals_block();
	unsigned found;

	segment_lock();
	found = take_some(list, trim, isolated);
	segment_unlock();
	for (unsigned i = 0; i < found; i++)
		trim_one(trim, isolated[i]);
	segment_lock();
	for (unsigned i = 0; i < found; i++)
		list_again(isolated[i]);
	segment_unlock();
	signals_restore(mask);
	return found && (trim->may_discard || trim->bytes != before);
}

static void trim(struct trim *trim)
{
	uint64_t most;

	segment_lock();
	/* An upper limit, however many slabs other threads free meanwhile. */
	most = slab_pages.segment_count * SEGMENT_UNITS;
	segment_unlock();
	for (unsigned shift = SLAB_SHIFT_MIN; shift <= LARGE_SHIFT_MAX; shift++)
		for (unsigned node = 0; node < topology_nodes(); node++)
			while (trim->slabs < most && trim_some(list_of(shift, node), trim))
				;
	metadata_decay(trim->epoch, !trim->may_discard);
}

unsigned segment_trim(size_t *ret_bytes)
{
	struct trim all = {.may_discard = NULL};

	trim(&all);
	if (ret_bytes)
		*ret_bytes = all.bytes;
	return all.slabs;
}

size_t segment_decay(uint32_t epoch, bool (*may_discard)(const struct slab *slab))
{
	struct trim ripe = {.may_discard = may_discard, .epoch = epoch};

	trim(&ripe);
	return ripe.bytes;
}
