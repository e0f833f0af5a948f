/* SPDX-License-Identifier: MIT */
/*
 * Frees that cannot be done, in any cache: of what is no object, of another cache's,
 * of one that is free, of a wrong size. Each is described by what is found at the
 * address, and reported with no lock held; the object is not freed.
 */
#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/debug_cache.h"

#include <slab/debug.h>
#include <sys/types.h>

void debug_report(struct slab_cache *cache, const struct finding *finding)
{
	if (cache)
		__atomic_fetch_add(&cache->errors, 1, __ATOMIC_RELAXED);
	finding_report(finding);
}

bool debug_find_object(const struct slab *slab, const void *ptr, unsigned *ret_index,
		       size_t *ret_into)
{
	size_t size = slab_size(slab);
	size_t left = slab->debug ? slab->debug->red_left : 0;
	size_t offset = (size_t)((const char *)ptr - slab->cpu.base);
	unsigned index = (unsigned)(offset / size);

	*ret_index = index;
	*ret_into = offset - index * size - left;
	return index < slab_carved(slab);
}

void debug_refuse(struct slab_cache *cache, struct finding *finding, const void *obj,
		  const void *caller)
{
	finding_detected(finding, caller);
	finding_fix(finding, "Object at %p not freed", obj);
	debug_report(cache, finding);
}

void debug_report_stray(struct slab_cache *cache, const void *obj, const void *caller)
{
	const struct slab *slab = segment_known(obj) ? slab_of(obj) : NULL;
	const struct slab_cache *user = slab ? slab_user(slab) : NULL;
	struct finding finding;

	if (!slab)
		finding_begin(&finding, SLAB_PROBLEM_NOT_A_SLAB, cache->name,
			      "Attempt to free object %p outside of slab", obj);
	else if (user && user != cache)
		finding_begin(&finding, SLAB_PROBLEM_WRONG_CACHE, cache->name,
			      "Wrong slab cache. %s but object is from %s", cache->name,
			      user->name);
	else
		finding_begin(&finding, SLAB_PROBLEM_INVALID_POINTER, cache->name,
			      "Invalid object pointer %p", obj);
	if (user)
		finding_slab(&finding, slab);
	else if (slab && slab->large)
		finding_note(&finding, "It points into %zu bytes of slab_malloc() at %p",
			     slab->large, (void *)slab->cpu.base);
	else if (slab && slab != &slab_nowhere)
		finding_note(&finding, "No cache has a slab there: its objects were all freed");
	debug_refuse(cache, &finding, obj, caller);
}

void debug_describe_pointer(struct slab_cache *cache, const struct slab *slab, const void *obj,
			    unsigned index, size_t into, struct finding *finding)
{
	finding_begin(finding, SLAB_PROBLEM_INVALID_POINTER, cache->name,
		      "Invalid object pointer %p", obj);
	finding_slab(finding, slab);
	if (index < slab_carved(slab)) {
		finding_object(finding, slab, index);
		finding_note(finding, "It points %zd bytes from the start of an object",
			     (ssize_t)into);
	}
}

void debug_describe_double(struct slab_cache *cache, const struct slab *slab, unsigned index,
			   struct finding *finding)
{
	finding_begin(finding, SLAB_PROBLEM_DOUBLE_FREE, cache->name, "Object already free");
	finding_slab(finding, slab);
	finding_object(finding, slab, index);
}

/* Of a slab without letters: nothing is known but that the object is free. */
void debug_report_double_free(struct slab_cache *cache, const struct slab *slab, void *obj,
			      const void *caller)
{
	struct finding finding;
	unsigned index;
	size_t into;

	debug_find_object(slab, obj, &index, &into);
	debug_describe_double(cache, slab, index, &finding);
	debug_refuse(cache, &finding, obj, caller);
}

/* Of a slab without debug flags: all its objects are free already. */
void debug_report_full(struct slab_cache *cache, const struct slab *slab, void *obj,
		       const void *caller)
{
	struct finding finding;
	unsigned index;
	size_t into;

	debug_find_object(slab, obj, &index, &into);
	finding_begin(&finding, SLAB_PROBLEM_DOUBLE_FREE, cache->name,
		      "More objects freed than allocated");
	finding_slab(&finding, slab);
	finding_object(&finding, slab, index);
	finding_note(&finding,
		     "All objects of its slab are free already: one of them was freed twice");
	debug_refuse(cache, &finding, obj, caller);
}

void debug_report_interior(struct slab_cache *cache, const struct slab *slab, void *obj,
			   const void *caller)
{
	struct finding finding;
	unsigned index;
	size_t into;

	debug_find_object(slab, obj, &index, &into);
	debug_describe_pointer(cache, slab, obj, index, into, &finding);
	debug_refuse(cache, &finding, obj, caller);
}

void debug_report_wrong_size(const struct slab *slab, void *obj, size_t size, size_t has,
			     const void *caller)
{
	struct slab_cache *cache = slab_user(slab);
	struct finding finding;
	unsigned index;
	size_t into;

	finding_begin(&finding, SLAB_PROBLEM_WRONG_SIZE, cache ? cache->name : "slab_malloc",
		      "Wrong size %zu freed, object has %zu", size, has);
	if (cache) {
		debug_find_object(slab, obj, &index, &into);
		finding_slab(&finding, slab);
		finding_object(&finding, slab, index);
	}
	debug_refuse(cache, &finding, obj, caller);
}

void debug_refuse_waiting(struct slab_cache *cache, void *obj, const void *caller)
{
	struct finding finding;

	if (!segment_known(obj) || slab_user(slab_of(obj)) != cache) {
		debug_report_stray(cache, obj, caller);
		return;
	}
	finding_begin(&finding, SLAB_PROBLEM_INVALID_POINTER, cache->name,
		      "slab_free_rcu(%p) in a cache without args.rcu", obj);
	finding_slab(&finding, slab_of(obj));
	debug_refuse(cache, &finding, obj, caller);
}
