/* SPDX-License-Identifier: MIT */
/*
 * SLAB: a queue of free objects for each CPU, a shared queue, and slabs with colours on three
 * lists. `frame->index` is a slab's freelist; entries from `frame->in_use` on are the free objects.
 */
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "lock.h"
#include "pages.h"
#include "percpu.h"

#define SHARED_MAX 480u    /* eight batches of the largest size */
#define SHARED_BATCHES 8u
#define CACHE_LINE 64u     /* a colour */
#define WASTE_PART 8u      /* at most this part of a slab is unused */

struct queued_cache {
	struct percpu cpu; /* read by the fast paths */
	size_t size;       /* from object to object */
	uint64_t reciprocal;
	unsigned batch, shared_limit, order, objects, colours, colour_next;
	size_t free_limit; /* free objects above which empty slabs are released */
	size_t bytes;
	/* Protects what follows, and the slabs. */
	struct lock lock __attribute__((aligned(64)));
	struct frame_list partial, full, empty;
	size_t free_objects; /* in slabs */
	unsigned shared_count;
	void *shared[SHARED_MAX];
};

/* The length of a CPU's queue: the tunables that /proc/slabinfo shows. */
static unsigned limit_of(size_t size)
{
	if (size > FRAME_BYTES)
		return 8;
	if (size > 1024)
		return 24;
	return size > 256 ? 54 : 120;
}

/* --- slabs: under the lock, but slab_make() and slabs_release() ------------------------------- */

static void choose_slab(struct queued_cache *cache)
{
	unsigned order = pages_order(cache->size);
	size_t left;

	while (order < PAGES_ORDERS - 1 &&
	       (FRAME_BYTES << order) % cache->size * WASTE_PART > FRAME_BYTES << order)
		order++;
	left = (FRAME_BYTES << order) % cache->size;
	cache->order = order;
	cache->objects = (unsigned)((FRAME_BYTES << order) / cache->size);
	cache->colours = (unsigned)(left / CACHE_LINE) + 1;
	cache->reciprocal = ((UINT64_C(1) << 32) + cache->size - 1) / cache->size;
}

static struct frame_list *list_for(struct queued_cache *cache, const struct frame *slab)
{
	if (!slab->in_use)
		return &cache->empty;
	return slab->in_use < cache->objects ? &cache->partial : &cache->full;
}

static void list(struct queued_cache *cache, struct frame *slab)
{
	frame_list_add(list_for(cache, slab), slab);
	cache->free_objects += cache->objects - slab->in_use;
}

static void unlist(struct queued_cache *cache, struct frame *slab)
{
	frame_list_remove(list_for(cache, slab), slab);
	cache->free_objects -= cache->objects - slab->in_use;
}

static struct frame *slab_make(struct queued_cache *cache)
{
	struct frame *slab = pages_take(cache->order);
	unsigned colour;

	if (!slab)
		return NULL;
	slab->index = malloc(cache->objects * sizeof(*slab->index));
	if (!slab->index) {
		pages_give(slab);
		return NULL;
	}
	colour = __atomic_fetch_add(&cache->colour_next, 1, __ATOMIC_RELAXED) % cache->colours;
	slab->owner = cache;
	slab->first = frame_start(slab) + (size_t)colour * CACHE_LINE;
	slab->in_use = 0;
	for (unsigned i = 0; i < cache->objects; i++)
		slab->index[i] = (uint16_t)i;
	__atomic_fetch_add(&cache->bytes, frame_bytes(slab), __ATOMIC_RELAXED);
	return slab;
}

/* Take up to n objects out of one slab. */
static size_t slab_take(struct queued_cache *cache, struct frame *slab, size_t n, void **objs)
{
	const size_t left = cache->objects - slab->in_use;

	if (n > left)
		n = left;
	for (size_t i = 0; i < n; i++)
		objs[i] = slab->first + slab->index[slab->in_use++] * cache->size;
	return n;
}

