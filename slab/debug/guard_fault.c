/* SPDX-License-Identifier: MIT */
/*
 * The report of a fault in a guarded slab: an access to a guard page, or to a freed object whose
 * pages are inaccessible.
 */
#include <slab/debug.h>
#include <slab/slab.h>

#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"

bool guard_covers(const void *address)
{
	const struct slab *slab = segment_known(address) ? slab_of(address) : NULL;

	return slab && debug_is_guarded(slab) && slab_user(slab);
}

/* "12 bytes right of the 64-byte object 0x…" */
static void note_distance(struct bug_info *bug, const char *access, const char *address,
			  const char *object, size_t size)
{
	const char *where = "into";
	size_t bytes = (size_t)(address - object);

	if (address < object) {
		bytes = (size_t)(object - address);
		where = "left of";
	} else if (bytes >= size) {
		bytes -= size;
		where = "right of";
	}
	bug_info_note(bug, "%s at %p, %zu byte%s %s the %zu-byte object %p", access,
		      (const void *)address, bytes, bytes == 1 ? "" : "s", where, size,
		      (const void *)object);
}

/* This takes no lock, since the fault may have interrupted the thread anywhere, even under the
 * lock. The record of an object in use changes only through a wrong free. */
void guard_report_fault(const struct guard_fault *fault)
{
	static const char *const access[] = {"access", "read", "write"};
	static const char *const capital[] = {"Access", "Read", "Write"};
	const char *address = fault->address;
	struct slab *slab = slab_of(address);
	struct slab_cache *cache = slab_user(slab);
	const char *object = debug_object_at(slab, 0);
	size_t size = slab->debug->object_size;
	const bool in_use = debug_record(slab, 0)->state != OBJECT_FREE;
	struct bug_info bug;

	if (!cache || (in_use && address >= object && address < object + size))
		return;
	if (in_use)
		bug_info_begin(&bug, SLAB_PROBLEM_OUT_OF_BOUNDS, cache->name, "Out-of-bounds %s",
			       access[fault->access]);
	else
		bug_info_begin(&bug, SLAB_PROBLEM_USE_AFTER_FREE, cache->name, "Use-after-free %s",
			       access[fault->access]);
	note_distance(&bug, capital[fault->access], address, object, size);
	bug_info_slab(&bug, slab);
	bug_info_object(&bug, slab, 0);
	bug.detected = fault->track;
	debug_report(cache, &bug);
}
