/* SPDX-License-Identifier: MIT */
/*
 * Bad frees in any cache: of a pointer that is not an object, of another cache's object, of a free
 * object, with a wrong size, or to a destroyed cache. The report describes what is at the address.
 * It is made with no lock held, and the object is not freed.
 *
 * The fast path of a free looks at the newest object of the array alone. So some bad frees are
 * found later, when objects of the array return to their slabs. The thread that returns them is not
 * to blame.
 */
#include "base/peek.h"
#include "core/debug_record.h"
#include "core/shard.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/debug_cache.h"

#include <slab/debug.h>
#include <sys/types.h>

void debug_report(struct slab_cache *cache, const struct bug_info *bug)
{
	if (cache)
		__atomic_fetch_add(&cache->errors, 1, __ATOMIC_RELAXED);
	bug_info_report(bug);
}

bool debug_find_object(const struct slab *slab, const void *ptr, unsigned *ret_index,
		       size_t *ret_into)
{
	size_t size = debug_size(slab);
	size_t left = slab->debug ? slab->debug->red_left : 0;
	size_t offset = (size_t)((const char *)ptr - slab->base);
	unsigned index = (unsigned)(offset / size);

	*ret_index = index;
	*ret_into = offset - index * size - left;
	return index < slab_initialized(slab);
}

/* Another copy of libslab in this process has segments that this one does not know. */
static bool is_of_another_copy(const void *obj)
{
	uint64_t magic;

	return !segment_known(obj) &&
	       peek(&magic, segment_start(obj) + SEGMENT_HEAD_OFFSET, sizeof(magic)) ==
		       sizeof(magic) &&
	       magic == SEGMENT_MAGIC;
}

void report_bad_free(struct slab_cache *cache, struct bug_info *bug, const void *obj,
		     const void *caller)
{
	if (obj && is_of_another_copy(obj))
		bug_info_note(bug, "Another copy of libslab in this process has that memory");
	if (!caller)
		bug->late =
			bug->problem == SLAB_PROBLEM_DOUBLE_FREE
				? "Found when free objects of a CPU returned to their slabs: it was "
				  "freed twice before, or freed twice and allocated again meanwhile"
				: "Found when free objects of a CPU returned to their slabs: an "
				  "earlier call freed it";
	bug_info_detected(bug, caller);
	bug_info_fix(bug, "Object at %p not freed", obj);
	debug_report(cache, bug);
}

void debug_report_destroyed(struct slab_cache *cache, const char *reason, const void *obj,
			    const void *caller)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_DESTROYED_CACHE, cache->name, "%s", reason);
	bug.freed = cache->destroyed;
	bug_info_detected(&bug, caller);
	if (obj)
		bug_info_fix(&bug, "Object at %p not freed", obj);
	debug_report(cache, &bug);
}

void debug_report_stray(struct slab_cache *cache, const void *obj, const void *caller)
{
	const struct slab *slab = segment_known(obj) ? slab_of(obj) : NULL;
	const struct slab_cache *user = slab ? slab_user(slab) : NULL;
	struct bug_info bug;

	if (cache->magic == CACHE_DESTROYED_MAGIC) {
		debug_report_destroyed(cache, "Free to a destroyed cache", obj, caller);
		return;
	}
	if (!slab)
		bug_info_begin(&bug, SLAB_PROBLEM_NOT_A_SLAB, cache->name,
			       "Attempt to free object %p outside of slab", obj);
	else if (user && user != cache)
		bug_info_begin(&bug, SLAB_PROBLEM_WRONG_CACHE, cache->name,
			       "Wrong slab cache. %s but object is from %s", cache->name,
			       user->name);
	else
		bug_info_begin(&bug, SLAB_PROBLEM_INVALID_POINTER, cache->name,
			       "Invalid object pointer %p", obj);
	if (user)
		bug_info_slab(&bug, slab);
	else if (slab && slab_large(slab))
		bug_info_note(&bug, "It points into %zu bytes of slab_malloc() at %p", slab->large,
			      (void *)slab->base);
	else if (slab)
		bug_info_note(&bug, "No cache has a slab there: its objects were all freed");
	report_bad_free(cache, &bug, obj, caller);
}

