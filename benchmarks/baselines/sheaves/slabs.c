/* SPDX-License-Identifier: MIT */
/*
 * SLUB's slabs below the sheaves. A slab's free objects are a chain, whose pointers stand in the
 * objects. `frame->pair` has the chain's first object and the number of objects in use; a double
 * compare-and-exchange changes both.
 *
 * A slab with free objects is on its node's partial list; a full one is on no list. Who changes that
 * - a free into a full slab, or the free of the last object in use - holds the node's lock during the
 * exchange. A thread that takes a slab for its objects removes it from the list first, under the
 * lock, and then takes the whole chain by an exchange.
 *
 * Without such an exchange (CAS16_ARCH is 0) every change holds the lock.
 */
#include <errno.h>

#include "cas16.h"
#include "sheaves/cache.h"

#define MOST_ORDER 3u
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

static unsigned order_of(size_t bytes)
{
	unsigned order = 0;

	while (FRAME_BYTES << order < bytes)
		order++;
	return order;
}

/* The smallest order from `least` on that wastes at most the part `fraction` of a slab. */
static bool find_order(struct sheaf_cache *cache, unsigned least, size_t fraction)
{
	for (unsigned order = least; order <= MOST_ORDER; order++) {
		const size_t bytes = FRAME_BYTES << order;

		if (bytes >= cache->size && bytes % cache->size <= bytes / fraction) {
			cache->order = order;
			return true;
		}
	}
	return false;
}

void sheaf_slabs_choose(struct sheaf_cache *cache)
{
	size_t wanted = 4 * ((size_t)bits_of(percpu_cpus()) + 1);
	const size_t most = (FRAME_BYTES << MOST_ORDER) / cache->size;
	const size_t log = bits_of(cache->size) - 1;
	unsigned least;
	bool found = false;

	if (wanted > most)
		wanted = most ? most : 1;
	least = order_of(wanted * cache->size);
	for (size_t fraction = 16; fraction >= 2 && !found; fraction /= 2)
		found = find_order(cache, least, fraction);
	if (!found)
		cache->order = order_of(cache->size);
	cache->objects = (unsigned)((FRAME_BYTES << cache->order) / cache->size);
	cache->min_partial = log / 2 < 5 ? 5 : log / 2;
}

