/* SPDX-License-Identifier: MIT */
/*
 * Returning the memory of free units to the OS, and that of slabs that are about to be freed.
 *
 * A thread returns memory without the lock: it makes the units busy before, and free again
 * afterwards. The child of a fork frees the units that threads of its parent had made busy. The
 * thread blocks signals meanwhile: otherwise a handler could fork, and in the child this thread
 * would go on returning the memory of units that the child has given to a slab.
 *
 * Where the system uses huge pages always, returning a part of a huge page breaks it up for good.
 * Decay does that only if at least half of the huge page is free. khugepaged would soon fill such
 * holes again, so their segment has no further huge pages then. A mark for each huge page would
 * make further mappings; that for the segment's whole memory makes none.
 */
#include "pages/free_slabs.h"
#include "base/signals.h"
#include "pages/account.h"
#include "pages/huge.h"
#include "pages/idle.h"
#include "pages/metadata.h"
#include "pages/os.h"
#include "pages/units.h"

#define TRIM_RUNS 16u /* ranges whose memory a thread returns before it locks again */
#define HUGE_WORDS (HUGE_PAGE / UNIT_BYTES / 64) /* of a segment's map, for a huge page */

struct trim {
	bool all; /* else only units that are ripe in `epoch` (idle.h) */
	bool spare_huge;
	uint32_t epoch;
	size_t bytes, most; /* returned; enough */
};

/* Are most units around this one, in a huge page, in use? */
static bool breaks_up(const struct segment *segment, unsigned unit)
{
	const unsigned first = unit / 64 / HUGE_WORDS * HUGE_WORDS;
	unsigned free = 0;

	for (unsigned i = 0; i < HUGE_WORDS; i++)
		free += (unsigned)__builtin_popcountll(segment->free[first + i]);
	return free < HUGE_WORDS * 64 / 2;
}

/* Must the memory of this unit be returned? */
static bool is_ripe(const struct trim *trim, const struct segment *segment, unsigned unit)
{
	const uint16_t age = (uint16_t)(trim->epoch - segment->since[unit]);

	if (!(segment->resident[unit / 64] >> unit % 64 & 1))
		return false;
	if (trim->all)
		return true;
	return (int16_t)age >= (int16_t)DECAY_EPOCHS &&
	       !(trim->spare_huge && breaks_up(segment, unit));
}

/* Does this return a part of a huge page? The guards keep huge pages from a segment's first
 * bytes. */
static bool makes_hole(const char *start, const char *end)
{
	const char *first = segment_start(start) + HUGE_PAGE;

	return (start > first && (uintptr_t)start % HUGE_PAGE) ||
	       (end > first && (uintptr_t)end % HUGE_PAGE);
}

bool segment_discard_part(char *start, size_t bytes)
{
	struct segment *segment = segment_of(start);
	char *memory = segment_start(start) + os_pages(SEGMENT_HEAD_END);

	if (!__atomic_load_n(&segment->holes_stay, __ATOMIC_RELAXED) &&
	    makes_hole(start, start + bytes)) {
		if (huge_is_system_always())
			os_keep_small(memory,
				      (size_t)(segment_start(start) + segment->mapped - memory));
		__atomic_store_n(&segment->holes_stay, true, __ATOMIC_RELAXED);
	}
	return os_discard(start, bytes);
}

/* With the lock: make up to TRIM_RUNS runs of neighbours busy, from *unit on, as much as is wanted;
 * returns their number. */
static unsigned take_runs(const struct trim *trim, struct segment *segment, unsigned *unit,
			  struct units runs[TRIM_RUNS])
{
	/* A page may have several units. */
	const size_t page = os_pages(UNIT_BYTES);
	size_t left = ((trim->most - trim->bytes) / page + 1) * (page / UNIT_BYTES);
	unsigned u = *unit, n = 0;

	while (u < SEGMENT_UNITS && n < TRIM_RUNS && left) {
		struct units *run = &runs[n];

		*run = (struct units){.segment = segment, .first = u};
		while (u < SEGMENT_UNITS && u - run->first < left && is_ripe(trim, segment, u))
			u++;
		run->n = u - run->first;
		left -= run->n;
		if (run->n)
			n++;
		else
			u += segment->resident[u / 64] ? 1 : 64 - u % 64;
	}
	for (unsigned i = 0; i < n; i++)
		units_begin_busy(&runs[i]);
	*unit = u;
	return n;
}

/* Return the memory of some runs, from *unit on. */
static void trim_some(struct trim *trim, struct segment *segment, unsigned *unit)
{
	const uint64_t mask = signals_block();
	struct units runs[TRIM_RUNS];
	bool done[TRIM_RUNS];
	unsigned found;

	segment_lock();
	found = take_runs(trim, segment, unit, runs);
	segment_unlock();
	for (unsigned i = 0; i < found; i++)
		done[i] = segment_discard_part(units_start(&runs[i]), units_bytes(&runs[i]));
	segment_lock();
	/* Locked memory stays. The next attempt follows in a decay time. */
	for (unsigned i = 0; i < found; i++) {
		units_end_busy(&runs[i], done[i] ? 0 : runs[i].n, decay_epoch() + 1);
		trim->bytes += done[i] ? units_bytes(&runs[i]) : 0;
	}
	segment_unlock();
	signals_restore(mask);
}

static void trim_all(struct trim *trim)
{
	for (struct segment *s = segment_first(); s; s = s->next)
		for (unsigned unit = 0;
		     unit < SEGMENT_UNITS && trim->bytes < trim->most &&
		     __atomic_load_n(&s->room[UNITS_RESIDENT].orders, __ATOMIC_RELAXED);)
			trim_some(trim, s, &unit);
}

size_t segment_trim(void)
{
	struct trim all = {.all = true, .most = SIZE_MAX};

	trim_all(&all);
	metadata_decay(0, true);
	return all.bytes;
}

size_t segment_trim_piece(size_t bytes)
{
	struct trim piece = {.all = true, .most = bytes};

	if (!huge_is_system_always())
		trim_all(&piece);
	return piece.bytes;
}

/* Above the soft limit free memory does not wait for its decay time. */
static bool is_above_soft_limit(void)
{
	const uint64_t limit = __atomic_load_n(&slab_pages.soft_limit, __ATOMIC_RELAXED);

	return limit && account_resident() > limit;
}

size_t segment_decay(uint32_t epoch)
{
	struct trim ripe = {.all = is_above_soft_limit(),
			    .epoch = epoch,
			    .most = SIZE_MAX,
			    .spare_huge = huge_is_system_always()};

	huge_review();
	trim_all(&ripe);
	metadata_decay(epoch, false);
	return ripe.bytes;
}

void segment_trim_metadata(void)
{
	metadata_decay(0, true);
}

void segment_discard(struct slab *slab)
{
	if (!slab_held(slab) || !segment_discard_part(slab->base, slab_bytes(slab)))
		return;
	__atomic_store_n(&slab->unbacked, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->populated, 0, __ATOMIC_RELAXED);
}
