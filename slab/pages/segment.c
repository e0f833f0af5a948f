/* SPDX-License-Identifier: MIT */
/*
 * Segments: the address space of slabs.
 *
 * A segment is SEGMENT_SIZE bytes of address space, aligned to its size. Its head and tables are
 * never unmapped:
 *
 *   guard | head | users | table | guard | units …
 *
 * A mask turns any address in a segment into the address of its head. From there the table leads to
 * the descriptor of the address's slab, and the users to the slab's cache (segment_user()). All
 * three lie between guard pages, where an overflowing object does not reach them. The first guard
 * is as large as the largest page size, so the head has the same offset in every segment; the
 * second guard has at least one page. To the kernel a segment is four mappings.
 *
 * Slabs of all sizes share segments. A slab is an aligned range of units (units.c). Units that no
 * slab has may hold memory, which the next slab gets.
 *
 * pages_lock protects the segments and what the rest of the page layer has, for a few instructions
 * at a time. A thread maps a segment without the lock, before other threads know the segment. If
 * two threads do this at once, the second one unmaps its segment again. A fork may leave the child
 * a mapping that is never used. Where space is short, a segment is mapped in parts, from its start,
 * and its first guard is two pages (segment_trim_guard()).
 */
#include <errno.h>

#include "pages/units.h"
#include "base/compiler.h"
#include "base/round.h"
#include "pages/account.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/topology.h"

#define PART_SHIFT_MIN 16u /* of the parts of segments */

/* --- mapping -------------------------------------------------------------------------- */

/* Offset of the first unit of slabs: behind the second guard. */
static size_t units_offset(void)
{
	return round_up(os_pages(SEGMENT_HEAD_END) + os_page_size(), (size_t)1 << SLAB_SHIFT_MIN);
}

/* All units of a segment. */
static struct units all_of(struct segment *segment)
{
	const unsigned first = (unsigned)(units_offset() >> SEGMENT_UNIT_SHIFT);

	return (struct units){
		.segment = segment,
		.first = first,
		.n = (unsigned)(segment->mapped >> SEGMENT_UNIT_SHIFT) - first,
	};
}

/* Let the kernel prefer the node for a segment's pages. */
static void bind_to_node(char *start, size_t bytes, unsigned node)
{
	if (topology_is_real() && topology_nodes() > 1)
		os_bind(start, bytes, node);
}

/* Fill in the head of a fresh segment. Its table, which is 0, leads to slab_none. */
static void format(struct segment *segment, size_t bytes, unsigned pool)
{
	segment->magic = SEGMENT_MAGIC;
	segment->node = pool_node(pool);
	segment->pool = pool;
	segment->mapped = bytes;
}

/* Map a segment that no other thread knows, or its first bytes; NULL and ENOMEM. */
static struct segment *map_segment(size_t bytes, unsigned pool)
{
	char *start = os_map(bytes, SEGMENT_SIZE);
	size_t head_end = os_pages(SEGMENT_HEAD_END);
	struct segment *segment;

	if (!start)
		return NULL;
	/* Before the first write, which may populate a huge page: the kernel prefers the node, and
	 * the guards keep the huge page from the head. The guard in front of the head is necessary
	 * too: another segment may end where this one starts. */
	bind_to_node(start, bytes, pool_node(pool));
	segment = (struct segment *)(start + SEGMENT_HEAD_OFFSET);
	if (segment_marks_ready(start, bytes) && os_protect(start, SEGMENT_HEAD_OFFSET, false) &&
	    os_protect(start + head_end, units_offset() - head_end, false)) {
		format(segment, bytes, pool);
		return segment;
	}
	os_unmap(start, bytes);
	errno = ENOMEM;
	return NULL;
}

/* A process with little space gets segments in parts: the newest segment of each kind of pool grows
 * while the addresses behind it are free. NULL: it has been unmapped. */
static SLAB_EARLY struct segment *growing[POOLS / SLAB_STATS_MAX_NODES];

static struct segment **growing_in(unsigned pool)
{
	return &growing[pool / SLAB_STATS_MAX_NODES];
}

/* Where a segment ends that had `bytes` and gets a part with a range of 1 << shift bytes. */
static size_t end_of_part(size_t bytes, unsigned shift)
{
	const size_t range = (size_t)1 << (shift > PART_SHIFT_MIN ? shift : PART_SHIFT_MIN);

	return round_up(bytes, range) + range;
}

/* With the lock, which is held during a system call, in such processes alone. false: the segment
 * cannot grow. */
static bool grow(unsigned shift, unsigned pool)
{
	struct segment *segment = *growing_in(pool);
	const size_t from = segment ? segment->mapped : 0, to = end_of_part(from, shift);
	char *part = segment_start(segment) + from;

	if (!segment || segment->pool != pool || to > SEGMENT_SIZE || !os_map_at(part, to - from))
		return false;
	bind_to_node(part, to - from, segment->node);
	segment->mapped = to;
	__atomic_store_n(&segment->holes_stay, false, __ATOMIC_RELAXED);
	units_put(&(struct units){.segment = segment,
				  .first = (unsigned)(from >> SEGMENT_UNIT_SHIFT),
				  .n = (unsigned)((to - from) >> SEGMENT_UNIT_SHIFT)},
		  0, 0);
	return true;
}

