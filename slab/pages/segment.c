/* SPDX-License-Identifier: MIT */
/*
 * The page layer: segments, and the free slabs in them.
 *
 * A segment is SEGMENT_SIZE bytes of address space, aligned to its size and never unmapped:
 *
 *   guard | head | table | descriptor + stack, … | links | side | guard | slabs …
 *
 * A mask turns any address in a segment into the address of its head, and the table leads from
 * there to the descriptor of the address's slab. Descriptors, stacks and links lie between guard
 * pages, where an overflowing object does not reach them. The first guard is as large as the
 * largest page size, so the head has the same offset in every segment; the second guard has at
 * least one page. To the kernel a segment is four mappings.
 *
 * A descriptor is initialized when its slab is first needed; until then its page stays untouched.
 * So a process with one object touches two pages of a segment.
 *
 * All slabs of a segment have one geometry: size, room for objects, and with debug flags room for
 * struct slab_debug (side). A free slab is on the list of its geometry and node, and keeps its
 * memory. The slab that was freed last is used first, so the end of the list has been unused for
 * longest. Decay returns that memory (decay.c), and segment_trim() returns all of it at once.
 * slab_populate() takes page faults in batches, because a page fault costs more than everything
 * else here.
 *
 * One lock, pages_lock, protects the lists for a few instructions at a time. A thread maps a
 * segment without the lock, before other threads know the segment. If two threads do this at once,
 * the second one unmaps its segment again. A fork may leave the child a mapping that is never used.
 *
 * A thread also returns memory without the lock: it moves the slabs to the queue `returning`
 * before, and back to their list afterwards. The child of a fork lists the slabs that threads of
 * its parent had there. The thread blocks signals meanwhile: otherwise a handler could fork, and in
 * the child this thread would go on returning the memory of slabs that the child has listed.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/stats.h>
#include <string.h>

#include "pages/segment.h"
#include "base/compiler.h"
#include "base/round.h"
#include "base/signals.h"
#include "config/fail.h"
#include "pages/account.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/queue.h"
#include "pages/topology.h"

#define GEOMETRIES_MAX 256
#define ROOM_STEP 64u /* rooms are rounded up to this, so that caches share segments */
#define SIDE_STEP ((size_t)4096)
#define TRIM_BATCH 16u /* slabs whose memory a thread returns before it locks again */

struct geometry {
	unsigned slab_shift;
	unsigned room; /* objects that stack and links have entries for */
	size_t side;   /* bytes for a slab's struct slab_debug; 0: no debug slabs */
	struct slab_queue free[SLAB_STATS_MAX_NODES]; /* slabs that hold memory: taken first */
	struct slab_queue unbacked[SLAB_STATS_MAX_NODES]; /* slabs without memory */
	struct segment *fresh[SLAB_STATS_MAX_NODES];  /* with uninitialized descriptors */
};

static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;
static struct geometry geometries[GEOMETRIES_MAX];
static unsigned geometry_count;
static struct slab_queue returning; /* free slabs whose memory a thread is returning: pages_lock */

/* The slab of addresses without a slab: it has no owner and no cache. */
struct slab slab_none = {
	.cpu = {.owner = CPU_NONE, .size8 = 1, .reciprocal = UINT64_C(1) << 32},
	.remote = REMOTE_OWNED,
};

void segment_lock(void)
{
	pthread_mutex_lock(&pages_lock);
}

void segment_unlock(void)
{
	pthread_mutex_unlock(&pages_lock);
}

