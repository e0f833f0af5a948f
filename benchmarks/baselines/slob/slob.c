/* SPDX-License-Identifier: MIT */
/*
 * SLOB; README.md describes the design. This file has the caches and the three lists; page.c has
 * the list of free units in a page.
 */
#include "slob/slob.h"

#include <stdlib.h>

#include "lock.h"
#include "methods.h"
#include "percpu/percpu.h"
#include "slob/page.h"

/* Objects below these sizes are on the list of small and of medium ones, others below a page on
 * that of large ones. */
#define SMALL 256u
#define MEDIUM 1024u
#define LEAST_ALIGN 8u

struct slob_cache {
	size_t size;
	size_t align;
	uint32_t units;
	unsigned order; /* of an object of a page or more */
	bool is_paged;  /* objects are blocks of the page layer */
	struct frame_list *list;
	void (*ctor)(void *obj, void *arg);
	void *arg;
};

/* The lock protects the lists and all pages on them. */
static struct {
	struct lock lock;
	struct frame_list small, medium, large;
	size_t bytes;
} slob;

static void start_lists(void)
{
	lock_take(&slob.lock);
	if (!slob.small.head.next) {
		frame_list_init(&slob.small);
		frame_list_init(&slob.medium);
		frame_list_init(&slob.large);
	}
	lock_drop(&slob.lock);
}

static struct frame_list *list_of(size_t size)
{
	if (size < SMALL)
		return &slob.small;
	return size < MEDIUM ? &slob.medium : &slob.large;
}

static unsigned order_of(size_t size)
{
	unsigned order = 0;

	while (FRAME_BYTES << order < size)
		order++;
	return order;
}

struct slob_cache *slob_create(const struct baseline_args *args)
{
	struct slob_cache *cache;

	if (!args->size || args->size > BASELINE_MAX_OBJECT || args->align > BASELINE_MAX_ALIGN ||
	    !percpu_start())
		return NULL;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return NULL;
	start_lists();
	cache->size = args->size;
	cache->align = args->align > LEAST_ALIGN ? args->align : LEAST_ALIGN;
	cache->units = (uint32_t)((args->size + SLOB_UNIT - 1) / SLOB_UNIT);
	cache->order = order_of(args->size);
	cache->is_paged = args->size >= FRAME_BYTES;
	cache->list = list_of(args->size);
	cache->ctor = args->ctor;
	cache->arg = args->arg;
	return cache;
}

void slob_destroy(struct slob_cache *cache)
{
	free(cache);
}

static struct frame *take_pages(unsigned order)
{
	struct frame *frame = pages_take(0, order);

	if (frame)
		__atomic_fetch_add(&slob.bytes, frame_bytes(frame), __ATOMIC_RELAXED);
	return frame;
}

static void give_pages(struct frame *frame)
{
	__atomic_fetch_sub(&slob.bytes, frame_bytes(frame), __ATOMIC_RELAXED);
	pages_give(frame);
}

/* First fit over the pages of a list. The lock is held. */
static void *search(const struct slob_cache *cache)
{
	struct frame_list *list = cache->list;

	for (struct frame *f = frame_list_first(list); f; f = frame_list_next(list, f)) {
		void *obj = NULL;

		if (slob_page_free_units(f) >= cache->units)
			obj = slob_page_alloc(f, cache->units, cache->align);
		if (!obj)
			continue;
		if (!slob_page_free_units(f)) {
			f->listed = false;
			frame_list_remove(list, f);
		} else {
			/* From the front, the next search would meet all fragments again. */
			frame_list_begin_at(list, f);
		}
		return obj;
	}
	return NULL;
}

static void list_page(struct frame_list *list, struct frame *frame)
{
	frame->listed = true;
	slob_page_set_list(frame, list);
	frame_list_add(list, frame);
}

static void *alloc_in_page(const struct slob_cache *cache)
{
	struct frame *frame;
	void *obj;

	lock_take(&slob.lock);
	obj = search(cache);
	lock_drop(&slob.lock);
	if (obj)
		return obj;
	frame = take_pages(0);
	if (!frame)
		return NULL;
	lock_take(&slob.lock);
	frame->listed = false;
	slob_page_init(frame);
	obj = slob_page_alloc(frame, cache->units, cache->align);
	if (slob_page_free_units(frame))
		list_page(cache->list, frame);
	lock_drop(&slob.lock);
	return obj;
}

void *slob_alloc(struct slob_cache *cache)
{
	void *obj;

	if (cache->is_paged) {
		struct frame *frame = take_pages(cache->order);

		obj = frame ? frame_start(frame) : NULL;
	} else {
		obj = alloc_in_page(cache);
	}
	/* Pages have objects of all caches, so no object stays constructed. */
	if (obj && cache->ctor)
		cache->ctor(obj, cache->arg);
	return obj;
}

void slob_free(struct slob_cache *cache, void *obj)
{
	struct frame *frame = pages_frame(obj);
	bool empty;

	if (cache->is_paged) {
		give_pages(frame);
		return;
	}
	lock_take(&slob.lock);
	slob_page_give(frame, obj, cache->units);
	empty = slob_page_free_units(frame) == SLOB_PAGE_UNITS;
	if (empty && frame->listed) {
		frame->listed = false;
		frame_list_remove(slob_page_list(frame), frame);
	} else if (!empty && !frame->listed) {
		list_page(cache->list, frame);
	}
	lock_drop(&slob.lock);
	if (empty)
		give_pages(frame);
}

size_t slob_alloc_bulk(struct slob_cache *cache, unsigned mode, size_t n, void **objs)
{
	size_t done = 0;

	(void)mode; /* no source is more local than another */
	while (done < n && (objs[done] = slob_alloc(cache)))
		done++;
	return done;
}

void slob_free_bulk(struct slob_cache *cache, size_t n, void *const *objs)
{
	for (size_t i = 0; i < n; i++)
		slob_free(cache, objs[i]);
}

void slob_shrink(struct slob_cache *cache)
{
	(void)cache; /* empty pages went back when they became empty */
	pages_trim();
}

void slob_reap(struct slob_cache *cache)
{
	(void)cache; /* there are no queues */
}

void slob_stats(struct slob_cache *cache, struct baseline_stats *stats)
{
	(void)cache;
	stats->bytes = __atomic_load_n(&slob.bytes, __ATOMIC_RELAXED);
	stats->queued = 0;
}

BASELINE_METHODS(slob, "slob");
