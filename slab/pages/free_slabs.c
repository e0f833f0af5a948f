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
#include "pages/huge.h"
#include "pages/idle.h"
#include "pages/metadata.h"
#include "pages/os.h"
#include "pages/queue.h"
#include "pages/topology.h"

#define TRIM_BATCH 16u /* slabs whose memory a thread returns before it locks again */

/* Free slabs that hold memory, by size and node. Most machines have only node 0. */
static SLAB_EARLY struct slab_queue free_slabs_of_node0[SLAB_SHIFTS];
static struct slab_queue free_slabs[SLAB_SHIFTS][SLAB_STATS_MAX_NODES];
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

/* --- lists -------------------------------------------------------------------------- */

static struct slab_queue *list_of(unsigned shift, unsigned node)
{
	const unsigned i = shift - SLAB_SHIFT_MIN;

	return node ? &free_slabs[i][node] : &free_slabs_of_node0[i];
}

/* With the lock: free the units and the descriptor of a slab that holds no memory. */
static void dissolve(struct slab *slab)
{
	segment_lead_to(slab, &slab_none);
	segment_put_range(slab->cpu.base, slab->shift);
	metadata_put(slab, slab->idle_since ? slab->idle_since : decay_epoch() + 1);
}

/* Has this slab been idle for at least as long as the one at the end of the list? */
static bool is_oldest(const struct slab_queue *list, const struct slab *slab)
{
	const struct slab *last = list->last;

	if (!last || slab->idle_since == IDLE_PURGED)
		return true;
	return last->idle_since != IDLE_PURGED &&
	       (int32_t)(slab->idle_since - last->idle_since) <= 0;
}

/* With the lock. Decay takes slabs from the end of the list up to the first that is not ripe. So a
 * slab that was idle before it was freed goes to the end only if none there is older. */
static void list_free(struct slab *slab)
{
	struct slab_queue *list = list_of(slab->shift, slab->node);
	size_t held = slab_held(slab);

	slab_pages.free_slab_bytes += held;
	if (!held) {
		dissolve(slab);
	} else if (slab->idle_since && is_oldest(list, slab)) {
		queue_add_tail(list, slab);
	} else {
		/* the next pass is the first that can find the slab idle */
		if (!slab->idle_since)
			slab_set_idle_since(slab, decay_epoch() + 1);
		queue_add_head(list, slab);
	}
}

/* --- taking --------------------------------------------------------------------------- */

/* What is missing to take a slab of a geometry? */
enum missing { MISSING_NOTHING, MISSING_METADATA, MISSING_RANGE, MISSING_HUGE };

/* A request for a slab. */
struct request {
	struct geometry *geometry;
	unsigned node;
	bool huge; /* fresh memory is to be a huge page */
};

/* With the lock. */
static enum missing missing(const struct request *request)
{
	const struct geometry *geometry = request->geometry;
	const struct slab *first = list_of(geometry->slab_shift, request->node)->first;

	if (first && first->geometry == geometry)
		return MISSING_NOTHING;
	if (!metadata_has(geometry->metadata, request->node))
		return MISSING_METADATA;
	if (first)
		return MISSING_NOTHING;
	if (request->huge)
		return MISSING_HUGE;
	return segment_has_range(geometry->slab_shift, request->node) ? MISSING_NOTHING
								      : MISSING_RANGE;
}

/* With the lock, while there is a descriptor: make a slab of a range of units, of which the first
 * `populated` bytes hold memory. */
static struct slab *describe(const struct geometry *geometry, unsigned node, char *base,
			     uint32_t populated)
{
	struct slab *slab = metadata_take(geometry->metadata, node);

	slab->geometry = geometry;
	slab->shift = (uint8_t)geometry->slab_shift;
	slab->cpu.base = base;
	slab->populated = populated;
	segment_lead_to(slab, slab);
	return slab;
}

/* With the lock: replace the descriptor of a free slab by one of another geometry. */
static struct slab *describe_again(const struct geometry *geometry, struct slab *other)
{
	struct slab *slab = describe(geometry, other->node, other->cpu.base, other->populated);

	metadata_put(other, decay_epoch() + 1);
	return slab;
}

