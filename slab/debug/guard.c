/* SPDX-License-Identifier: MIT */
/*
 * Guarded objects: one to a slab, between pages that cannot be accessed.
 *
 *   inaccessible | pattern, object | inaccessible      or
 *   inaccessible | object, pattern | inaccessible
 *   0              a few pages, in the middle           64 KiB, or four pages
 *
 * The slab is a debug slab (struct slab_debug beside it, flag U, one record),
 * whose red_left leads from its start to the object. What is special: it is on no
 * list of its node, and guard_lock() protects its record. A thread that holds that
 * lock takes no other one.
 *
 * Slabs of freed objects wait in a queue, inaccessible, with their cache and what
 * is known of the object, so that later accesses are detected. They are reused when
 * the process may have no more slabs, or when more than half of them wait.
 */
#include "debug/guard.h"
#include "base/round.h"
#include "core/callback.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "bug/bug_info.h"
#include "bug/damage.h"
#include "debug/debug_cache.h"
#include "bug/layout.h"
#include "pages/account.h"
#include "pages/os.h"
#include "pages/topology.h"
#include "report/track.h"

#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>
#include <string.h>

#define GUARD_PATTERN RED_ACTIVE

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slab *waiting, *waiting_tail; /* slabs of freed objects, oldest first */
static unsigned nr_slabs, nr_waiting;

void guard_lock(void)
{
	pthread_mutex_lock(&lock);
}

void guard_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* The smallest slab that has room for an object of a page, aligned to one. */
static unsigned guard_shift(void)
{
	unsigned shift = SLAB_SHIFT_MIN;

	while ((size_t)1 << shift < 4 * os_page_size())
		shift++;
	return shift;
}

static size_t guard_bytes(void)
{
	return (size_t)1 << guard_shift();
}

/* --- where the object stands --------------------------------------------------- */

struct place {
	size_t pages, bytes; /* the accessible part, from the slab's start */
	size_t object, size;
};

/* Objects by size may be relied on to be aligned as their size is. */
static size_t align_of(const struct slab_cache *cache)
{
	return cache->by_size ? cache->object_size & -cache->object_size : cache->align;
}

static bool at_left_end(void)
{
	static unsigned n;

	/* A multiplicative hash: as good as random, and the same in each run. */
	return __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) * 2654435761u >> 31;
}

static bool choose_place(const struct slab_cache *cache, size_t requested, struct place *place)
{
	const size_t page = os_page_size(), all = guard_bytes();
	size_t align = align_of(cache), step = align > page ? align : page;
	size_t end;

	place->size = requested ? requested : 1;
	place->bytes = os_pages(place->size);
	if (place->bytes > all - 2 * page)
		return false;
	place->pages = round_down((all - place->bytes) / 2, step);
	if (place->pages == 0)
		place->pages = step;
	end = place->pages + place->bytes;
	place->object = at_left_end() ? place->pages : round_down(end - place->size, align);
	return end <= all - page;
}

/* The place of a slab's object. */
static struct place place_of(const struct slab *slab)
{
	struct place place = {.object = slab->debug->red_left, .size = slab->debug->object_size};

	place.pages = round_down(place.object, os_page_size());
	place.bytes = os_pages(place.object + place.size) - place.pages;
	return place;
}

/* --- memory -------------------------------------------------------------------- */

static void drop_memory(struct slab *slab)
{
	os_discard(slab->cpu.base, guard_bytes());
	__atomic_store_n(&slab->populated, 0, __ATOMIC_RELAXED);
}

/* From inaccessible; only what the object needs is to hold memory. */
static bool open_place(struct slab *slab, const struct place *place)
{
	char *base = slab->cpu.base;
	const size_t after = place->object + place->size, end = place->pages + place->bytes;

	if (slab->populated &&
	    (slab->populated != place->bytes || place_of(slab).pages != place->pages))
		drop_memory(slab);
	if (!os_protect(base + place->pages, place->bytes, true))
		return false;
	memset(base + place->pages, GUARD_PATTERN, place->object - place->pages);
	memset(base + after, GUARD_PATTERN, end - after);
	__atomic_store_n(&slab->populated, (uint32_t)place->bytes, __ATOMIC_RELAXED);
	return true;
}

static void close_place(struct slab *slab)
{
	const struct place place = place_of(slab);

	os_protect(slab->cpu.base + place.pages, place.bytes, false);
}

/* --- slabs ------------------------------------------------------------------------ */