static struct geometry *get(unsigned slab_shift, unsigned objects, size_t side)
{
	unsigned room = (objects + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
	struct geometry *found = NULL;

	segment_lock();
	for (unsigned i = 0; i < geometry_count && !found; i++)
		if (geometries[i].slab_shift == slab_shift && geometries[i].room == room &&
		    geometries[i].side == side)
			found = &geometries[i];
	if (!found && geometry_count < GEOMETRIES_MAX) {
		found = &geometries[geometry_count++];
		found->slab_shift = slab_shift;
		found->room = room;
		found->side = side;
	}
	segment_unlock();
	if (!found)
		errno = ENOMEM;
	return found;
}

struct geometry *geometry_get(unsigned slab_shift, unsigned objects)
{
	return get(slab_shift, objects, 0);
}

struct geometry *geometry_get_debug(unsigned slab_shift, unsigned objects, size_t side)
{
	return get(slab_shift, objects, round_up(side, SIDE_STEP));
}

bool geometry_is_debug(const struct geometry *geometry)
{
	return geometry && geometry->side;
}

static unsigned stride_of(unsigned room)
{
	return (unsigned)round_up(CPU_SLAB_STACK + room * sizeof(uint16_t), CPU_CACHELINE);
}

/* Offset of the links, which follow the descriptors of n slabs. */
static size_t links_offset(const struct geometry *geometry, unsigned n)
{
	return os_pages(SEGMENT_FIRST_OFFSET + (size_t)n * stride_of(geometry->room));
}

static size_t links_bytes(const struct geometry *geometry)
{
	return geometry->room * sizeof(uint16_t);
}

/* Offset of the first struct slab_debug. */
static size_t side_offset(const struct geometry *geometry, unsigned n)
{
	return os_pages(links_offset(geometry, n) + n * links_bytes(geometry));
}

/* Offset of the second guard. */
static size_t guard_offset(const struct geometry *geometry, unsigned n)
{
	return os_pages(side_offset(geometry, n) + n * geometry->side);
}

static unsigned slabs_that_fit(const struct geometry *geometry)
{
	const size_t page = os_page_size(), bytes = (size_t)1 << geometry->slab_shift;
	unsigned n = (unsigned)(SEGMENT_SIZE / bytes);

	while (round_up(guard_offset(geometry, n) + page, bytes) + n * bytes > SEGMENT_SIZE)
		n--;
	return n;
}

/* Fill in the head of a fresh segment. */
static void segment_format(struct segment *segment, struct geometry *geometry, unsigned node)
{
	unsigned n = slabs_that_fit(geometry);
	char *start = segment_start(segment);

	segment->magic = SEGMENT_MAGIC;
	segment->geometry = geometry;
	segment->mapped = SEGMENT_SIZE;
	segment->room = n;
	segment->stride = stride_of(geometry->room);
	segment->first = start + SEGMENT_FIRST_OFFSET;
	segment->base = start + SEGMENT_SIZE - ((size_t)n << geometry->slab_shift);
	segment->node = node;
	segment->slab_shift = geometry->slab_shift;
	segment->side = geometry->side;
	segment->head_bytes = SEGMENT_FIRST_OFFSET - SEGMENT_HEAD_OFFSET;
	for (unsigned u = 0; u < SEGMENT_UNITS; u++)
		segment_table(segment)[u] = &slab_none;
}

/* Take the first slab off a list; NULL: the list is empty. */
static struct slab *pop(struct slab_queue *list)
{
	struct slab *slab = list->first;

	if (slab)
		queue_remove(list, slab);
	return slab;
}

/* Map a segment that no other thread knows; NULL and ENOMEM. */
static struct segment *segment_map(struct geometry *geometry, unsigned node)
{
	char *start = os_map(SEGMENT_SIZE, SEGMENT_SIZE), *guard;
	struct segment *segment = (struct segment *)(start + SEGMENT_HEAD_OFFSET);

	if (!start)
		return NULL;
	if (topology_is_real() && topology_nodes() > 1)
		os_bind(start, SEGMENT_SIZE, node);
	segment_format(segment, geometry, node);
	guard = start + guard_offset(geometry, segment->room);
	/* The guard in front of the head is necessary too: another segment may end where this one
	 * starts. */
	if (os_protect(start, SEGMENT_HEAD_OFFSET, false) &&
	    os_protect(guard, (size_t)(segment->base - guard), false))
		return segment;
	os_unmap(start, SEGMENT_SIZE);
	errno = ENOMEM;
	return NULL;
}

/* With the lock. Returns NULL, or the segment if it is not needed because another thread was
 * faster. */
static struct segment *segment_publish(struct segment *segment)
{
	struct segment **fresh = &segment->geometry->fresh[segment->node];

	if (*fresh)
		return segment;
	*fresh = segment;
	segment->next = slab_pages.segments;
	__atomic_store_n(&slab_pages.segments, segment, __ATOMIC_RELEASE);
	slab_pages.segment_count++;
	segment_set_known(segment_start(segment), true);
	return NULL;
}

/* Let the table lead from the slab's addresses to its descriptor. */
static void publish_slab(struct segment *segment, struct slab *slab)
{
	const size_t at = (size_t)(slab->cpu.base - segment_start(segment));
	const unsigned first = (unsigned)(at >> SEGMENT_UNIT_SHIFT);
	const unsigned units = 1u << (segment->slab_shift - SEGMENT_UNIT_SHIFT);

	for (unsigned u = first; u < first + units; u++)
		__atomic_store_n(&segment_table(segment)[u], slab, __ATOMIC_RELEASE);
	__atomic_store_n(&segment->slabs, segment->slabs + 1, __ATOMIC_RELEASE);
}

/* With the lock: initialize the next descriptor of a fresh segment. */
static struct slab *initialize_slab(struct geometry *geometry, unsigned node)
{
	struct segment *segment = geometry->fresh[node];
	const unsigned i = segment->slabs;
	struct slab *slab = segment_slab(segment, i);
	char *start = segment_start(segment);
	char *links = start + links_offset(geometry, segment->room);
	char *side = start + side_offset(geometry, segment->room);

