/* SPDX-License-Identifier: MIT */
/*
 * Pointers without their cache (<slab/pointer.h>). The mark of an address says whether a segment
 * has it, so memory of others is never read. The segment of a large allocation may be unmapped by
 * another thread while memory of others behind it is looked up, so lookups there take the lock.
 */
#include <slab/debug.h>
#include <slab/pointer.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "debug/bug_info.h"
#include "cache/large.h"
#include "core/slab.h"
#include "core/user_pointer.h"
#include "debug/debug_cache.h"
#include "pages/segment.h"

static SLAB_SLOWPATH struct slab *find_apart(const void *ptr, enum segment_mark mark)
{
	if (mark != SEGMENT_MARK_SLABS)
		return segment_find_large(ptr);
	return segment_unit_is_free(ptr) ? &slab_none : NULL;
}

/* The slab of an address; slab_none if a slab has been there and its addresses are still libslab's;
 * NULL: the address is not libslab's. */
static inline struct slab *find(const void *ptr)
{
	enum segment_mark mark = segment_mark_of(ptr);

	if (mark == SEGMENT_MARK_NONE && !segment_has_giants())
		return NULL;
	if (SLAB_LIKELY(mark == SEGMENT_MARK_SLABS)) {
		struct slab *slab = slab_of(ptr);

		if (SLAB_LIKELY(slab != &slab_none))
			return slab;
	}
	return find_apart(ptr, mark);
}

bool slab_owns(const void *ptr)
{
	return find(ptr);
}

struct slab_cache *slab_cache_of(const void *ptr)
{
	const struct slab *slab = find(ptr);

	return slab ? slab_user(slab) : NULL;
}

static void report_stale(const void *ptr, const void *caller)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_INVALID_POINTER, "slab_free_any",
		       "Invalid object pointer %p", ptr);
	bug_info_note(&bug, "No cache has a slab there: its objects were all freed");
	report_bad_free(NULL, &bug, ptr, caller);
}

static SLAB_SLOWPATH bool free_slow(void *ptr, const void *caller)
{
	struct slab *slab = find(ptr);
	struct slab_cache *cache = slab ? slab_user(slab) : NULL;

	if (!slab)
		return false;
	if (cache)
		slab_free_slow(cache, ptr, caller);
	else if (slab_large(slab))
		large_free(slab, ptr, caller);
	else
		report_stale(ptr, caller);
	return true;
}

bool slab_free_any(void *ptr)
{
	if (!ptr)
		return true;
	if (SLAB_LIKELY(segment_near_mark(ptr) == SEGMENT_MARK_SLABS)) {
		struct slab_cache *cache = segment_plain_user(ptr);

		/* Every object starts at a multiple of 8. */
		if (SLAB_LIKELY(cache != NULL) && SLAB_LIKELY(!((uintptr_t)ptr % 8))) {
			if (SLAB_UNLIKELY(!slab_push(cache, ptr)))
				slab_free_slow(cache, ptr, __builtin_return_address(0));
			return true;
		}
	}
	return free_slow(ptr, __builtin_return_address(0));
}
