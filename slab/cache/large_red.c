/* SPDX-License-Identifier: MIT */
/*
 * Red zones of large allocations, with the debug flag Z for LARGE_NAME.
 *
 *   descriptor … | red zone | allocation | red zone, to the end of the last page
 *                  64 bytes                64 bytes at least
 *
 * Such an allocation is always a separate mapping. The left red zone lies in the page of the
 * descriptor; the right one reaches to the end of the last page. libslab checks and repairs both
 * when the allocation is freed or changes its size, and when a cache of <slab/malloc.h> is
 * validated.
 */
#include <slab/debug.h>
#include <slab/slab.h>
#include <string.h>

#include "cache/large.h"
#include "base/options.h"
#include "core/debug_record.h"
#include "core/queue.h"
#include "debug/bug_info.h"
#include "debug/damage.h"
#include "debug/debug_cache.h"
#include "debug/layout.h"
#include "pages/segment.h"
#include "report/annotate.h"

/* Under segment_lock(). */
static struct slab_queue allocations;

size_t large_red_wanted(void)
{
	bool no_growth;

	if (!*slab_options()->debug || annotate_is_on())
		return 0;
	return debug_options_flags(LARGE_NAME, &no_growth) & SLAB_RED_ZONE && !no_growth
		       ? LARGE_RED_BYTES
		       : 0;
}

static void zones(const struct slab *slab, size_t size, struct region zone[2])
{
	const struct segment *segment = segment_of(slab);
	char *start = slab->base;

	zone[0] = region_of(SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone", start - segment->red_zone,
			    start, RED_ACTIVE);
	zone[1] = region_of(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone", start + size,
			    segment_start(segment) + segment->mapped, RED_ACTIVE);
}

/* Find, describe and repair damage of one red zone. false: both are intact. */
static bool find_damage(const struct slab *slab, size_t size, struct bug_info *bug)
{
	struct region zone[2];
	struct damage damage;

	zones(slab, size, zone);
	if (!debug_region_damaged(&zone[0], &damage) && !debug_region_damaged(&zone[1], &damage))
		return false;
	damage_begin_bug_info(&damage, LARGE_NAME, bug);
	bug_info_large(bug, slab, size);
	damage_repair(&damage, bug);
	return true;
}

/* Find the first damaged allocation. Those with `large` 0 are being freed. */
static bool find_any(struct bug_info *bug)
{
	bool found = false;

	segment_lock();
	for (struct slab *slab = allocations.first; slab && !found; slab = slab->next) {
		size_t size = __atomic_load_n(&slab->large, __ATOMIC_RELAXED);

		found = size && find_damage(slab, size, bug);
	}
	segment_unlock();
	return found;
}

/* Check all allocations, and report each problem; returns their number. */
static long validate(void)
{
	struct bug_info bug;
	long problems = 0;

	for (; find_any(&bug); problems++) {
		bug_info_detected(&bug, NULL);
		debug_report(NULL, &bug);
	}
	return problems;
}

void large_red_begin(struct slab *slab, size_t size)
{
	struct region zone[2];

	segment_of(slab)->red_zone = LARGE_RED_BYTES;
	zones(slab, size, zone);
	for (unsigned i = 0; i < 2; i++)
		memset(zone[i].start, zone[i].value, (size_t)(zone[i].end - zone[i].start));
	segment_lock();
	queue_add_head(&allocations, slab);
	segment_unlock();
	__atomic_store_n(&validate_large, validate, __ATOMIC_RELEASE);
}

void large_red_end(struct slab *slab, size_t size, const void *caller)
{
	struct bug_info bug;

	segment_lock();
	queue_remove(&allocations, slab);
	segment_unlock();
	while (find_damage(slab, size, &bug)) {
		bug_info_detected(&bug, caller);
		debug_report(NULL, &bug);
	}
}
