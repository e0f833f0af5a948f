/* SPDX-License-Identifier: MIT */
/*
 * Sheaves: arrays of objects in front of SLUB's slabs. A CPU has a main sheaf, which is a LIFO of
 * percpu.h, and a spare one. A barn has full and empty sheaves for all CPUs.
 *
 * A slab's free objects are a chain, whose pointers stand in the objects. `frame->pair` has the chain's
 * first object and the number of objects in use; a double compare-and-exchange changes both. A slab with
 * free objects is on the partial list; a full one is on no list. Who changes that - a free into a full
 * slab, or the free of the last object in use - holds the lock during the exchange. A thread that wants a
 * slab's objects removes it from the list first, and then takes the whole chain by an exchange. Without
 * such an exchange (CAS16_ARCH is 0) every change holds the lock.
 */
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "cas16.h"
#include "lock.h"
#include "pages.h"
#include "percpu.h"

#define BARN_MAX 10u   /* full sheaves of a barn, and empty ones */
#define LOOK_AHEAD 3u  /* objects of other slabs that a free of many passes over */
#define TAKEN_MAX 64u  /* slabs that a thread takes off the list at a time */
#define SHEAF_MAX 60u

enum { CHAIN, IN_USE };

struct sheaf {
	struct sheaf *next; /* in a barn */
	size_t count;
	void *objs[SHEAF_MAX];
};

struct barn_list {
	struct sheaf *first;
	unsigned count;
};

struct spare {
	struct lock lock;
	struct sheaf *sheaf; /* NULL: a thread works on it, or there is none */
} __attribute__((aligned(64)));

struct sheaf_cache {
	struct percpu main; /* read by the fast paths */
	size_t capacity;    /* of a sheaf */
	size_t size;        /* from object to object */
	size_t link;        /* offset of the chain's pointer in a free object */
	unsigned order, objects, min_partial;
	size_t bytes;
	struct spare *spare; /* of each CPU */
	struct lock lock __attribute__((aligned(64)));
	struct frame_list partial;
	struct lock barn_lock __attribute__((aligned(64)));
	struct barn_list full, empty;
};