/* With the lock. */
static void wait_last(struct slab *slab)
{
	slab->next = NULL;
	if (waiting)
		waiting_tail->next = slab;
	else
		waiting = slab;
	waiting_tail = slab;
	nr_waiting++;
}

/* With the lock: the oldest slab has no cache any more. */
static struct slab *wait_over(void)
{
	struct slab *slab = waiting;
	struct slab_cache *cache = slab_user(slab);

	waiting = slab->next;
	nr_waiting--;
	__atomic_store_n(&slab->cpu.user, NULL, __ATOMIC_RELEASE);
	if (cache) {
		__atomic_fetch_sub(&cache->node[slab->node].nr_slabs, 1, __ATOMIC_RELAXED);
		account_release(&cache->account, guard_bytes());
	}
	return slab;
}

/* A slab that waits no longer: the page layer's others expect it accessible. Where
 * that fails (too many mappings), it waits for an object of ours. */
static bool free_guarded(struct slab *slab)
{
	const bool accessible = os_protect(slab->cpu.base, guard_bytes(), true);

	if (accessible) {
		drop_memory(slab);
		__atomic_store_n(&slab->debug->guarded, 0, __ATOMIC_RELAXED);
		segment_free_slab(slab);
	}
	guard_lock();
	if (accessible)
		nr_slabs--;
	else
		wait_last(slab);
	guard_unlock();
	return accessible;
}

/* A fresh one, inaccessible. */
static struct slab *fresh_slab(void)
{
	const struct slab_debug debug = {
		.debug_flags = SLAB_STORE_USER,
		.stride = sizeof(struct debug_object) + 2 * sizeof(struct track),
		.guarded = 1,
	};
	const size_t side =
		sizeof(struct slab_debug) + sizeof(struct debug_object) + 2 * sizeof(struct track);
	struct geometry *geometry = geometry_get_debug(guard_shift(), 1, side);
	unsigned node = topology_node_of_cpu(cpu_engine->cpu());
	struct slab *slab = geometry ? segment_take_slab(geometry, node) : NULL;

	if (!slab)
		return NULL;
	debug_describe(slab, &debug);
	__atomic_store_n(&slab->objects, 1, __ATOMIC_RELAXED);
	slab_set_initialized(slab, 1);
	__atomic_store_n(&slab->listed, 0, __ATOMIC_RELAXED);
	slab->next = slab->prev = NULL;
	__atomic_store_n(&slab->remote, REMOTE_OWNED, __ATOMIC_RELAXED);
	if (!os_protect(slab->cpu.base, guard_bytes(), false)) {
		segment_free_slab(slab);
		return NULL;
	}
	return slab;
}

/* One isolated, inaccessible; NULL: there is none left. */
static struct slab *take_slab(void)
{
	struct slab *slab = NULL;
	bool fresh;

	guard_lock();
	fresh = nr_slabs < GUARD_SLABS_MAX && nr_waiting <= GUARD_SLABS_MAX / 2;
	if (fresh)
		nr_slabs++;
	else if (waiting)
		slab = wait_over();
	guard_unlock();
	if (!fresh)
		return slab;
	slab = fresh_slab();
	if (!slab) {
		guard_lock();
		nr_slabs--;
		guard_unlock();
	}
	return slab;
}

unsigned guard_flush(struct slab_cache *cache)
{
	struct slab *slabs = NULL, *next;
	unsigned n = 0;

	guard_lock();
	for (unsigned left = nr_waiting; left; left--) {
		next = waiting->next;
		if (slab_user(waiting) == cache) {
			struct slab *slab = wait_over();

			slab->next = slabs;
			slabs = slab;
		} else if (next) {
			waiting_tail->next = waiting;
			waiting_tail = waiting;
			waiting_tail->next = NULL;
			waiting = next;
		}
	}
	guard_unlock();
	for (; slabs; slabs = next) {
		next = slabs->next;
		n += free_guarded(slabs);
	}
	return n;
}

/* --- allocation -------------------------------------------------------------------- */