	slab->cpu.owner = CPU_NONE;
	slab->cpu.base = segment->base + ((size_t)i << segment->slab_shift);
	slab->remote = REMOTE_OWNED;
	slab->links = (uint16_t *)(links + i * links_bytes(geometry));
	if (geometry->side)
		slab->debug = (struct slab_debug *)(side + i * geometry->side);
	slab->node = (uint8_t)node;
	segment->head_bytes += segment->stride + links_bytes(geometry) + geometry->side;
	publish_slab(segment, slab);
	if (segment->slabs == segment->room)
		geometry->fresh[node] = NULL;
	return slab;
}

/* With the lock: is there a free or uninitialized slab? */
static bool has_slab(const struct geometry *geometry, unsigned node)
{
	return geometry->free[node].first || geometry->unbacked[node].first ||
	       geometry->fresh[node];
}

/* With the lock, after has_slab(): take a slab, one with memory if possible. */
static struct slab *take_slab(struct geometry *geometry, unsigned node)
{
	struct slab *slab = pop(&geometry->free[node]);

	if (!slab)
		slab = pop(&geometry->unbacked[node]);
	if (!slab)
		slab = initialize_slab(geometry, node);
	slab_pages.free_slab_bytes -= slab_held(slab);
	slab_set_idle_since(slab, 0);
	slab_set_unbacked(slab, 0, 0);
	return slab;
}

/* Take the first slab of a new segment. NULL: there is no memory. */
static SLAB_SLOWPATH struct slab *take_fresh(struct geometry *geometry, unsigned node)
{
	struct segment *segment = segment_map(geometry, node);
	struct slab *slab;

	if (!segment)
		return NULL;
	segment_lock();
	segment = segment_publish(segment);
	slab = take_slab(geometry, node);
	segment_unlock();
	if (segment)
		os_unmap(segment_start(segment), SEGMENT_SIZE);
	return slab;
}

struct slab *segment_take_slab(struct geometry *geometry, unsigned node)
{
	struct slab *slab = NULL;
	bool found;

	segment_lock();
	found = has_slab(geometry, node);
	/* take_fresh() injects failures in os_map(), so only this path asks here. */
	if (found && !fail_pages())
		slab = take_slab(geometry, node);
	segment_unlock();
	if (!found)
		return take_fresh(geometry, node);
	if (!slab)
		errno = ENOMEM;
	return slab;
}

/* With the lock. Slabs that were idle before they were freed go to the end of the list. */
static void list_free(struct slab *slab)
{
	struct geometry *geometry = segment_of(slab)->geometry;
	size_t held = slab_held(slab);

	slab_pages.free_slab_bytes += held;
	if (!held) {
		queue_add_head(&geometry->unbacked[slab->node], slab);
	} else if (slab->idle_since) {
		queue_add_tail(&geometry->free[slab->node], slab);
	} else {
		/* the next pass is the first that can find the slab idle */
		slab_set_idle_since(slab, decay_epoch() + 1);
		queue_add_head(&geometry->free[slab->node], slab);
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

/* --- returning memory ---------------------------------------------------------- */

struct trim {
	/* NULL: all slabs. Else only slabs that are ripe in `epoch` (idle.h) and for which this
	 * function returns true. */
	bool (*may_discard)(const struct slab *slab);
	uint32_t epoch;
	unsigned slabs;
	size_t bytes;
};

/* With the lock: take up to TRIM_BATCH slabs from the end of a list; returns their number. */
static unsigned take_some(struct geometry *geometry, unsigned node, const struct trim *trim,
			  struct slab *isolated[TRIM_BATCH])
{
	struct slab_queue *list = &geometry->free[node];
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
	slab_set_idle_since(slab, 0);
}

/* Return the memory of some free slabs. false: there was none to return. */
static bool trim_some(struct geometry *geometry, unsigned node, struct trim *trim)
{
	struct slab *isolated[TRIM_BATCH];
	size_t before = trim->bytes;
	uint64_t mask = signals_block();
	unsigned found;

	segment_lock();
	found = take_some(geometry, node, trim, isolated);
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
	unsigned count;
	uint64_t most;

	segment_lock();
	count = geometry_count;
	/* An upper limit, however many slabs other threads free meanwhile. */
	most = slab_pages.segment_count * SEGMENT_UNITS;
	segment_unlock();
	for (unsigned g = 0; g < count; g++)
		for (unsigned node = 0; node < topology_nodes(); node++)
			while (trim->slabs < most && trim_some(&geometries[g], node, trim))
				;
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

struct segment *segment_first(void)
{
	return __atomic_load_n(&slab_pages.segments, __ATOMIC_ACQUIRE);
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