static void **link_of(const struct sheaf_cache *cache, void *obj)
{
	return (void **)((char *)obj + cache->link);
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

static void read_pair(const struct frame *slab, uint64_t *pair)
{
	pair[CHAIN] = __atomic_load_n(&slab->pair[CHAIN], __ATOMIC_RELAXED);
	pair[IN_USE] = __atomic_load_n(&slab->pair[IN_USE], __ATOMIC_RELAXED);
}

static void list(struct sheaf_node *node, struct frame *slab)
{
	slab->listed = true;
	frame_list_add_last(&node->partial, slab);
}

static void unlist(struct sheaf_node *node, struct frame *slab)
{
	slab->listed = false;
	frame_list_remove(&node->partial, slab);
}

static void release(struct sheaf_cache *cache, struct frame *slab)
{
	__atomic_fetch_sub(&cache->bytes, frame_bytes(slab), __ATOMIC_RELAXED);
	pages_give(slab);
}

/* Under the lock, after n objects came back to a slab whose words were `old`. true: the slab is
 * empty, more than enough, and off the list. */
static bool relist(struct sheaf_cache *cache, struct sheaf_node *node, struct frame *slab,
		   const uint64_t *old, size_t n)
{
	if (!old[CHAIN])
		list(node, slab);
	/* A slab that is not listed is in the hands of a thread. */
	if (old[IN_USE] != n || !slab->listed || node->partial.length <= cache->min_partial)
		return false;
	unlist(node, slab);
	return true;
}

/* Return a chain of n objects to their slab. */
static void give_chain(struct sheaf_cache *cache, struct frame *slab, void *first, void *last,
		       size_t n)
{
	struct sheaf_node *node = &cache->node[slab->node];
	bool locked, done, surplus = false;
	uint64_t old[2];

	do {
		read_pair(slab, old);
		locked = !CAS16_ARCH || !old[CHAIN] || old[IN_USE] == n;
		if (locked)
			lock_take(&node->lock);
		if (!CAS16_ARCH)
			read_pair(slab, old);
		if (old[IN_USE] < n)
			baseline_abort("an object was freed twice", first);
		*link_of(cache, last) = (void *)(uintptr_t)old[CHAIN];
		done = update(slab, old, first, old[IN_USE] - n);
		if (locked && done)
			surplus = relist(cache, node, slab, old, n);
		if (locked)
			lock_drop(&node->lock);
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
			lock_take(&cache->node[slab->node].lock);
		read_pair(slab, old);
		done = update(slab, old, NULL, cache->objects);
		if (!CAS16_ARCH)
			lock_drop(&cache->node[slab->node].lock);
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

/* Remove slabs from the partial list until they have n free objects, or there are TAKEN_MAX. */
static unsigned take_slabs(struct sheaf_cache *cache, struct sheaf_node *node, size_t n,
			   struct frame **slabs)
{
	unsigned count = 0;
	size_t found = 0;
	struct frame *slab;

	if (!__atomic_load_n(&node->partial.length, __ATOMIC_RELAXED))
		return 0;
	lock_take(&node->lock);
	while (found < n && count < TAKEN_MAX && (slab = frame_list_first(&node->partial))) {
		uint64_t pair[2];

		read_pair(slab, pair);
		found += cache->objects - pair[IN_USE];
		unlist(node, slab);
		slabs[count++] = slab;
	}
	lock_drop(&node->lock);
	return count;
}

static size_t take_partial(struct sheaf_cache *cache, unsigned node, size_t n, void **objs)
{
	struct frame *slabs[TAKEN_MAX];
	const unsigned count = take_slabs(cache, &cache->node[node], n, slabs);
	size_t done = 0;

	for (unsigned i = 0; i < count; i++)
		done += use_chain(cache, slabs[i], n - done, objs + done);
	return done;
}

/* Up to n objects of a fresh slab; the others become its chain. */
static size_t take_fresh(struct sheaf_cache *cache, unsigned node, size_t n, void **objs)
{
	struct frame *slab = pages_take(node, cache->order);
	char *obj;

	if (!slab)
		return 0;
	slab->cache = cache;
	slab->first = obj = frame_start(slab);
	slab->listed = false;
	slab->pair[CHAIN] = 0;
	slab->pair[IN_USE] = cache->objects;
	__atomic_fetch_add(&cache->bytes, frame_bytes(slab), __ATOMIC_RELAXED);
	if (n > cache->objects)
		n = cache->objects;
	for (unsigned i = 0; i < cache->objects; i++, obj += cache->size) {
		if (cache->ctor)
			cache->ctor(obj, cache->arg);
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

size_t sheaf_slabs_take(struct sheaf_cache *cache, unsigned node, unsigned mode, size_t n,
			void **objs)
{
	size_t done = 0, found = 1;

	if (mode & (BASELINE_PARTIAL | BASELINE_FULL))
		done = take_partial(cache, node, n, objs);
	if (!(mode & (BASELINE_NEW | BASELINE_FULL)))
		return done;
	for (; done < n && found; done += found)
		found = take_fresh(cache, node, n - done, objs + done);
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

	if (slab->cache != cache)
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

static struct frame *take_empty(struct sheaf_node *node)
{
	struct frame *slab = frame_list_first(&node->partial);

	for (; slab; slab = frame_list_next(&node->partial, slab))
		if (!__atomic_load_n(&slab->pair[IN_USE], __ATOMIC_RELAXED)) {
			unlist(node, slab);
			return slab;
		}
	return NULL;
}

void sheaf_slabs_release_empty(struct sheaf_cache *cache)
{
	for (unsigned n = 0; n < pages_nodes; n++) {
		struct sheaf_node *node = &cache->node[n];
		struct frame *slab;

		do {
			lock_take(&node->lock);
			slab = take_empty(node);
			lock_drop(&node->lock);
			if (slab)
				release(cache, slab);
		} while (slab);
	}
}