/* --- slabs ------------------------------------------------------------------------------------------ */

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
static void choose_slab(struct sheaf_cache *cache)
{
	const size_t most = (FRAME_BYTES << (PAGES_ORDERS - 1)) / cache->size;
	const size_t wanted = 4 * ((size_t)bits_of(percpu_cpus()) + 1);

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

static size_t slabs_take(struct sheaf_cache *cache, size_t n, void **objs)
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

static void slabs_give(struct sheaf_cache *cache, size_t n, void **objs)
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

/* --- the barn --------------------------------------------------------------------------------------- */

static struct sheaf *barn_get(struct sheaf_cache *cache, struct barn_list *list)
{
	struct sheaf *sheaf = NULL;

	if (!__atomic_load_n(&list->count, __ATOMIC_RELAXED))
		return NULL;
	lock_take(&cache->barn_lock);
	if (list->count) {
		sheaf = list->first;
		list->first = sheaf->next;
		__atomic_store_n(&list->count, list->count - 1, __ATOMIC_RELAXED);
	}
	lock_drop(&cache->barn_lock);
	return sheaf;
}

/* An empty sheaf, of the barn or new. NULL: there is no memory. */
static struct sheaf *barn_get_empty(struct sheaf_cache *cache)
{
	struct sheaf *sheaf = barn_get(cache, &cache->empty);

	return sheaf ? sheaf : calloc(1, sizeof(*sheaf));
}

/* false: the barn has enough sheaves of this kind. */
static bool barn_put(struct sheaf_cache *cache, struct sheaf *sheaf)
{
	struct barn_list *list = sheaf->count ? &cache->full : &cache->empty;
	bool done;

	if (__atomic_load_n(&list->count, __ATOMIC_RELAXED) >= BARN_MAX)
		return false;
	lock_take(&cache->barn_lock);
	done = list->count < BARN_MAX;
	if (done) {
		sheaf->next = list->first;
		list->first = sheaf;
		__atomic_store_n(&list->count, list->count + 1, __ATOMIC_RELAXED);
	}
	lock_drop(&cache->barn_lock);
	return done;
}

static void flush(struct sheaf_cache *cache, struct sheaf *sheaf)
{
	slabs_give(cache, sheaf->count, sheaf->objs);
	sheaf->count = 0;
}

static void barn_put_or_free(struct sheaf_cache *cache, struct sheaf *sheaf)
{
	if (barn_put(cache, sheaf))
		return;
	flush(cache, sheaf);
	free(sheaf);
}

/* --- the sheaves of CPUs ---------------------------------------------------------------------------- */

/* The spare sheaf of a CPU, which another thread gets only after attach(). NULL: there is none. */
static struct sheaf *detach(struct sheaf_cache *cache, int cpu)
{
	struct spare *spare = &cache->spare[cpu < 0 ? 0 : cpu];
	struct sheaf *sheaf;

	lock_take(&spare->lock);
	sheaf = spare->sheaf;
	spare->sheaf = NULL;
	lock_drop(&spare->lock);
	return sheaf;
}

/* Make a sheaf the spare one of a CPU. If it has one already, the barn gets the sheaf. */
static void attach(struct sheaf_cache *cache, int cpu, struct sheaf *sheaf)
{
	struct spare *spare = &cache->spare[cpu < 0 ? 0 : cpu];
	bool done;

	lock_take(&spare->lock);
	done = !spare->sheaf;
	if (done)
		spare->sheaf = sheaf;
	lock_drop(&spare->lock);
	if (!done)
		barn_put_or_free(cache, sheaf);
}

/* For a CPU whose main sheaf is empty: its spare one, one of the barn in exchange for an empty one, or
 * one that is filled from slabs. */
static struct sheaf *get_full(struct sheaf_cache *cache, int cpu)
{
	struct sheaf *spare = detach(cache, cpu), *sheaf;

	if (spare && spare->count)
		return spare;
	sheaf = barn_get(cache, &cache->full);
	if (sheaf) {
		if (spare)
			barn_put_or_free(cache, spare);
		return sheaf;
	}
	sheaf = spare ? spare : barn_get_empty(cache);
	if (sheaf)
		sheaf->count = slabs_take(cache, cache->capacity, sheaf->objs);
	return sheaf;
}

static __attribute__((noinline)) void *alloc_slow(struct sheaf_cache *cache)
{
	void *obj = percpu_pop_again(&cache->main);
	struct sheaf *sheaf;
	int cpu;

	if (obj)
		return obj;
	cpu = percpu_cpu();
	sheaf = get_full(cache, cpu);
	if (!sheaf)
		return NULL;
	if (sheaf->count)
		obj = sheaf->objs[--sheaf->count];
	if (sheaf->count && percpu_fill(&cache->main, cpu, sheaf->count, sheaf->objs))
		sheaf->count = 0;
	attach(cache, cpu, sheaf);
	return obj;
}

FASTPATH void *sheaf_alloc(struct sheaf_cache *cache)
{
	void *obj;

	if (LIKELY(percpu_pop(&cache->main, &obj)))
		return obj;
	return alloc_slow(cache);
}

/* For a CPU whose main sheaf is full: its spare one, an empty one in exchange for the full spare one,
 * or the spare one after its objects went to their slabs. */
static struct sheaf *get_empty(struct sheaf_cache *cache, int cpu)
{
	struct sheaf *spare = detach(cache, cpu);

	if (!spare)
		return barn_get_empty(cache);
	if (spare->count && barn_put(cache, spare))
		return barn_get_empty(cache);
	flush(cache, spare);
	return spare;
}

static __attribute__((noinline)) void free_slow(struct sheaf_cache *cache, void *obj)
{
	struct sheaf *sheaf;
	int cpu;

	if (percpu_push_again(&cache->main, obj))
		return;
	cpu = percpu_cpu();
	sheaf = get_empty(cache, cpu);
	if (sheaf) {
		sheaf->count = percpu_take(&cache->main, cpu, cache->capacity, sheaf->objs);
		attach(cache, cpu, sheaf);
	}
	if (!percpu_push_again(&cache->main, obj))
		slabs_give(cache, 1, &obj);
}

FASTPATH void sheaf_free(struct sheaf_cache *cache, void *obj)
{
	if (LIKELY(percpu_push(&cache->main, obj)))
		return;
	free_slow(cache, obj);
}

size_t sheaf_alloc_bulk(struct sheaf_cache *cache, size_t n, void **objs)
{
	const int cpu = percpu_cpu();
	size_t done = percpu_take(&cache->main, cpu, n, objs);
	struct sheaf *sheaf = done < n ? detach(cache, cpu) : NULL;

	if (sheaf) {
		while (done < n && sheaf->count)
			objs[done++] = sheaf->objs[--sheaf->count];
		attach(cache, cpu, sheaf);
	}
	if (done < n)
		done += slabs_take(cache, n - done, objs + done);
	return done;
}

void sheaf_free_bulk(struct sheaf_cache *cache, size_t n, void *const *objs)
{
	for (size_t i = 0; i < n; i++)
		sheaf_free(cache, objs[i]);
}

/* --- caches ----------------------------------------------------------------------------------------- */

static size_t capacity_of(size_t size)
{
	if (size >= FRAME_BYTES)
		return 4;
	if (size >= 1024)
		return 12;
	return size >= 256 ? 28 : SHEAF_MAX;
}

struct sheaf_cache *sheaf_create(size_t size)
{
	struct sheaf_cache *cache;
	size_t spares;

	if (!size || size > BASELINE_MAX_OBJECT)
		return NULL;
	cache = aligned_alloc(64, sizeof(*cache));
	if (!cache)
		return NULL;
	memset(cache, 0, sizeof(*cache));
	cache->capacity = capacity_of(size);
	cache->size = (size + 7) & ~(size_t)7;
	cache->link = size / 2 / sizeof(void *) * sizeof(void *);
	frame_list_init(&cache->partial);
	if (!percpu_init(&cache->main, cache->capacity)) {
		free(cache);
		return NULL;
	}
	choose_slab(cache);
	spares = percpu_cpus() * sizeof(cache->spare[0]);
	cache->spare = aligned_alloc(64, spares);
	if (!cache->spare) {
		percpu_destroy(&cache->main);
		free(cache);
		return NULL;
	}
	memset(cache->spare, 0, spares);
	return cache;
}

static void drain_cpu(void *arg, int cpu)
{
	struct sheaf_cache *cache = arg;
	struct sheaf *sheaf = detach(cache, cpu);
	void *objs[PERCPU_MAX];

	if (sheaf) {
		flush(cache, sheaf);
		free(sheaf);
	}
	slabs_give(cache, percpu_take(&cache->main, cpu, PERCPU_MAX, objs), objs);
}

static void drain(struct sheaf_cache *cache)
{
	struct sheaf *sheaf;
	struct frame *slab;

	percpu_each(drain_cpu, cache);
	while ((sheaf = barn_get(cache, &cache->full))) {
		flush(cache, sheaf);
		free(sheaf);
	}
	while ((sheaf = barn_get(cache, &cache->empty)))
		free(sheaf);
	do {
		lock_take(&cache->lock);
		slab = take_empty_slab(cache);
		lock_drop(&cache->lock);
		if (slab)
			release(cache, slab);
	} while (slab);
}

void sheaf_shrink(struct sheaf_cache *cache)
{
	drain(cache);
	pages_trim();
}

void sheaf_destroy(struct sheaf_cache *cache)
{
	drain(cache);
	if (cache->bytes)
		baseline_abort("a cache was destroyed that has objects in use", cache);
	percpu_destroy(&cache->main);
	free(cache->spare);
	free(cache);
}

size_t sheaf_bytes(const struct sheaf_cache *cache)
{
	return __atomic_load_n(&cache->bytes, __ATOMIC_RELAXED);
}