static void slab_give(struct queued_cache *cache, void *obj)
{
	struct frame *slab = pages_frame(obj);
	const uint64_t offset = (uint64_t)((char *)obj - slab->first);
	const bool moves = slab->in_use == cache->objects || slab->in_use == 1;

	if (slab->owner != cache || !slab->in_use)
		baseline_abort("an object was freed twice, or into another cache", obj);
	if (moves)
		unlist(cache, slab);
	else
		cache->free_objects++;
	slab->index[--slab->in_use] = (uint16_t)(offset * cache->reciprocal >> 32);
	if (moves)
		list(cache, slab);
}

/* Up to n empty slabs off their list, as a chain through `pair`. */
static struct frame *take_empty(struct queued_cache *cache, size_t n)
{
	struct frame *slabs = NULL, *slab;

	while (n-- && (slab = frame_list_first(&cache->empty))) {
		unlist(cache, slab);
		slab->pair[0] = (uintptr_t)slabs;
		slabs = slab;
	}
	return slabs;
}

static void slabs_release(struct queued_cache *cache, struct frame *slabs)
{
	while (slabs) {
		struct frame *next = (struct frame *)(uintptr_t)slabs->pair[0];

		__atomic_fetch_sub(&cache->bytes, frame_bytes(slabs), __ATOMIC_RELAXED);
		free(slabs->index);
		slabs->owner = NULL;
		pages_give(slabs);
		slabs = next;
	}
}

/* --- the shared queue and the lists ----------------------------------------------------------- */

/* Under the lock: a batch of the shared queue, or objects of listed slabs. */
static size_t take_listed(struct queued_cache *cache, size_t n, void **objs)
{
	size_t done = n < cache->shared_count ? n : cache->shared_count;
	struct frame *slab;

	cache->shared_count -= (unsigned)done;
	memcpy(objs, cache->shared + cache->shared_count, done * sizeof(objs[0]));
	while (done < n) {
		slab = frame_list_first(&cache->partial);
		if (!slab)
			slab = frame_list_first(&cache->empty);
		if (!slab)
			break;
		unlist(cache, slab);
		done += slab_take(cache, slab, n - done, objs + done);
		list(cache, slab);
	}
	return done;
}

/* Up to n objects; of a fresh slab if there are no others. */
static size_t take(struct queued_cache *cache, size_t n, void **objs)
{
	struct frame *slab;
	size_t done;

	lock_take(&cache->lock);
	done = take_listed(cache, n, objs);
	lock_drop(&cache->lock);
	slab = done ? NULL : slab_make(cache);
	if (!slab)
		return done;
	done = slab_take(cache, slab, n, objs);
	lock_take(&cache->lock);
	list(cache, slab);
	lock_drop(&cache->lock);
	return done;
}

/* Objects into the shared queue, and what does not fit into their slabs. */
static void give(struct queued_cache *cache, size_t n, void *const *objs)
{
	size_t room, surplus = 0;
	struct frame *released;

	lock_take(&cache->lock);
	room = cache->shared_limit - cache->shared_count;
	if (room > n)
		room = n;
	memcpy(cache->shared + cache->shared_count, objs, room * sizeof(objs[0]));
	cache->shared_count += (unsigned)room;
	for (size_t i = room; i < n; i++)
		slab_give(cache, objs[i]);
	if (cache->free_objects > cache->free_limit)
		surplus = (cache->free_objects - cache->free_limit) / cache->objects + 1;
	released = take_empty(cache, surplus);
	lock_drop(&cache->lock);
	slabs_release(cache, released);
}

/* --- the queues of CPUs ----------------------------------------------------------------------- */

/* The CPU's queue is empty: a batch. */
static __attribute__((noinline)) void *alloc_slow(struct queued_cache *cache)
{
	void *objs[PERCPU_MAX], *obj = cpu_engine->pop(&cache->cpu.arrays);
	size_t n, kept;

	if (obj)
		return obj;
	n = take(cache, cache->batch, objs);
	if (!n)
		return NULL;
	n--;
	kept = cpu_engine->put(&cache->cpu.arrays, n, objs);
	if (kept < n)
		give(cache, n - kept, objs + kept);
	return objs[n];
}