void debug_describe_pointer(struct slab_cache *cache, const struct slab *slab, const void *obj,
			    unsigned index, size_t into, struct bug_info *bug)
{
	bug_info_begin(bug, SLAB_PROBLEM_INVALID_POINTER, cache->name, "Invalid object pointer %p",
		       obj);
	bug_info_slab(bug, slab);
	if (index < slab_initialized(slab)) {
		bug_info_object(bug, slab, index);
		bug_info_note(bug, "It points %zd bytes from the start of an object",
			      (ssize_t)into);
	}
}

void debug_describe_double(struct slab_cache *cache, const struct slab *slab, unsigned index,
			   struct bug_info *bug)
{
	bug_info_begin(bug, SLAB_PROBLEM_DOUBLE_FREE, cache->name, "Object already free");
	bug_info_slab(bug, slab);
	bug_info_object(bug, slab, index);
}

/* A slab without debug flags has no tracks: only the state of the object is known. */
void debug_report_double_free(struct slab_cache *cache, const struct slab *slab, void *obj,
			      const void *caller)
{
	struct bug_info bug;
	unsigned index;
	size_t into;

	debug_find_object(slab, obj, &index, &into);
	debug_describe_double(cache, slab, index, &bug);
	report_bad_free(cache, &bug, obj, caller);
}

void debug_report_interior(struct slab_cache *cache, const struct slab *slab, void *obj,
			   const void *caller)
{
	struct bug_info bug;
	unsigned index;
	size_t into;

	debug_find_object(slab, obj, &index, &into);
	debug_describe_pointer(cache, slab, obj, index, into, &bug);
	report_bad_free(cache, &bug, obj, caller);
}

void debug_report_wrong_size(const struct slab *slab, void *obj, size_t size, size_t has,
			     const void *caller)
{
	struct slab_cache *cache = slab_user(slab);
	struct bug_info bug;
	unsigned index;
	size_t into;

	bug_info_begin(&bug, SLAB_PROBLEM_WRONG_SIZE, cache ? cache->name : "slab_malloc",
		       "Wrong size %zu freed, object has %zu", size, has);
	if (cache) {
		debug_find_object(slab, obj, &index, &into);
		bug_info_slab(&bug, slab);
		bug_info_object(&bug, slab, index);
	}
	report_bad_free(cache, &bug, obj, caller);
}

void report_bad_free_rcu(struct slab_cache *cache, void *obj, const void *caller)
{
	struct bug_info bug;

	if (!segment_known(obj) || slab_user(slab_of(obj)) != cache) {
		debug_report_stray(cache, obj, caller);
		return;
	}
	bug_info_begin(&bug, SLAB_PROBLEM_INVALID_POINTER, cache->name,
		       "slab_free_rcu(%p) in a cache without args.rcu", obj);
	bug_info_slab(&bug, slab_of(obj));
	report_bad_free(cache, &bug, obj, caller);
}

/* --- what returning objects to their slabs finds ---------------------------------------------- */

/* A slab does not go while an array has one of its objects. So if none is there, or a debug slab,
 * which frees go to directly, the object was freed twice, and the slab that had it went. An object
 * of the debug slab stays as it is: it may be in use. */
void debug_free_already(struct slab_cache *cache, const struct slab *slab, void *obj,
			const void *caller)
{
	const struct debug_lock lock = debug_lock(cache, slab_of(obj));
	struct bug_info bug;
	unsigned index;
	size_t into;

	if (slab_user(slab) == cache && !slab->debug) {
		debug_find_object(slab, obj, &index, &into);
		debug_describe_double(cache, slab, index, &bug);
	} else {
		bug_info_begin(&bug, SLAB_PROBLEM_DOUBLE_FREE, cache->name, "Object already free");
		bug_info_note(&bug, "Its slab has left the cache: its objects were all freed");
	}
	debug_unlock(&lock);
	report_bad_free(cache, &bug, obj, caller);
}

void debug_no_object(struct slab_cache *cache, void *obj, const void *caller)
{
	const struct slab *slab = segment_known(obj) ? slab_of(obj) : &slab_none;

	if (slab_user(slab) == cache)
		debug_report_interior(cache, slab, obj, caller);
	else
		debug_report_stray(cache, obj, caller);
}
