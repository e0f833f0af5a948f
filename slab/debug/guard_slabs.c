/* SPDX-License-Identifier: MIT */
/*
 * Guarded slabs: the place of the object, the memory around it, and reuse.
 *
 * The slab of a freed object stays inaccessible in a queue, with its cache and the object's
 * record, so that libslab detects and explains later accesses. The oldest slab in the queue is
 * reused when the process has GUARD_SLABS_MAX guarded slabs, or when more than half of that
 * number wait in the queue.
 */
#include "debug/guard_slabs.h"
#include "base/round.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "pages/account.h"
#include "pages/free_slabs.h"
#include "pages/os.h"
#include "pages/topology.h"

#include <pthread.h>
#include <slab/debug.h>
#include <string.h>

#define GUARD_SHIFT_MIN 16u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slab *waiting, *waiting_tail; /* the queue: slabs of freed objects, oldest first */
static unsigned nr_slabs, nr_waiting;

void guard_lock(void)
{
	pthread_mutex_lock(&lock);
}

void guard_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* The smallest slab with room for a page-sized, page-aligned object between guard pages. */
static unsigned guard_shift(void)
{
	unsigned shift = GUARD_SHIFT_MIN;

	while ((size_t)1 << shift < 4 * os_page_size())
		shift++;
	return shift;
}

size_t guard_slab_bytes(void)
{
	return (size_t)1 << guard_shift();
}

/* --- where the object stands --------------------------------------------------- */

/* Applications may rely on the natural alignment of an allocation by size. */
static size_t align_of(const struct slab_cache *cache)
{
	const size_t natural = cache->object_size & -cache->object_size;

	return cache->by_size && natural > cache->align ? natural : cache->align;
}

/* Most writes beyond an object are behind it, so three of four objects end where their pages end.
 * In a cache where one was damaged, all stand at that end: the next such write faults. */
static bool at_left_end(const struct slab_cache *cache)
{
	const enum guard_end damaged =
		__atomic_load_n(&cache->sample.damaged_end, __ATOMIC_RELAXED);
	static unsigned n;

	/* With SLAB_APART, an object stands where one stood before. */
	if (cache->space)
		return false;
	if (damaged)
		return damaged == GUARD_LEFT;
	/* A multiplicative hash: it looks random, but each run gets the same sequence. */
	return __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) * 2654435761u >> 30 == 0;
}

bool guard_place_choose(const struct slab_cache *cache, size_t requested, struct guard_place *place)
{
	const size_t page = os_page_size(), all = guard_slab_bytes();
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
	place->object = at_left_end(cache) ? place->pages : round_down(end - place->size, align);
	return end <= all - page;
}

struct guard_place guard_place_of(const struct slab *slab)
{
	struct guard_place place = {.object = slab->debug->red_left,
				    .size = slab->debug->object_size};

	place.pages = round_down(place.object, os_page_size());
	place.bytes = os_pages(place.object + place.size) - place.pages;
	return place;
}

/* --- memory -------------------------------------------------------------------- */

/* Locked memory stays, and any part of the slab may hold some. */
static void drop_memory(struct slab *slab)
{
	bool done = os_discard(slab->base, guard_slab_bytes());

	__atomic_store_n(&slab->populated, done ? 0 : (uint32_t)guard_slab_bytes(),
			 __ATOMIC_RELAXED);
}

bool guard_slab_open(struct slab *slab, const struct guard_place *place)
{
	char *base = slab->base;
	const size_t after = place->object + place->size, end = place->pages + place->bytes;

	if (slab->populated &&
	    (slab->populated != place->bytes || guard_place_of(slab).pages != place->pages))
		drop_memory(slab);
	if (!os_protect(base + place->pages, place->bytes, true))
		return false;
	memset(base + place->pages, GUARD_PATTERN, place->object - place->pages);
	memset(base + after, GUARD_PATTERN, end - after);
	__atomic_store_n(&slab->populated, (uint32_t)place->bytes, __ATOMIC_RELAXED);
	return true;
}