/* With the lock. true: the segment is not needed because another thread was faster. */
static bool publish(struct segment *segment, unsigned shift)
{
	const struct units units = all_of(segment);

	if (segment_has_range(shift, segment->pool))
		return true;
	segment->next = slab_pages.segments;
	__atomic_store_n(&slab_pages.segments, segment, __ATOMIC_RELEASE);
	__atomic_fetch_add(&slab_pages.segment_count, 1, __ATOMIC_RELAXED);
	metadata_count(SEGMENT_HEAD_END - SEGMENT_HEAD_OFFSET);
	segment_mark_slabs(segment_start(segment));
	units_put(&units, 0, 0);
	if (segment->mapped < SEGMENT_SIZE)
		*growing_in(segment->pool) = segment;
	return false;
}

/* --- unmapping ------------------------------------------------------------------------- */

/* Segments whose units are unmapped, by next_room. Their heads stay: threads read them without a
 * lock. */
static SLAB_EARLY struct segment *unmapped;

/* With the lock: take all units of a segment, if all are free. */
static bool take_all(struct segment *segment, struct units *ret)
{
	unsigned n = 0;

	*ret = all_of(segment);
	for (unsigned word = 0; word < SEGMENT_UNITS / 64; word++)
		n += (unsigned)__builtin_popcountll(segment->free[word]);
	if (n != ret->n)
		return false;
	units_take(ret);
	if (segment == *growing_in(segment->pool))
		*growing_in(segment->pool) = NULL;
	return true;
}

/* With the lock. */
static void add_unmapped(struct segment *segment)
{
	segment->next_room = unmapped;
	unmapped = segment;
}

/* With the lock, also during the system call: the child of a fork has the units as mapped or as
 * unmapped. Their memory has gone before (limit_make_room()), so the call takes little time. It
 * fails if the process has too many mappings. */
static size_t unmap_if_free(struct segment *segment)
{
	struct units units;

	if (!take_all(segment, &units))
		return 0;
	if (!os_unmap(units_start(&units), units_bytes(&units))) {
		units_put(&units, 0, decay_epoch());
		return 0;
	}
	add_unmapped(segment);
	return units_bytes(&units);
}

size_t segment_unmap_free(void)
{
	size_t bytes = 0;

	for (struct segment *s = segment_first(); s; s = s->next) {
		segment_lock();
		bytes += unmap_if_free(s);
		segment_unlock();
	}
	return bytes;
}

/* With the lock: take an unmapped segment of a pool; NULL: there is none. */
static struct segment *take_unmapped(unsigned pool)
{
	struct segment **at = &unmapped, *segment;

	while (*at && (*at)->pool != pool)
		at = &(*at)->next_room;
	segment = *at;
	if (segment)
		*at = segment->next_room;
	return segment;
}

/* Map the units of an unmapped segment again. false: there is none or no memory, or another mapping
 * has its addresses by now; then the segment stays as it is for good. */
static bool map_again(unsigned pool)
{
	struct segment *segment;
	struct units units;
	bool done;

	segment_lock();
	segment = take_unmapped(pool);
	segment_unlock();
	if (!segment)
		return false;
	units = all_of(segment);
	done = os_map_at(units_start(&units), units_bytes(&units));
	if (!done && errno == EEXIST)
		return false;
	if (done)
		bind_to_node(segment_start(segment), segment->mapped, segment->node);
	segment_lock();
	if (done) {
		__atomic_store_n(&segment->holes_stay, false, __ATOMIC_RELAXED);
		units_put(&units, 0, 0);
	} else
		add_unmapped(segment);
	segment_unlock();
	return done;
}

/* Let the newest segment grow, or map the first part of a new one. NULL: it has grown, or there is
 * no memory. */
static struct segment *map_part(unsigned shift, unsigned pool, bool *ret_grown)
{
	segment_lock();
	*ret_grown = grow(shift, pool);
	segment_unlock();
	return *ret_grown ? NULL : map_segment(end_of_part(units_offset(), shift), pool);
}

void segment_trim_guard(void *start)
{
	const size_t page = os_page_size();

	if (SEGMENT_HEAD_OFFSET > 2 * page && cpu_space_is_short())
		os_unmap((char *)start + page, SEGMENT_HEAD_OFFSET - 2 * page);
}

bool segment_map(unsigned shift, unsigned pool)
{
	struct segment *segment;
	bool grown = false, unused;

	if (map_again(pool))
		return true;
	segment = cpu_space_is_short() ? map_part(shift, pool, &grown)
				       : map_segment(SEGMENT_SIZE, pool);
	if (!segment)
		return grown;
	segment_lock();
	unused = publish(segment, shift);
	segment_unlock();
	if (unused)
		os_unmap(segment_start(segment), segment->mapped);
	else
		segment_trim_guard(segment_start(segment));
	return true;
}
