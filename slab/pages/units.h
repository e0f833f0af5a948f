/* SPDX-License-Identifier: MIT */
/*
 * Inside the page layer: the units of segments, and how segments are mapped and marked.
 *
 * A unit is free, or a slab has it, or it is busy: a thread returns its memory or populates it. All
 * functions run under segment_lock() unless their comment says otherwise.
 */
#pragma once

#include <slab/stats.h>

#include "pages/segment.h"

/* Ranges have 1, 2, 4 … units, at most as many as the largest slab, and are aligned to their
 * size. */
#define UNITS_ORDERS (LARGE_SHIFT_MAX - SEGMENT_UNIT_SHIFT + 1)
#define UNIT_BYTES ((size_t)1 << SEGMENT_UNIT_SHIFT)

/* Neighbours of a segment. */
struct units {
	struct segment *segment;
	unsigned first, n;
};

static inline char *units_start(const struct units *units)
{
	return segment_start(units->segment) + units->first * UNIT_BYTES;
}

static inline size_t units_bytes(const struct units *units)
{
	return units->n * UNIT_BYTES;
}

/*
 * A pool: segments of a node whose units serve the same slabs. One pool of each node serves caches
 * with SLAB_APART, whose slabs keep their units for ever. Units of the other serve any other slab.
 */
#define POOLS (2u * SLAB_STATS_MAX_NODES)
static inline unsigned pool_of(unsigned node, bool apart)
{
	return node + (apart ? SLAB_STATS_MAX_NODES : 0);
}

static inline unsigned pool_node(unsigned pool)
{
	return pool % SLAB_STATS_MAX_NODES;
}

/* The units of a slab, or of 1 << shift bytes. */
struct units units_at(const void *start, unsigned shift);
/* The lowest range of 1 << shift bytes that is free (UNITS_FREE), or free and resident
 * (UNITS_RESIDENT), of a segment that has such ranges, but few that are larger. false: there is
 * none. */
bool units_find(unsigned shift, unsigned pool, unsigned map, struct units *ret);
/* A free range of which the first half is resident, but not all. Looks at a few segments alone. */
bool units_find_begun(unsigned shift, unsigned pool, struct units *ret);
/* The number of units that are resident, and of those from the first one on. */
unsigned units_resident(const struct units *units);
unsigned units_leading(const struct units *units);
/* Free units are free no longer. */
void units_take(const struct units *units);
/* Units are free. The first `resident` ones hold memory, idle since this epoch. */
void units_put(const struct units *units, unsigned resident, uint32_t since);
/* Free units become busy, or busy ones free. Children of a fork have them as free, resident
 * ones. */
void units_begin_busy(const struct units *units);
void units_end_busy(const struct units *units, unsigned resident, uint32_t since);
void units_after_fork_child(void);
/* Let the table lead from the addresses of these units to a descriptor; NULL: to slab_none. */
void units_lead_to(const struct units *units, struct slab *descriptor);

/* --- address space (segment.c) ----------------------------------------------------------- */

/* Has a segment of the pool a free range of 1 << shift bytes? */
bool segment_has_range(unsigned shift, unsigned pool);
/* Map a segment, without the lock, unless the pool has got such a range meanwhile. false and
 * ENOMEM. */
bool segment_map(unsigned shift, unsigned pool);
/* Where space is short: unmap the guard in front of a segment's or an arena's head but for two
 * pages. Its last page guards the head. Its first one keeps large allocations from ending behind
 * the start of a segment of slabs, whose mark they would change. */
void segment_trim_guard(void *start);

/* --- marks (segment_known.c) --------------------------------------------------------------- */

/* Before a segment at `start` is marked, without the lock: map the tables of its marks. false and
 * ENOMEM. */
bool segment_marks_ready(const char *start, size_t bytes);
/* Mark the segment of slabs that was mapped at this address. */
void segment_mark_slabs(const char *start);
/* A large allocation at `start` has grown from `from` to `to` bytes or shrunk. 0: it did not exist,
 * or is about to be unmapped. */
void segment_mark_large(const char *start, size_t from, size_t to);