/* --- slabs ------------------------------------------------------------------------ */

/* Append a slab to the queue. The caller holds the guard lock. */
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

/* Take the oldest slab from the queue and from its cache. The caller holds the guard lock. */
static struct slab *wait_over(void)
{
	struct slab *slab = waiting;
	struct slab_cache *cache = slab_user(slab);

	waiting = slab->next;
	nr_waiting--;
	slab_withdraw(slab);
	if (cache) {
		__atomic_fetch_sub(&cache->node[slab->node].nr_slabs, 1, __ATOMIC_RELAXED);
		account_release(NULL, guard_slab_bytes());
	}
	return slab;
}

/* Return a slab's units; false: they stay inaccessible, and belong to no cache. */
static bool return_units(struct space *space, struct slab *slab)
{
	if (!space) {
		if (!os_protect(slab->base, guard_slab_bytes(), true))
			return false;
		drop_memory(slab);
	}
	__atomic_store_n(&slab->debug->guarded, 0, __ATOMIC_RELAXED);
	slab_return_units(space, slab);
	return true;
}

bool guard_slab_free(struct space *space, struct slab *slab)
{
	const bool done = return_units(space, slab);

	guard_lock();
	if (done)
		nr_slabs--;
	else
		wait_last(slab);
	guard_unlock();
	return done;
}

/* Take a slab from the page layer and make it an inaccessible guarded slab. */
static struct slab *fresh_slab(const struct slab_cache *cache, const struct guard_place *place)
{
	const struct slab_debug debug = {
		.debug_flags = SLAB_STORE_USER,
		.size = (uint32_t)guard_slab_bytes(),
		.stride = sizeof(struct debug_object) + 2 * sizeof(struct track),
		.guarded = 1,
	};
	const struct slab_needs needs = {
		.shift = guard_shift(),
		.objects = 1,
		.waiting = 4, /* slab_waiting_words(): the next cache may have RCU */
		.side = sizeof(struct slab_debug) + debug.stride,
		.node = topology_node_of_cpu(cpu_engine->cpu()),
		.may_grow = true,
		.space = cache->space,
		.layout = debug_layout_number(debug.size, place->object),
	};
	struct slab *slab = segment_take_slab(&needs);

	if (!slab)
		return NULL;
	debug_describe(slab, &debug);
	__atomic_store_n(&slab->objects, 1, __ATOMIC_RELAXED);
	debug_set_initialized(slab, 1);
	if (!os_protect(slab->base, guard_slab_bytes(), false)) {
		slab_return_units(cache->space, slab);
		return NULL;
	}
	return slab;
}

/* The space of the cache that a waiting slab was of. */
static struct space *space_of(const struct slab *slab)
{
	const struct slab_cache *cache = slab_user(slab);

	return cache ? cache->space : NULL;
}

struct slab *guard_slab_take(const struct slab_cache *cache, const struct guard_place *place)
{
	struct space *space = NULL;
	struct slab *slab = NULL;
	bool fresh;

	guard_lock();
	fresh = nr_slabs < GUARD_SLABS_MAX && nr_waiting <= GUARD_SLABS_MAX / 2;
	if (!fresh && waiting) {
		space = space_of(waiting);
		slab = wait_over();
		/* With SLAB_APART, the slab serves its own cache alone. */
		fresh = space != cache->space;
	}
	nr_slabs += fresh;
	guard_unlock();
	if (!fresh)
		return slab;
	if (slab)
		guard_slab_free(space, slab);
	slab = fresh_slab(cache, place);
	if (!slab) {
		guard_lock();
		nr_slabs--;
		guard_unlock();
	}
	return slab;
}

void guard_slab_rest(struct slab *slab)
{
	const struct guard_place place = guard_place_of(slab);

	os_protect(slab->base + place.pages, place.bytes, false);
	guard_lock();
	wait_last(slab);
	guard_unlock();
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
		n += guard_slab_free(cache->space, slabs);
	}
	return n;
}