FASTPATH void *queued_alloc(struct queued_cache *cache)
{
	void *obj;

	if (LIKELY(percpu_pop(&cache->cpu, &obj)))
		return obj;
	return alloc_slow(cache);
}

/* The CPU's queue is full: its oldest objects go. */
static __attribute__((noinline)) void free_slow(struct queued_cache *cache, void *obj)
{
	void *objs[PERCPU_MAX];
	size_t n, batch;

	if (percpu_push_again(&cache->cpu, obj))
		return;
	n = cpu_engine->take(&cache->cpu.arrays, PERCPU_MAX, objs);
	batch = n < cache->batch ? n : cache->batch;
	give(cache, batch, objs);
	batch += cpu_engine->put(&cache->cpu.arrays, n - batch, objs + batch);
	if (batch < n)
		give(cache, n - batch, objs + batch);
	if (!percpu_push_again(&cache->cpu, obj))
		give(cache, 1, &obj);
}

FASTPATH void queued_free(struct queued_cache *cache, void *obj)
{
	if (LIKELY(percpu_push(&cache->cpu, obj)))
		return;
	free_slow(cache, obj);
}

size_t queued_alloc_bulk(struct queued_cache *cache, size_t n, void **objs)
{
	size_t done = cpu_engine->take(&cache->cpu.arrays, n, objs), found = 1;

	for (; done < n && found; done += found)
		found = take(cache, n - done, objs + done);
	return done;
}

void queued_free_bulk(struct queued_cache *cache, size_t n, void *const *objs)
{
	for (size_t i = 0; i < n; i++)
		queued_free(cache, objs[i]);
}

/* --- caches ----------------------------------------------------------------------------------- */

struct queued_cache *queued_create(size_t size)
{
	const unsigned limit = limit_of(size);
	struct queued_cache *cache;

	if (!size || size > BASELINE_MAX_OBJECT)
		return NULL;
	cache = percpu_alloc(sizeof(*cache));
	if (!cache || !percpu_init(&cache->cpu, limit)) {
		free(cache);
		return NULL;
	}
	cache->size = (size + 7) & ~(size_t)7;
	choose_slab(cache);
	cache->batch = (limit + 1) / 2;
	cache->shared_limit = size > FRAME_BYTES ? 0 : cache->batch * SHARED_BATCHES;
	cache->free_limit = (1 + cpu_possible()) * cache->batch + cache->objects;
	frame_list_init(&cache->partial);
	frame_list_init(&cache->full);
	frame_list_init(&cache->empty);
	return cache;
}

static void drain_cpu(void *arg, int cpu)
{
	struct queued_cache *cache = arg;
	void *objs[PERCPU_MAX];

	(void)cpu;
	give(cache, cpu_engine->take(&cache->cpu.arrays, PERCPU_MAX, objs), objs);
}

static void drain(struct queued_cache *cache)
{
	struct frame *released;

	percpu_each(drain_cpu, cache);
	lock_take(&cache->lock);
	while (cache->shared_count)
		slab_give(cache, cache->shared[--cache->shared_count]);
	released = take_empty(cache, SIZE_MAX);
	lock_drop(&cache->lock);
	slabs_release(cache, released);
}

void queued_shrink(struct queued_cache *cache)
{
	drain(cache);
	pages_trim();
}

void queued_destroy(struct queued_cache *cache)
{
	drain(cache);
	if (cache->bytes)
		baseline_abort("a cache was destroyed that has objects in use", cache);
	percpu_destroy(&cache->cpu);
	free(cache);
}

size_t queued_bytes(const struct queued_cache *cache)
{
	return __atomic_load_n(&cache->bytes, __ATOMIC_RELAXED);
}
