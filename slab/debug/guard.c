/* SPDX-License-Identifier: MIT */
/*
 * Guarded objects: allocation, the check of the bytes around them, and free. guard_lock()
 * protects the records of all guarded objects; a thread that holds it takes no other lock.
 */
#include "debug/guard.h"
#include "base/probe.h"
#include "core/callback.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/damage.h"
#include "debug/layout.h"
#include "debug/debug_cache.h"
#include "debug/guard_slabs.h"
#include "pages/account.h"
#include "report/track.h"

#include <slab/debug.h>
#include <slab/slab.h>
#include <string.h>

/* --- allocation -------------------------------------------------------------------- */

/* Fill in the object's record and give the slab to the cache. */
static void publish(struct slab_cache *cache, struct slab *slab, const struct guard_place *place,
		    size_t requested, const struct track *track)
{
	struct slab_debug *debug = slab->debug;

	guard_lock();
	debug->object_size = debug->inuse = (uint32_t)place->size;
	debug->red_left = (uint32_t)place->object;
	*debug_record(slab, 0) = (struct debug_object){
		.requested = (uint32_t)requested,
		.state = OBJECT_ALLOCATED,
	};
	*debug_track(slab, 0, TRACK_ALLOC) = *track;
	*debug_track(slab, 0, TRACK_FREE) = (struct track){0};
	debug_add_used(cache, slab, 1);
	__atomic_fetch_add(&cache->node[slab->node].nr_slabs, 1, __ATOMIC_RELAXED);
	debug_slab_publish(cache, slab);
	guard_unlock();
}

static bool construct(struct slab_cache *cache, void *obj)
{
	struct callback callback;
	int error;

	if (!cache->ctor)
		return true;
	callback = callback_begin(cache);
	error = cache->ctor(obj, cache->arg);
	callback_end(&callback);
	return !error;
}

/* A slab has 64 KiB for a small object, so it counts against GUARD_SLABS_MAX and the process's
 * limit, not against the cache's: that would end the sampling of a cache with a limit. NULL: there
 * is none left. */
static struct slab *take_slab(struct slab_cache *cache, const struct guard_place *place)
{
	struct slab *slab = NULL;

	if (account_charge(NULL, guard_slab_bytes())) {
		slab = guard_slab_take(cache, place);
		if (!slab)
			account_release(NULL, guard_slab_bytes());
	}
	if (!slab)
		__atomic_fetch_add(&cache->sample.missed, 1, __ATOMIC_RELAXED);
	return slab;
}

void *guard_alloc(struct slab_cache *cache, size_t requested, const void *caller)
{
	struct track track = {0};
	struct guard_place place;
	struct slab *slab;
	void *obj;

	slab = guard_place_choose(cache, requested, &place) ? take_slab(cache, &place) : NULL;
	if (!slab)
		return NULL;
	obj = slab->base + place.object;
	if (!guard_slab_open(slab, &place) || !construct(cache, obj)) {
		guard_slab_free(cache->space, slab);
		account_release(NULL, guard_slab_bytes());
		return NULL;
	}
	track_fill(&track, caller);
	publish(cache, slab, &place, requested, &track);
	SLAB_PROBE(guard_alloc, cache->name, cache, caller, obj, requested);
	return obj;
}

/* --- checks ------------------------------------------------------------------------- */

/* Check the bytes around an allocated object. false: they were damaged; the function has repaired
 * and described the damage. */
