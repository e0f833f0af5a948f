/* SPDX-License-Identifier: MIT */
/*
 * Checks of debug slabs: counts, freelist, and every byte that must hold a known value.
 *
 * A check stops at the first problem, repairs it as SLUB does, and unlocks the node for the
 * report. Then it continues from there. `at` is the position: AT_SLAB the slab itself,
 * AT_FREELIST its freelist, AT_COUNT the count of free objects, from AT_OBJECTS on the objects.
 */
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>

#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/damage.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "debug/layout.h"

enum { AT_SLAB, AT_FREELIST, AT_COUNT, AT_OBJECTS };

static void describe_count(const struct slab *slab, struct bug_info *bug, const char *fix)
{
	bug_info_slab(bug, slab);
	bug_info_fix(bug, "%s", fix);
}

/* Check the descriptor, and the memory behind the last object. */
static bool check_slab(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	unsigned max = (unsigned)(slab_bytes(slab) / slab_size(slab));
	struct damage damage;

	if (slab->objects != max) {
		bug_info_begin(bug, SLAB_PROBLEM_COUNT, cache->name,
			       "Wrong number of objects. Found %u but should be %u", slab->objects,
			       max);
		describe_count(slab, bug, "Number of objects adjusted");
		__atomic_store_n(&slab->objects, (uint16_t)max, __ATOMIC_RELAXED);
		return false;
	}
	if (slab->initialized > max || slab->debug->used > max) {
		bug_info_begin(bug, SLAB_PROBLEM_COUNT, cache->name, "inuse %u > max %u",
			       slab->initialized > max ? slab->initialized : slab->debug->used,
			       max);
		describe_count(slab, bug, "Object count adjusted");
		if (slab->initialized > max)
			slab_set_initialized(slab, max);
		if (slab->debug->used > max)
			debug_set_used(slab, slab->initialized);
		return false;
	}
	if (!debug_find_slab_damage(slab, &damage))
		return true;
	damage_begin_bug_info(&damage, cache->name, bug);
	bug_info_slab(bug, slab);
	damage_repair(&damage, bug);
	return false;
}

/*
 * The number of objects on the freelist. -1: the list leads to something that is not a free
 * object, or it is a loop. *ret_last: the last good object, or -1.
 */
static int count_freelist(const struct slab *slab, int *ret_last)
{
	unsigned next = slab->debug->first;
	int n = 0;

	*ret_last = -1;
	while (next) {
		unsigned index = next - 1;

		if (index >= slab->initialized || n >= slab->initialized ||
		    debug_record(slab, index)->state != OBJECT_FREE)
			return -1;
		*ret_last = (int)index;
		next = debug_record(slab, index)->next;
		n++;
	}
	return n;
}

static bool check_freelist(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	struct slab_debug *debug = slab->debug;
	int last;

	if (count_freelist(slab, &last) >= 0) {
		debug->last = (uint16_t)(last + 1);
		return true;
	}
	bug_info_begin(bug, SLAB_PROBLEM_FREELIST, cache->name,
		       last < 0 ? "Freepointer corrupt" : "Freechain corrupt");
	bug_info_slab(bug, slab);
	if (last >= 0) {
		bug_info_object(bug, slab, (unsigned)last);
		debug_record(slab, (unsigned)last)->next = 0;
		debug->last = (uint16_t)(last + 1);
		return false;
	}
	debug->first = debug->last = 0;
	debug_set_used(slab, slab->initialized);
	bug_info_fix(bug, "Freelist cleared");
	return false;
}

static bool check_count(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	int last, counted = slab->initialized - count_freelist(slab, &last);

	if (slab->debug->used == (unsigned)counted)
		return true;
	bug_info_begin(bug, SLAB_PROBLEM_COUNT, cache->name,
		       "Wrong object count. Counter is %u but counted were %d", slab->debug->used,
		       counted);
	describe_count(slab, bug, "Object count adjusted");
	debug_set_used(slab, (unsigned)counted);
	return false;
}

