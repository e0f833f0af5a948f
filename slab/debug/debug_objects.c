/* SPDX-License-Identifier: MIT */
/*
 * Allocation and free in caches with debug flags. bad_free.c reports bad frees.
 *
 * A thread reads or changes a debug slab only under the node's lock, one object at a time, and a
 * legacy slab under its shard's lock (debug_lock()). Under the lock it copies the description of a
 * problem (bug_info.h), and reports it after unlocking. The thread records its stack before it
 * takes the lock.
 *
 * Damage is contained as in SLUB. If a free object was written to, its slab is taken out of use:
 * all its objects count as used, and another slab serves. If the bytes around an allocated object
 * were written to, they are repaired. If the free of that object finds the damage, the object is
 * never allocated again ("not freed").
 */
#include "core/debug_record.h"
#include "core/shard.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/damage.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "debug/layout.h"
#include "pages/topology.h"
#include "percpu/refill.h"
#include "core/reserve.h"
#include "report/annotate.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/track.h"

#include <errno.h>
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>
#include <slab/stats.h>
#include <string.h>
#include <sys/types.h>

/* --- TRACE ------------------------------------------------------------------------ */

/* One allocation or free: its caller, and what is reported after unlocking. */
struct operation {
	struct track track;
	struct profile_sample sample; /* of a sampled allocation, else of site 0 */
	struct bug_info bug;
	unsigned used; /* objects in use in the slab after the operation */
	const void *free_object; /* the first on the slab's freelist, or NULL */
};

/* Copy what the trace line needs. Under the slab's lock: after unlocking, the slab may be
 * released. */
static void note_slab(struct operation *op, const struct slab *slab)
{
	unsigned first = slab->debug ? slab->debug->first : 0;

	op->used = slab_used(slab);
	op->free_object = first ? debug_object_at(slab, first - 1) : NULL;
}

static void trace(struct slab_cache *cache, const char *what, const void *obj,
		  const struct operation *op)
{
	if (cache_debug_flags(cache) & SLAB_TRACE)
		report_trace_line("TRACE %s %s %p inuse=%u fp=%p", cache->name, what, obj, op->used,
				  op->free_object);
}

/* --- allocation --------------------------------------------------------------------- */

enum { TAKEN, NOTHING, UNFIT, AGAIN };

/* Take the first object of the freelist. -1: the object or the freelist is damaged; the slab is
 * disabled and `bug` describes the damage. */
static int take_object(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	int index = debug_pop(slab);

	if (index < 0) {
		bug_info_begin(bug, SLAB_PROBLEM_FREELIST, cache->name, "Freepointer corrupt");
		bug_info_slab(bug, slab);
	} else if (debug_check_object(cache, slab, (unsigned)index, bug)) {
		return index;
	}
	bug_info_fix(bug, "Marking all objects used");
	debug_slab_disable(cache, slab);
	return -1;
}

static void *hand_out(struct slab_cache *cache, struct slab *slab, unsigned index, size_t requested,
		      const struct operation *op)
{
	struct debug_object *record = debug_record(slab, index);

	record->state = OBJECT_ALLOCATED;
	record->requested = (uint32_t)requested;
	record->pair = debug_pair;
	debug_add_used(cache, slab, 1);
	if (slab->debug->debug_flags & SLAB_STORE_USER)
		*debug_track(slab, index, TRACK_ALLOC) = op->track;
	if (op->sample.site)
		*debug_sample(slab, index) = op->sample;
	debug_fill(slab, index);
	if (slab->debug->debug_flags & DEBUG_FLAG_TOOL)
		annotate_alloc(debug_object_at(slab, index), requested, cache->ctor);
	return debug_object_at(slab, index);
}

/* Under the node's lock: allocate an object of this slab. NULL: the slab is damaged, and op->bug
 * describes the damage. */
static void *take_from(struct slab_cache *cache, struct slab *slab, size_t requested,
		       struct operation *op)
{
	int index = take_object(cache, slab, &op->bug);
	void *obj;

	if (index < 0)
		return NULL;
	obj = hand_out(cache, slab, (unsigned)index, requested, op);
	debug_slab_place(cache, slab);
	note_slab(op, slab);
	return obj;
}

static int alloc_from_node(struct slab_cache *cache, unsigned n, size_t requested,
			   struct operation *op, void **ret_obj)
{
	struct cache_node *node = &cache->node[n];
	struct slab *slab;