/* With the lock, if nothing is missing: take a slab, one with memory if possible. */
static struct slab *take(const struct request *request)
{
	const struct geometry *geometry = request->geometry;
	struct slab_queue *list = list_of(geometry->slab_shift, request->node);
	struct slab *slab = list->first;

	if (slab) {
		queue_remove(list, slab);
		slab_pages.free_slab_bytes -= slab_held(slab);
		if (slab->geometry != geometry)
			slab = describe_again(geometry, slab);
	} else {
		slab = describe(geometry, request->node,
				segment_take_range(geometry->slab_shift, request->node), 0);
	}
	slab_set_idle_since(slab, 0);
	slab_set_unbacked(slab, 0, 0);
	return slab;
}

/* The huge page that a thread populates, without what it has cut off at its end. One thread at a
 * time does so. */
static struct {
	char *start;
	size_t bytes;
} huge_page;

/* Make the last piece of the huge page a free slab. */
static void cut_off(const struct request *request)
{
	const unsigned shift = request->geometry->slab_shift;
	const uint32_t bytes = UINT32_C(1) << shift;
	char *piece = huge_page.start + huge_page.bytes - bytes;
	bool done;

	do {
		segment_lock();
		done = metadata_has(request->geometry->metadata, request->node);
		if (done) {
			list_free(describe(request->geometry, request->node, piece, bytes));
			huge_page.bytes -= bytes;
		}
		segment_unlock();
	} while (!done && metadata_map(request->geometry->metadata, request->node));
	if (done)
		return;
	os_discard(piece, bytes);
	segment_lock();
	segment_put_range(piece, shift);
	huge_page.bytes -= bytes;
	segment_unlock();
}

/* With the lock: begin a huge page. */
static bool begin_huge(unsigned node)
{
	if (huge_page.bytes || !segment_has_range(HUGE_SHIFT, node))
		return false;
	huge_page.start = segment_take_range(HUGE_SHIFT, node);
	huge_page.bytes = HUGE_PAGE;
	return true;
}

/* With the lock: free the units of what is left of the huge page, which holds no memory. */
static void end_huge(void)
{
	for (; huge_page.bytes; huge_page.bytes -= (size_t)1 << SEGMENT_UNIT_SHIFT)
		segment_put_range(huge_page.start + huge_page.bytes -
					  ((size_t)1 << SEGMENT_UNIT_SHIFT),
				  SEGMENT_UNIT_SHIFT);
}

/* Populate a huge page and cut it into free slabs, the lowest of which is taken first. Signals are
 * blocked, as for `returning`. */
static SLAB_SLOWPATH void make_huge(const struct request *request)
{
	uint64_t mask = signals_block();
	bool mine;

	segment_lock();
	mine = begin_huge(request->node);
	segment_unlock();
	if (mine) {
		bool done = huge_populate(huge_page.start);

		while (done && huge_page.bytes)
			cut_off(request);
		segment_lock();
		end_huge();
		segment_unlock();
	}
	signals_restore(mask);
}

/* Map or populate what is missing. false and ENOMEM. */
static SLAB_SLOWPATH bool provide(enum missing what, const struct request *request)
{
	if (what == MISSING_METADATA)
		return metadata_map(request->geometry->metadata, request->node);
	if (what == MISSING_HUGE) {
		make_huge(request);
		return true;
	}
	return segment_map(request->geometry->slab_shift, request->node);
}

struct slab *segment_take_slab(struct geometry *geometry, unsigned node)
{
	struct request request = {.geometry = geometry, .node = node};
	struct slab *slab = NULL;
	bool provided = false;

	while (!slab) {
		enum missing what;

		/* The first call reads a file, so no lock is held. */
		request.huge =
			!provided && geometry->slab_shift <= SLAB_SHIFT_MAX && huge_is_wanted();
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
	if (huge_page.bytes)
		os_discard(huge_page.start, huge_page.bytes);
	end_huge();
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

	huge_review();
	trim(&ripe);
	return ripe.bytes;
}

unsigned slab_least_shift(void)
{
	const unsigned page = (unsigned)__builtin_ctzl(os_page_size());

	return page > SLAB_SHIFT_MIN ? page : SLAB_SHIFT_MIN;
}