/* Find, repair and describe the next problem. false: there is none. */
static bool check_next(struct slab_cache *cache, struct slab *slab, unsigned *at,
		       struct bug_info *bug)
{
	for (; *at < (unsigned)AT_OBJECTS + slab->initialized; ++*at) {
		bool good;

		if (*at == AT_SLAB)
			good = check_slab(cache, slab, bug);
		else if (*at >= AT_OBJECTS)
			good = debug_check_object(cache, slab, *at - AT_OBJECTS, bug);
		else if (slab->debug->disabled)
			good = true;
		else if (*at == AT_FREELIST)
			good = check_freelist(cache, slab, bug);
		else
			good = check_count(cache, slab, bug);
		if (!good)
			return true;
	}
	return false;
}

/* Check a legacy slab: it has nothing but the states of its objects and their count. */
static bool check_legacy(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	unsigned counted = 0;

	legacy_collect(slab);
	for (unsigned i = 0; i < slab->initialized; i++)
		counted += debug_is_allocated(slab, i);
	if (slab->legacy_used == counted)
		return false;
	bug_info_begin(bug, SLAB_PROBLEM_COUNT, cache->name,
		       "Wrong object count. Counter is %u but counted were %u", slab->legacy_used,
		       counted);
	describe_count(slab, bug, "Object count adjusted");
	__atomic_store_n(&slab->legacy_used, counted, __ATOMIC_RELAXED);
	return true;
}

static bool check_step(struct slab_cache *cache, struct slab *slab, unsigned *at,
		       struct bug_info *bug)
{
	struct cache_node *node = &cache->node[slab->node];
	bool found = false;

	pthread_mutex_lock(&node->lock);
	/* The slab may have been released, or may have changed its kind, in the meantime. The memory
	 * of a guarded one may be inaccessible. */
	if (slab_user(slab) == cache && slab_is_tagged(slab, SLAB_TAG_DEBUG) &&
	    !debug_is_guarded(slab)) {
		found = slab_is_legacy(slab) ? check_legacy(cache, slab, bug)
					     : check_next(cache, slab, at, bug);
		if (found && slab->debug && slab->debug->used)
			debug_slab_place(cache, slab);
	}
	pthread_mutex_unlock(&node->lock);
	return found;
}

void debug_check_leaving(struct slab_cache *cache, struct slab *slab)
{
	struct bug_info bug;

	for (unsigned i = 0; i < slab->initialized; i++) {
		if (debug_record(slab, i)->state != OBJECT_FREE ||
		    debug_check_object(cache, slab, i, &bug))
			continue;
		/* The withdrawn slab no longer names its cache, so add the cache's flags here. */
		bug.debug_flags |=
			cache_debug_flags(cache) & (SLAB_CONSISTENCY_CHECKS | SLAB_TRACE);
		bug_info_detected(&bug, NULL);
		debug_report(cache, &bug);
	}
}

long debug_check(struct slab_cache *cache, struct slab *slab)
{
	struct bug_info bug;
	unsigned at = AT_SLAB;
	long problems = 0;

	if (debug_is_guarded(slab))
		return guard_check(cache, slab);
	while (check_step(cache, slab, &at, &bug)) {
		bug_info_detected(&bug, NULL);
		debug_report(cache, &bug);
		problems++;
	}
	return problems;
}

/* --- copies ------------------------------------------------------------------------------- */

static bool copy_next(struct slab_cache *cache, struct slab *slab, unsigned *at,
		      struct bug_info *bug)
{
	if (debug_is_guarded(slab))
		return guard_check_copy(cache, slab, bug);
	return slab_is_legacy(slab) ? check_legacy(cache, slab, bug)
				    : check_next(cache, slab, at, bug);
}

long debug_check_copy(struct slab_cache *cache, struct slab *slab,
		      void (*fn)(struct bug_info *bug, void *arg), void *arg)
{
	struct bug_info bug;
	unsigned at = AT_SLAB;
	long problems = 0;

	for (; copy_next(cache, slab, &at, &bug); problems++)
		fn(&bug, arg);
	return problems;
}