	*ret_obj = NULL;
	pthread_mutex_lock(&node->lock);
	slab = op->sample.site ? node->profile.slabs.first : node->debug.slabs.first;
	if (slab)
		*ret_obj = take_from(cache, slab, requested, op);
	pthread_mutex_unlock(&node->lock);
	return *ret_obj ? TAKEN : slab ? UNFIT : NOTHING;
}

/* The debug flags of the slabs for an allocation. */
static uint64_t flags_for(const struct slab_cache *cache, const struct operation *op)
{
	uint64_t debug_flags = cache_debug_flags(cache);

	if (!op->sample.site)
		return debug_flags;
	return SLAB_STORE_USER | DEBUG_FLAG_PROFILE | (debug_flags & DEBUG_FLAG_TOOL);
}

/*
 * Allocate from a fresh slab. The slab is published and its first object taken under one lock,
 * since another thread might release a published slab that is unused. AGAIN: the debug flags
 * changed while the slab was being created.
 */
static int alloc_from_fresh(struct slab_cache *cache, unsigned n, size_t requested,
			    struct operation *op, void **ret_obj)
{
	struct slab *slab;
	bool fits;

	if (!op->sample.site)
		legacy_begin_rest(cache);
	slab = debug_slab_create(cache, n, flags_for(cache, op));
	if (!slab)
		return NOTHING;
	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_ALLOC_SLAB);
	*ret_obj = NULL;
	pthread_mutex_lock(&cache->node[n].lock);
	fits = debug_slab_serves(cache, slab);
	if (fits) {
		debug_slab_publish(cache, slab);
		*ret_obj = take_from(cache, slab, requested, op);
	}
	pthread_mutex_unlock(&cache->node[n].lock);
	if (!fits)
		slab_release(cache, slab);
	return *ret_obj ? TAKEN : fits ? UNFIT : AGAIN;
}

void *debug_alloc(struct slab_cache *cache, int wanted, bool strict, size_t requested,
		  const void *caller)
{
	unsigned here = topology_node_of_cpu(cpu_engine->cpu()), tried = 0;
	unsigned n = wanted < 0 ? here : (unsigned)wanted;
	struct operation op;
	void *obj;

	op.track = (struct track){0};
	op.sample.site = 0;
	annotate_use(cache);
	if (cache_debug_flags(cache) & SLAB_STORE_USER)
		track_fill(&op.track, caller);
	while (cache_debug_flags(cache) & DEBUG_FLAGS_SLAB) {
		int result = alloc_from_node(cache, n, requested, &op, &obj);

		if (result == NOTHING && !tried)
			result = alloc_from_fresh(cache, n, requested, &op, &obj);
		if (result == TAKEN) {
			trace(cache, "alloc", obj, &op);
			return obj;
		}
		if (result == UNFIT) {
			bug_info_detected(&op.bug, caller);
			debug_report(cache, &op.bug);
		}
		if (result != NOTHING)
			continue;
		/* There is no memory for a slab: try the lists of other nodes. */
		if (++tried > topology_nodes() || strict) {
			errno = ENOMEM;
			return NULL;
		}
		n = (n + 1) % topology_nodes();
	}
	return node_alloc(cache, n, strict);
}

/* Allocate from a debug slab of the heap profile, on this node alone. */
static int alloc_for_profile(struct slab_cache *cache, unsigned n, size_t requested,
			     struct operation *op, void **ret_obj)
{
	int result = alloc_from_node(cache, n, requested, op, ret_obj);

	if (result == NOTHING)
		result = alloc_from_fresh(cache, n, requested, op, ret_obj);
	return result;
}

void *debug_alloc_sampled(struct slab_cache *cache, int wanted, size_t requested,
			  const void *caller)
{
	unsigned here = topology_node_of_cpu(cpu_engine->cpu());
	int saved = errno, result = NOTHING;
	struct operation op;
	void *obj = NULL;

	op.track = (struct track){0};
	track_fill(&op.track, caller);
	op.sample = (struct profile_sample){
		.site = profile_find_site(op.track.stack, cache->object_size),
		.birth = profile_birth(),
	};
	__atomic_store_n(&cache->had_debug_flags, true, __ATOMIC_RELAXED);
	if (op.sample.site)
		result = alloc_for_profile(cache, wanted < 0 ? here : (unsigned)wanted, requested,
					   &op, &obj);
	if (result == UNFIT) {
		bug_info_detected(&op.bug, caller);
		debug_report(cache, &op.bug);
	}
	errno = saved;
	if (result != TAKEN) {
		profile_count_missed();
		return NULL;
	}
	profile_set_token(op.sample.site, cache->token);
	profile_count_alloc(op.sample.site);
	trace(cache, "alloc", obj, &op);
	return obj;
}

