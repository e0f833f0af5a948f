/* SPDX-License-Identifier: MIT */
/*
 * Checks of slabs. Of a debug slab: counts, freelist, and every byte that must hold a known value.
 * Of another slab: the map, which is all that there is.
 *
 * A check stops at the first problem, repairs it as SLUB does, and unlocks the slab for the
 * report. Then it continues from there. `at` is the position: AT_SLAB the slab itself, or its map,
 * AT_FREELIST its freelist, AT_COUNT the count of free objects, from AT_OBJECTS on the objects.
 */
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>
#include <string.h>

#include "base/bits.h"
#include "core/debug_record.h"
#include "core/shard.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/damage.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "debug/layout.h"

enum { AT_SLAB, AT_FREELIST, AT_COUNT, AT_OBJECTS, AT_END = UINT16_MAX + AT_OBJECTS };

static void describe_count(const struct slab *slab, struct bug_info *bug, const char *fix)
{
	bug_info_slab(bug, slab);
	bug_info_fix(bug, "%s", fix);
}

/* Check the descriptor, and the memory behind the last object. */
static bool check_slab(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	unsigned max = (unsigned)(slab_bytes(slab) / debug_size(slab));
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
			debug_set_initialized(slab, max);
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

/* --- maps ------------------------------------------------------------------------------- */

/* No free object of a slab with a damaged map is allocated again. The shard counts those that the
 * map had as free. Returns false if the descriptor is damaged, too: then nothing can be
 * repaired. */
static bool mark_all_used(const struct slab_cache *cache, struct shard *shard, struct slab *slab)
{
	unsigned free = 0;

	if (slab->bucket > SLAB_OFF || slab->objects * cache->size > slab_bytes(slab))
		return false;
	for (unsigned word = 0; word < map_words(slab->objects); word++) {
		free += bits_count(slab->map[word]);
		__atomic_store_n(&slab->map[word], 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&slab->free, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&shard->used, shard->used + free, __ATOMIC_RELAXED);
	if (slab->initialized > slab->objects)
		__atomic_store_n(&slab->initialized, slab->objects, __ATOMIC_RELAXED);
	return true;
}

/* Check the map of an ordinary or legacy slab, once. */
static bool check_map(struct slab_cache *cache, struct slab *slab, unsigned *at,
		      struct bug_info *bug)
{
	const char *wrong = *at == AT_SLAB ? slab_check_map(slab) : NULL;

	*at = AT_END;
	if (!wrong)
		return false;
	bug_info_begin(bug, SLAB_PROBLEM_FREELIST, cache->name, "Map of free objects corrupt");
	bug_info_slab(bug, slab);
	bug_info_note(bug, "The slab is inconsistent: %s", wrong);
	return true;
}

/* Under the shard's lock: repair the slab, and list it anew unless a thread works on it. */
static void repair_map(const struct slab_cache *cache, struct shard *shard, struct slab *slab,
		       struct bug_info *bug)
{
	const bool is_listed = slab->bucket < SLAB_OFF;

	if (is_listed)
		slab_take_off(shard, slab);
	if (mark_all_used(cache, shard, slab))
		bug_info_fix(bug, "Marking all objects used");
	if (is_listed)
		slab_put_on(shard, slab);
}

/* --- steps ------------------------------------------------------------------------------- */

static bool check_step(struct slab_cache *cache, struct slab *slab, unsigned *at,
		       struct bug_info *bug)
{
	const struct debug_lock lock = debug_lock(cache, slab);
	bool found = false;

	/* The slab may have been released, or may have changed its kind, in the meantime. The
	 * memory of a guarded one may be inaccessible. */
	if (lock.shard) {
		found = slab_user(slab) == cache && check_map(cache, slab, at, bug);
		if (found)
			repair_map(cache, lock.shard, slab, bug);
	} else if (debug_is_ours(cache, slab, &lock) && !debug_is_guarded(slab)) {
		found = check_next(cache, slab, at, bug);
		if (found && slab->debug->used)
			debug_slab_place(cache, slab);
	}
	debug_unlock(&lock);
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
	return check_next(cache, slab, at, bug);
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