/* With an object in it, the slab becomes the cache's. */
static void publish(struct slab_cache *cache, struct slab *slab, const struct place *place,
		    size_t requested, const struct track *track)
{
	struct slab_debug *debug = slab->debug;

	guard_lock();
	cpu_slab_init(&slab->cpu, slab->cpu.base, guard_bytes(), 1, NULL);
	debug->object_size = debug->inuse = (uint32_t)place->size;
	debug->red_left = (uint32_t)place->object;
	__atomic_store_n(&debug->used, 1, __ATOMIC_RELAXED);
	*debug_record(slab, 0) = (struct debug_object){
		.requested = (uint32_t)requested,
		.state = OBJECT_ALLOCATED,
	};
	*debug_track(slab, 0, TRACK_ALLOC) = *track;
	*debug_track(slab, 0, TRACK_FREE) = (struct track){0};
	__atomic_fetch_add(&cache->node[slab->node].nr_slabs, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->cpu.user, (const char *)cache + SLAB_TAG_DEBUG, __ATOMIC_RELEASE);
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

void *guard_alloc(struct slab_cache *cache, size_t requested, const void *caller)
{
	struct track track = {0};
	struct place place;
	struct slab *slab;
	void *obj;

	if (!choose_place(cache, requested, &place) ||
	    !account_charge(&cache->account, guard_bytes()))
		return NULL;
	slab = take_slab();
	if (!slab) {
		account_release(&cache->account, guard_bytes());
		return NULL;
	}
	obj = slab->cpu.base + place.object;
	if (!open_place(slab, &place) || !construct(cache, obj)) {
		free_guarded(slab);
		account_release(&cache->account, guard_bytes());
		return NULL;
	}
	track_fill(&track, caller);
	publish(cache, slab, &place, requested, &track);
	return obj;
}

/* --- checks ------------------------------------------------------------------------- */

/* The bytes around an allocated object: false: damage, put right and described. */
static bool check_around(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	const struct place place = place_of(slab);
	char *pages = slab->cpu.base + place.pages, *object = slab->cpu.base + place.object;
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

/* With the lock: still a guarded slab of this cache? */
static bool is_ours(const struct slab_cache *cache, const struct slab *slab)
{
	return slab->debug->guarded && slab_user(slab) == cache;
}

/* Not free, or not yet: its place is accessible. */
static bool is_in_use(const struct slab *slab)
{
	return debug_record(slab, 0)->state != OBJECT_FREE;
}

static bool check_once(struct slab_cache *cache, struct slab *slab, struct bug_info *bug)
{
	bool good;

	guard_lock();
	good = !is_ours(cache, slab) || !is_in_use(slab) || check_around(cache, slab, bug);
	guard_unlock();
	return good;
}

/* Both sides may be damaged. */
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

/* The object's state changes from `from` to `to`. */
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
		__atomic_store_n(&slab->debug->used, to != OBJECT_FREE, __ATOMIC_RELAXED);
		return FREED;
	}
	if (obj == object)
		debug_describe_double(cache, slab, 0, bug);
	else
		debug_describe_pointer(cache, slab, obj, 0, (size_t)((char *)obj - object), bug);
	bug_info_fix(bug, "Object at %p not freed", obj);
	return REFUSED;
}

/* … after a look around it; what is wrong is reported. */
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

/* Freed: no other thread touches it before it waits. */
static void retire(struct slab_cache *cache, struct slab *slab, void *obj)
{
	struct callback callback;

	if (cache->dtor) {
		callback = callback_begin(cache);
		debug_destroy_object(cache, obj);
		callback_end(&callback);
	}
	if (cache->tag & SLAB_TAG_ZERO)
		memset(obj, 0, slab->debug->object_size);
	close_place(slab);
	guard_lock();
	wait_last(slab);
	guard_unlock();
}

bool guard_free(struct slab_cache *cache, struct slab *slab, void *obj, const void *caller)
{
	struct track track;
	int result;

	track_fill(&track, caller);
	result = check_and_change(cache, slab, obj, OBJECT_ALLOCATED, OBJECT_FREE, &track);
	if (result == FREED)
		retire(cache, slab, obj);
	return result != GONE;
}

bool guard_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj, const void *caller)
{
	struct track track;
	int result;

	track_fill(&track, caller);
	result = check_and_change(cache, slab, obj, OBJECT_ALLOCATED, OBJECT_WAITING, &track);
	if (result == GONE) /* freed by another thread, and used again */
		report_bad_free_rcu(cache, obj, caller);
	return result == FREED;
}

void guard_free_waited(struct slab_cache *cache, struct slab *slab)
{
	void *obj = debug_object_at(slab, 0);
	const struct track track = *debug_track(slab, 0, TRACK_FREE);

	if (check_and_change(cache, slab, obj, OBJECT_WAITING, OBJECT_FREE, &track) == FREED)
		retire(cache, slab, obj);
}
