/* SPDX-License-Identifier: MIT */
/*
 * Free slabs: slabs that no cache has.
 *
 * A free slab that holds memory is on the list of its size and node (free_lists.c). The slab that
 * was freed last is used first, whatever geometry it had, so the end of the list has been unused for
 * longest. If the geometry differs, the memory gets another descriptor. Decay returns the memory at the end of
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
#include "base/fail.h"
#include "base/signals.h"
#include "pages/account.h"
#include "pages/free_lists.h"
#include "pages/huge.h"
#include "pages/idle.h"
#include "pages/metadata.h"
#include "pages/os.h"
#include "pages/queue.h"
#include "pages/topology.h"

#define TRIM_BATCH 16u /* slabs whose memory a thread returns before it locks again */

static struct slab_queue returning; /* free slabs whose memory a thread is returning */

/* --- geometries ----------------------------------------------------------------------- */

struct geometry *geometry_get_debug(unsigned slab_shift, unsigned objects, size_t side)
{
	struct geometry *geometry;

	segment_lock();
	geometry = metadata_geometry(slab_shift, objects, side);
	segment_unlock();
	return geometry;
}

struct geometry *geometry_get(unsigned slab_shift, unsigned objects)
{
	return geometry_get_debug(slab_shift, objects, 0);
}

/* --- taking --------------------------------------------------------------------------- */

/* A request for a slab. */
struct request {
	struct geometry *geometry;
	unsigned node;
	bool huge; /* fresh memory is to be a huge page */
};

/* The huge page becomes a free slab, which is split. */
static enum missing missing_for_huge(unsigned node)
{
	const struct geometry *piece = free_piece_geometry(HUGE_SHIFT);

	return piece && metadata_has(piece->metadata, node) ? MISSING_HUGE : MISSING_PIECES;
}

/* With the lock: what is missing to take a slab. */
static enum missing missing(const struct request *request)
{
	const struct geometry *geometry = request->geometry;
	enum missing what;
	const struct slab *slab = free_list_find(geometry->slab_shift, request->node, &what);

	if (what || (slab && slab->geometry == geometry))
		return what;
	if (!metadata_has(geometry->metadata, request->node))
		return MISSING_METADATA;
	if (slab)
		return MISSING_NOTHING;
	if (request->huge)
		return missing_for_huge(request->node);
	return segment_has_range(geometry->slab_shift, request->node) ? MISSING_NOTHING
								      : MISSING_RANGE;
}

/* With the lock: replace the descriptor of a free slab by one of another geometry. */
static struct slab *describe_again(const struct geometry *geometry, struct slab *other)
{
	struct slab *slab = free_describe(geometry, other->node, other->cpu.base, other->populated);

	metadata_put(other, decay_epoch() + 1);
	return slab;
}

/* With the lock, if nothing is missing: take a slab, one with memory if possible. */
static struct slab *take(const struct request *request)
{
	const struct geometry *geometry = request->geometry;
	struct slab *slab = free_list(geometry->slab_shift, request->node)->first;

	if (slab) {
		free_list_remove(slab);
		if (slab->geometry != geometry)
			slab = describe_again(geometry, slab);
	} else {
		slab = free_describe(geometry, request->node,
				     segment_take_range(geometry->slab_shift, request->node), 0);
	}
	slab_set_idle_since(slab, 0);
	slab_set_unbacked(slab, 0, 0);
	return slab;
}

/* The huge page that a thread populates. One thread at a time does so. */
static char *populating;

/* With the lock: begin a huge page. */
static bool begin_huge(unsigned node)
{
	if (populating || !segment_has_range(HUGE_SHIFT, node))
		return false;
	populating = segment_take_range(HUGE_SHIFT, node);
	return true;
}

/* Make a free slab of the huge page if it was populated and there is a descriptor. */
static void end_huge(bool done, unsigned node)
{
	const struct geometry *piece;

	segment_lock();
	piece = free_piece_geometry(HUGE_SHIFT);
	if (done && piece && metadata_has(piece->metadata, node)) {
		free_list_add(free_describe(piece, node, populating, HUGE_PAGE));
		populating = NULL;
	}
	segment_unlock();
	if (!populating)
		return;
	os_discard(populating, HUGE_PAGE);
	segment_lock();
	segment_put_range(populating, HUGE_SHIFT);
	populating = NULL;
	segment_unlock();
}