static bool check_around(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	const struct guard_place place = guard_place_of(slab);
	char *pages = slab->base + place.pages, *object = slab->base + place.object;
	const struct region left =
		region_of(SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone", pages, object, GUARD_PATTERN);
	const struct region right =
		region_of(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone", object + place.size,
			  pages + place.bytes, GUARD_PATTERN);
	struct damage damage;

	if (!debug_region_damaged(&left, &damage) && !debug_region_damaged(&right, &damage))
		return true;
	debug_describe_damage(cache, slab, 0, &damage, bug);
	return false;
}

/* Is this still a guarded slab of this cache? The caller holds the guard lock. If not, the slab may
 * be any other by now, even one without debug flags. */
static bool is_ours(const struct slab_cache *cache, const struct slab *slab)
{
	return slab_user(slab) == cache && debug_is_guarded(slab);
}

/* Is the object allocated, or waiting for a grace period? Then its pages are accessible. */
static bool is_in_use(const struct slab *slab)
{
	return debug_record(slab, 0)->state != OBJECT_FREE;
}

bool guard_check_copy(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	return is_in_use(slab) && !check_around(cache, slab, bug);
}

static bool check_once(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	bool good;

	guard_lock();
	good = !is_ours(cache, slab) || !is_in_use(slab) || check_around(cache, slab, bug);
	guard_unlock();
	return good;
}

/* Check until nothing is wrong, since both sides of the object may be damaged. */
static long check(struct slab_cache *cache, struct slab *slab, const struct track *detector)
{
	struct bug_info bug;
	long problems = 0;

	for (; !check_once(cache, slab, &bug); problems++) {
		bug.detected = *detector;
		debug_report(cache, &bug);
	}
	return problems;
}

long guard_check(struct slab_cache *cache, struct slab *slab)
{
	struct track track;

	track_fill(&track, NULL);
	return check(cache, slab, &track);
}

/* --- free ----------------------------------------------------------------------------- */

enum { FREED, REFUSED, GONE };

/* Change the object's state. FREED: done; REFUSED: obj is not in state `from`, and `bug` describes
 * it; GONE: the slab is no longer a guarded slab of this cache. */
static int change_state(struct slab_cache *cache, struct slab *slab, void *obj,
			enum object_state from, enum object_state to, const struct track *track,
			struct bug_info *bug)
{
	char *object = debug_object_at(slab, 0);

	if (!is_ours(cache, slab))
		return GONE;
	if (obj == object && debug_record(slab, 0)->state == from) {
		debug_record(slab, 0)->state = to;
		*debug_track(slab, 0, TRACK_FREE) = *track;
		debug_add_used(cache, slab, (to != OBJECT_FREE) - slab->debug->used);
		return FREED;
	}
	if (obj == object)
		debug_describe_double(cache, slab, 0, bug);
	else
		debug_describe_pointer(cache, slab, obj, 0, (size_t)((char *)obj - object), bug);
	bug_info_fix(bug, "Object at %p not freed", obj);
	return REFUSED;
}

/* Check the bytes around the object, change its state, and report each problem. */
static int check_and_change(struct slab_cache *cache, struct slab *slab, void *obj,
			    enum object_state from, enum object_state to, const struct track *track)
{
	struct bug_info bug;
	int result;

	check(cache, slab, track);
	guard_lock();
	result = change_state(cache, slab, obj, from, to, track, &bug);
	guard_unlock();
	if (result == REFUSED) {
		bug.detected = *track;
		debug_report(cache, &bug);
	}
	return result;
}

/* Destroy and clear a freed object. No other thread uses the slab until it is in the queue. */
static void let_rest(struct slab_cache *cache, struct slab *slab, void *obj)
{
	struct callback callback;

	if (cache->dtor) {
		callback = callback_begin(cache);
		debug_destroy_object(cache, obj);
		callback_end(&callback);
	}
	if (cache->tag & SLAB_TAG_ZERO)
		memset(obj, 0, slab->debug->object_size);
	guard_slab_rest(slab);
}

bool guard_free(struct slab_cache *cache, struct slab *slab, void *obj, const void *caller)
{
	struct track track;
	int result;

	track_fill(&track, caller);
	result = check_and_change(cache, slab, obj, OBJECT_ALLOCATED, OBJECT_FREE, &track);
	if (result == FREED) {
		SLAB_PROBE(guard_free, cache->name, cache, caller, obj);
		let_rest(cache, slab, obj);
	}
	return result != GONE;
}

bool guard_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj, const void *caller)
{
	struct track track;
	int result;

	track_fill(&track, caller);
	result = check_and_change(cache, slab, obj, OBJECT_ALLOCATED, OBJECT_WAITING, &track);
	if (result == GONE) /* another thread freed the object, and its slab was reused */
		report_bad_free_rcu(cache, obj, caller);
	return result == FREED;
}

void guard_free_waited(struct slab_cache *cache, struct slab *slab)
{
	void *obj = debug_object_at(slab, 0);
	const struct track track = *debug_track(slab, 0, TRACK_FREE);

	if (check_and_change(cache, slab, obj, OBJECT_WAITING, OBJECT_FREE, &track) == FREED)
		let_rest(cache, slab, obj);
}