/* hand_out() for an object that is already allocated. false: the object was damaged while it was
 * in the reserve; the damage is repaired and described. */
static bool hand_over_locked(struct slab_cache *cache, struct slab *slab, unsigned index,
			     size_t requested, struct operation *op)
{
	bool is_good = debug_check_object(cache, slab, index, &op->bug);

	debug_record(slab, index)->requested = (uint32_t)requested;
	if (slab->debug->debug_flags & SLAB_STORE_USER)
		*debug_track(slab, index, TRACK_ALLOC) = op->track;
	if (slab->debug->debug_flags & DEBUG_FLAG_TOOL)
		annotate_alloc(debug_object_at(slab, index), requested, cache->ctor);
	note_slab(op, slab);
	return is_good;
}

void debug_hand_over(struct slab_cache *cache, void *obj, size_t requested, const void *caller)
{
	struct slab *slab = slab_of(obj);
	struct operation op;
	bool is_good = true;
	unsigned index;
	size_t into;

	if (!slab->debug || !slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return;
	op.track = (struct track){0};
	if (slab->debug->debug_flags & SLAB_STORE_USER)
		track_fill(&op.track, caller);
	debug_find_object(slab, obj, &index, &into);
	pthread_mutex_lock(&cache->node[slab->node].lock);
	is_good = hand_over_locked(cache, slab, index, requested, &op);
	pthread_mutex_unlock(&cache->node[slab->node].lock);
	trace(cache, "alloc", obj, &op);
	if (!is_good) {
		bug_info_detected(&op.bug, caller);
		debug_report(cache, &op.bug);
	}
}

/* --- free --------------------------------------------------------------------------------- */

/* May this object be freed? If not, `bug` describes the problem. Under the slab's lock. */
static bool may_free(struct slab_cache *cache, struct slab *slab, const void *obj, unsigned index,
		     size_t into, struct bug_info *bug)
{
	if (index >= slab->initialized || into) {
		debug_describe_pointer(cache, slab, obj, index, into, bug);
		return false;
	}
	if (!debug_is_allocated(slab, index)) {
		debug_describe_double(cache, slab, index, bug);
		return false;
	}
	if (!slab->debug || debug_check_object(cache, slab, index, bug))
		return true;
	debug_record(slab, index)->state = OBJECT_LOST;
	return false;
}

/* Free a checked object of a debug slab. true: the slab is unused, and the caller releases it. */
static bool take_back(struct slab_cache *cache, struct slab *slab, unsigned index,
		      const struct track *track)
{
	if (slab->debug->debug_flags & DEBUG_FLAG_TOOL)
		annotate_free(debug_object_at(slab, index), debug_record(slab, index)->requested);
	debug_record(slab, index)->state = OBJECT_FREE;
	debug_add_used(cache, slab, -1);
	if (debug_tracks_frees(slab))
		*debug_track(slab, index, TRACK_FREE) = *track;
	debug_fill(slab, index);
	if (debug_is_profiled(slab)) {
		profile_count_free(debug_sample(slab, index)->site,
				   debug_sample(slab, index)->birth);
		if (cache->tag & SLAB_TAG_ZERO)
			memset(debug_object_at(slab, index), 0, slab->debug->object_size);
	}
	if (slab->debug->disabled)
		return false;
	debug_push(slab, index);
	return debug_slab_place(cache, slab);
}

/* FREED_LAST: the caller releases the slab. REFUSED: op->bug describes the problem. GONE: the slab
 * does not belong to this cache, or has lost SLAB_TAG_DEBUG. */
enum { FREED, FREED_LAST, REFUSED, GONE };

static int free_locked(struct slab_cache *cache, struct slab *slab, const struct debug_lock *lock,
		       void *obj, struct operation *op)
{
	unsigned index;
	size_t into;
	bool last;

	if (!debug_is_ours(cache, slab, lock))
		return GONE;
	debug_find_object(slab, obj, &index, &into);
	if (!may_free(cache, slab, obj, index, into, &op->bug))
		return REFUSED;
	/* SLAB_ZERO=free. Poison also overwrites the object, so one of them is enough. */
	if (cache->tag & SLAB_TAG_ZERO && !(slab->debug && slab->debug->poisons))
		memset(obj, 0, debug_usable_size(slab, obj));
	last = slab->debug ? take_back(cache, slab, index, &op->track)
			   : legacy_free(lock->shard, slab, index);
	note_slab(op, slab);
	return last ? FREED_LAST : FREED;
}

/* The rest of a free, after unlocking. */
static void after_free(struct slab_cache *cache, struct slab *slab, void *obj, int result,
		       const struct operation *op)
{
	trace(cache, "free", obj, op);
	if (result == FREED_LAST)
		slab_release(cache, slab);
}

bool debug_free(struct slab_cache *cache, void *obj, const void *caller)
{
	struct slab *slab = segment_known(obj) ? slab_of(obj) : &slab_none;
	struct debug_lock lock;
	struct operation op;
	int result;

	if (slab_user(slab) != cache) {
		debug_report_stray(cache, obj, caller);
		return true;
	}
	if (reserve_holds(cache, obj)) { /* the slab's record says that it is allocated */
		debug_report_double_free(cache, slab, obj, caller);
		return true;
	}
	if (debug_is_guarded(slab))
		return guard_free(cache, slab, obj, caller);
	op.track = (struct track){0};
	if (slab->debug && debug_tracks_frees(slab))
		track_fill(&op.track, caller);
	lock = debug_lock(cache, slab);
	result = free_locked(cache, slab, &lock, obj, &op);
	debug_unlock(&lock);
	if (result == REFUSED)
		report_bad_free(cache, &op.bug, obj, caller);
	else if (result != GONE)
		after_free(cache, slab, obj, result, &op);
	return result != GONE;
}

/* --- frees that wait for a grace period ---------------------------------------------------- */

static int begin_locked(struct slab_cache *cache, struct slab *slab, const struct debug_lock *lock,
			void *obj, struct operation *op)
{
	unsigned index;
	size_t into;

	if (!debug_is_ours(cache, slab, lock))
		return GONE;
	debug_find_object(slab, obj, &index, &into);
	if (!may_free(cache, slab, obj, index, into, &op->bug))
		return REFUSED;
	if (!slab->debug) /* a legacy slab has no records */
		return FREED;
	debug_record(slab, index)->state = OBJECT_WAITING;
	if (debug_tracks_frees(slab))
		*debug_track(slab, index, TRACK_FREE) = op->track;
	return FREED;
}

bool debug_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj, const void *caller)
{
	struct debug_lock lock;
	struct operation op;
	int result;

	if (reserve_holds(cache, obj)) {
		debug_report_double_free(cache, slab, obj, caller);
		return false;
	}
	if (debug_is_guarded(slab))
		return guard_begin_waiting(cache, slab, obj, caller);
	op.track = (struct track){0};
	if (slab->debug && debug_tracks_frees(slab))
		track_fill(&op.track, caller);
	lock = debug_lock(cache, slab);
	result = begin_locked(cache, slab, &lock, obj, &op);
	debug_unlock(&lock);
	if (result == REFUSED)
		report_bad_free(cache, &op.bug, obj, caller);
	return result != REFUSED;
}