/* Populate a huge page and make it a free slab. Signals are blocked, as for `returning`. */
static SLAB_SLOWPATH void make_huge(const struct request *request)
{
	uint64_t mask = signals_block();
	bool mine;

	segment_lock();
	mine = begin_huge(request->node);
	segment_unlock();
	if (mine)
		end_huge(huge_populate(populating), request->node);
	signals_restore(mask);
}

/* Map descriptors for pieces of slabs. */
static bool map_pieces(unsigned node)
{
	const struct geometry *piece = geometry_get(SLAB_SHIFT_MIN, 1);

	return piece && metadata_map(piece->metadata, node);
}

/* Map or populate what is missing. false and ENOMEM. */
static SLAB_SLOWPATH bool provide(enum missing what, const struct request *request)
{
	if (what == MISSING_METADATA)
		return metadata_map(request->geometry->metadata, request->node);
	if (what == MISSING_PIECES)
		return map_pieces(request->node);
	if (what == MISSING_HUGE) {
		make_huge(request);
		return true;
	}
	return segment_map(request->geometry->slab_shift, request->node);
}

struct slab *segment_take_slab(struct geometry *geometry, unsigned node)
{
	struct request request = {
		.geometry = geometry,
		.node = node,
		/* The first call reads a file, so no lock is held. */
		.huge = geometry->slab_shift <= SLAB_SHIFT_MAX && huge_is_wanted(),
	};
	struct slab *slab = NULL;
	bool provided = false;

	while (!slab) {
		enum missing what;

		segment_lock();
		what = missing(&request);
		/* os_map() injects failures, too. */
		if (what == MISSING_NOTHING && !provided && fail_pages()) {
			segment_unlock();
			errno = ENOMEM;
			return NULL;
		}
		if (what == MISSING_NOTHING)
			slab = take(&request);
		segment_unlock();
		if (!slab && !provide(what, &request))
			return NULL;
		provided = true;
		request.huge &= what != MISSING_HUGE;
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
	/* A single page takes its page fault when it is first written to: a call costs more. */
	if (end - slab->populated > os_page_size())
		os_populate(slab->cpu.base + slab->populated, end - slab->populated);
	__atomic_store_n(&slab->populated, (uint32_t)end, __ATOMIC_RELAXED);
}

/* --- freeing -------------------------------------------------------------------------- */

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
	segment_set_number(slab, 0);
	__atomic_store_n(&slab->cpu.user, NULL, __ATOMIC_RELEASE);
	segment_discard_at_once(slab);
	segment_lock();
	free_list_add(slab);
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
		free_list_remove(slab);
		queue_add_head(&returning, slab);
		isolated[n] = slab;
	}
	return n;
}

/* With the lock: move a slab from `returning` to its list. */
static void list_again(struct slab *slab)
{
	queue_remove(&returning, slab);
	free_list_add(slab);
}

void segment_after_fork_child(void)
{
	segment_lock();
	while (returning.first)
		list_again(returning.first);
	if (populating) {
		os_discard(populating, HUGE_PAGE);
		segment_put_range(populating, HUGE_SHIFT);
		populating = NULL;
	}
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
			while (trim->slabs < most && trim_some(free_list(shift, node), trim))
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

void segment_trim_metadata(void)
{
	metadata_decay(0, true);
}

size_t segment_decay(uint32_t epoch, bool (*may_discard)(const struct slab *slab))
{
	struct trim ripe = {.may_discard = may_discard, .epoch = epoch};

	huge_review();
	trim(&ripe);
	return ripe.bytes;
}

unsigned slab_least_shift(void)
{
	const unsigned page = (unsigned)__builtin_ctzl(os_page_size());

	return page > SLAB_SHIFT_MIN ? page : SLAB_SHIFT_MIN;
}
