/* SPDX-License-Identifier: MIT */
/*
 * SLUB's slabs, below the sheaves.
 *
 * A slab's free objects are a chain, whose pointers stand in the objects. `frame->pair` has the
 * chain's first object and the number of objects in use; a double compare-and-exchange changes
 * both. A slab with free objects is on the partial list; a full one is on no list. Who changes that
 * - a free into a full slab, or the free of the last object in use - holds the lock during the
 * exchange. A thread that wants a slab's objects removes it from the list first, and then takes the
 * whole chain by an exchange. Without such an exchange (CAS16_ARCH is 0) every change holds the
 * lock.
 */
#include "cas16.h"
#include "sheaf.h"

#define LOOK_AHEAD 3u /* objects of other slabs that a free of many passes over */
#define TAKEN_MAX 64u /* slabs that a thread takes off the list at a time */

enum { CHAIN, IN_USE };

static unsigned bits_of(size_t n)
{
	unsigned bits = 0;

	for (; n; n >>= 1)
		bits++;
	return bits;
}

/* The least order, from `least` on, that wastes a sixteenth, an eighth, ... of a slab at most. */
static unsigned order_of(const struct sheaf_cache *cache, unsigned least)
{
	for (size_t part = 16; part > 1; part /= 2)
		for (unsigned order = least; order < PAGES_ORDERS; order++)
			if ((FRAME_BYTES << order) % cache->size <= (FRAME_BYTES << order) / part)
				return order;
	return least;
}

/* SLUB's rule: a slab has enough objects for the CPUs. */
void sheaf_slabs_choose(struct sheaf_cache *cache)
{
	const size_t most = (FRAME_BYTES << (PAGES_ORDERS - 1)) / cache->size;
	const size_t wanted = 4 * ((size_t)bits_of(cpu_possible()) + 1);

	cache->order = order_of(cache, pages_order((wanted < most ? wanted : most) * cache->size));
	cache->objects = (unsigned)((FRAME_BYTES << cache->order) / cache->size);
	cache->min_partial = bits_of(cache->size) > 11 ? (bits_of(cache->size) - 1) / 2 : 5;
}

static void **link_of(const struct sheaf_cache *cache, void *obj)
{
	return (void **)((char *)obj + cache->link);
}

static void read_pair(const struct frame *slab, uint64_t *pair)
{
	pair[CHAIN] = __atomic_load_n(&slab->pair[CHAIN], __ATOMIC_RELAXED);
	pair[IN_USE] = __atomic_load_n(&slab->pair[IN_USE], __ATOMIC_RELAXED);
}

/* If the slab's words are still those, change them. The lock is held if CAS16_ARCH is 0. */
static bool update(struct frame *slab, const uint64_t *old, void *chain, uint64_t in_use)
{
	if (CAS16_ARCH)
		return cas16(slab->pair, old[CHAIN], old[IN_USE], (uintptr_t)chain, in_use);
	__atomic_store_n(&slab->pair[CHAIN], (uintptr_t)chain, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->pair[IN_USE], in_use, __ATOMIC_RELAXED);
	return true;
}

static void list(struct sheaf_cache *cache, struct frame *slab)
{
	slab->listed = true;
	frame_list_add_last(&cache->partial, slab);
}

static void unlist(struct sheaf_cache *cache, struct frame *slab)
{
	slab->listed = false;
	frame_list_remove(&cache->partial, slab);
}

static void release(struct sheaf_cache *cache, struct frame *slab)
{
	__atomic_fetch_sub(&cache->bytes, frame_bytes(slab), __ATOMIC_RELAXED);
	pages_give(slab);
}

/* Under the lock, after n objects came back to a slab whose words were `old`. true: the slab is
 * empty, more than enough, and off the list. */
static bool relist(struct sheaf_cache *cache, struct frame *slab, const uint64_t *old, size_t n)
{
	if (!old[CHAIN])
		list(cache, slab);
	/* A thread works on a slab that is not listed. */
	if (old[IN_USE] != n || !slab->listed || cache->partial.length <= cache->min_partial)
		return false;
	unlist(cache, slab);
	return true;
}

/* Return a chain of n objects to their slab. */
static void give_chain(struct sheaf_cache *cache, struct frame *slab, void *first, void *last,
		       size_t n)
{
	bool locked, done, surplus = false;
	uint64_t old[2];

	do {
		read_pair(slab, old);
		locked = !CAS16_ARCH || !old[CHAIN] || old[IN_USE] == n;
		if (locked)
			lock_take(&cache->lock);
		if (!CAS16_ARCH)
			read_pair(slab, old);
		if (old[IN_USE] < n)
			baseline_abort("an object was freed twice", first);
		*link_of(cache, last) = (void *)(uintptr_t)old[CHAIN];
		done = update(slab, old, first, old[IN_USE] - n);
		if (locked && done)
			surplus = relist(cache, slab, old, n);
		if (locked)
			lock_drop(&cache->lock);
	} while (!done);
	if (surplus)
		release(cache, slab);
}