/* The track of slab_free_rcu() is copied, so that reports name its caller. */
static int free_waited_locked(struct slab_cache *cache, struct slab *slab,
			      const struct debug_lock *lock, unsigned index, struct operation *op)
{
	if (!debug_is_ours(cache, slab, lock))
		return GONE;
	if (slab->debug) {
		if (debug_tracks_frees(slab))
			op->track = *debug_track(slab, index, TRACK_FREE);
		if (debug_record(slab, index)->state == OBJECT_WAITING)
			debug_record(slab, index)->state = OBJECT_ALLOCATED;
		return free_locked(cache, slab, lock, debug_object_at(slab, index), op);
	}
	return free_locked(cache, slab, lock, slab_object(cache, slab, index), op);
}

bool debug_free_waited(struct slab_cache *cache, struct slab *slab, unsigned index)
{
	void *obj = slab->debug ? debug_object_at(slab, index) : slab_object(cache, slab, index);
	struct debug_lock lock;
	struct operation op;
	int result;

	if (debug_is_guarded(slab)) {
		guard_free_waited(cache, slab);
		return true;
	}
	op.track = (struct track){0};
	lock = debug_lock(cache, slab);
	result = free_waited_locked(cache, slab, &lock, index, &op);
	debug_unlock(&lock);
	if (result == REFUSED) {
		op.bug.detected = op.track;
		bug_info_fix(&op.bug, "Object at %p not freed", obj);
		debug_report(cache, &op.bug);
	} else if (result != GONE) {
		after_free(cache, slab, obj, result, &op);
	} else if (slab_user(slab) != cache) {
		debug_report_stray(cache, obj, NULL);
		return true;
	}
	return result != GONE;
}