/* Take the whole chain of a slab that this thread has removed from the list. */
static void *take_chain(struct sheaf_cache *cache, struct frame *slab, size_t *ret_n)
{
	uint64_t old[2];
	bool done;

	do {
		if (!CAS16_ARCH)
			lock_take(&cache->lock);
		read_pair(slab, old);
		done = update(slab, old, NULL, cache->objects);
		if (!CAS16_ARCH)
			lock_drop(&cache->lock);
	} while (!done);
	*ret_n = cache->objects - old[IN_USE];
	return (void *)(uintptr_t)old[CHAIN];
}

/* Move up to n objects of a chain to objs[]; what is left goes back to the slab. */
static size_t use_chain(struct sheaf_cache *cache, struct frame *slab, size_t n, void **objs)
{
	size_t left, done = 0;
	void *obj = take_chain(cache, slab, &left), *last;

	for (; done < n && done < left; done++) {
		objs[done] = obj;
		obj = *link_of(cache, obj);
	}
	if (done == left)
		return done;
	last = obj;
	for (size_t i = done + 1; i < left; i++)
		last = *link_of(cache, last);
	give_chain(cache, slab, obj, last, left - done);
	return done;
}

static size_t take_partial(struct sheaf_cache *cache, size_t n, void **objs)
{
	struct frame *slabs[TAKEN_MAX], *slab;
	size_t done = 0, found = 0;
	unsigned count = 0;

	if (!__atomic_load_n(&cache->partial.length, __ATOMIC_RELAXED))
		return 0;
	lock_take(&cache->lock);
	while (found < n && count < TAKEN_MAX && (slab = frame_list_first(&cache->partial))) {
		found += cache->objects - __atomic_load_n(&slab->pair[IN_USE], __ATOMIC_RELAXED);
		unlist(cache, slab);
		slabs[count++] = slab;
	}
	lock_drop(&cache->lock);
	for (unsigned i = 0; i < count; i++)
		done += use_chain(cache, slabs[i], n - done, objs + done);
	return done;
}

/* Up to n objects of a fresh slab; the others become its chain. */
static size_t take_fresh(struct sheaf_cache *cache, size_t n, void **objs)
{
	struct frame *slab = pages_take(cache->order);
	char *obj;

	if (!slab)
		return 0;
	slab->owner = cache;
	slab->first = obj = frame_start(slab);
	slab->listed = false;
	slab->pair[CHAIN] = 0;
	slab->pair[IN_USE] = cache->objects;
	__atomic_fetch_add(&cache->bytes, frame_bytes(slab), __ATOMIC_RELAXED);
	if (n > cache->objects)
		n = cache->objects;
	for (unsigned i = 0; i < cache->objects; i++, obj += cache->size) {
		if (i < n)
			objs[i] = obj;
		else
			*link_of(cache, obj) = obj + cache->size;
	}
	if (n < cache->objects)
		give_chain(cache, slab, slab->first + n * cache->size, obj - cache->size,
			   cache->objects - n);
	return n;
}

size_t sheaf_slabs_take(struct sheaf_cache *cache, size_t n, void **objs)
{
	size_t done = take_partial(cache, n, objs), found = 1;

	for (; done < n && found; done += found)
		found = take_fresh(cache, n - done, objs + done);
	return done;
}

/* Return the last object of objs[] and others of its slab. Returns the number of objects left, all
 * of them before that number. */
static size_t give_some(struct sheaf_cache *cache, size_t n, void **objs)
{
	void *last = objs[n - 1], *first = last;
	struct frame *slab = pages_frame(first);
	unsigned passed = 0;
	size_t count = 1;

	if (slab->owner != cache)
		baseline_abort("an object was freed into another cache", first);
	for (size_t i = --n; i-- > 0 && passed < LOOK_AHEAD;) {
		if (pages_frame(objs[i]) != slab) {
			passed++;
			continue;
		}
		*link_of(cache, objs[i]) = first;
		first = objs[i];
		objs[i] = objs[--n]; /* the one in its place is of another slab, or itself */
		count++;
	}
	give_chain(cache, slab, first, last, count);
	return n;
}

void sheaf_slabs_give(struct sheaf_cache *cache, size_t n, void **objs)
{
	while (n)
		n = give_some(cache, n, objs);
}

static struct frame *take_empty_slab(struct sheaf_cache *cache)
{
	struct frame *slab = frame_list_first(&cache->partial);

	while (slab && __atomic_load_n(&slab->pair[IN_USE], __ATOMIC_RELAXED))
		slab = frame_list_next(&cache->partial, slab);
	if (slab)
		unlist(cache, slab);
	return slab;
}

void sheaf_slabs_release_empty(struct sheaf_cache *cache)
{
	struct frame *slab;

	do {
		lock_take(&cache->lock);
		slab = take_empty_slab(cache);
		lock_drop(&cache->lock);
		if (slab)
			release(cache, slab);
	} while (slab);
}
