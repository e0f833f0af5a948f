/* SPDX-License-Identifier: MIT */
/*
 * SLOB: lists of free units in page frames; one lock for all of it.
 *
 * A unit has two bytes. The first unit of a free block has the block's size in units, the second
 * one the next block's offset. A block of one unit has only the offset, negative. `frame->first` is
 * a frame's first free block, in order of address, `frame->in_use` the number of its free units,
 * `frame->owner` its list.
 */
#include <stdlib.h>

#include "baseline.h"
#include "lock.h"
#include "pages.h"
#include "percpu.h"

/* Objects below these sizes are on the list of small and of medium ones, others below a page on
 * that of large ones. */
#define SMALL 256u
#define MEDIUM 1024u
#define ALIGN 8u
#define UNIT sizeof(int16_t)
#define PAGE_UNITS ((uint32_t)(FRAME_BYTES / UNIT))

struct slob_cache {
	size_t size;
	uint32_t units;
	struct frame_list *list; /* NULL: objects are blocks of the page layer */
};

static struct {
	struct lock lock; /* of the lists and all pages on them */
	struct frame_list list[3];
	size_t bytes;
} slob;

/* --- the free blocks of a page ---------------------------------------------------------------- */

static int16_t *unit_at(const struct frame *frame, uint32_t offset)
{
	return (int16_t *)frame_start(frame) + offset;
}

static uint32_t size_of(const int16_t *block)
{
	return block[0] > 0 ? (uint32_t)block[0] : 1;
}

/* NULL: the block is the last one, whose offset is that of the page's end. */
static int16_t *next_of(const struct frame *frame, const int16_t *block)
{
	const uint32_t offset = (uint32_t)(block[0] > 0 ? block[1] : -block[0]);

	return offset < PAGE_UNITS ? unit_at(frame, offset) : NULL;
}

static void set_block(const struct frame *frame, int16_t *block, uint32_t size, const int16_t *next)
{
	const uint32_t offset = next ? (uint32_t)(next - unit_at(frame, 0)) : PAGE_UNITS;

	if (size == 1) {
		block[0] = (int16_t)-(int)offset;
	} else {
		block[0] = (int16_t)size;
		block[1] = (int16_t)offset;
	}
}

/* Make `next` the block that follows `previous`; NULL: the first one. */
static void link_after(struct frame *frame, int16_t *previous, int16_t *next)
{
	if (previous)
		set_block(frame, previous, size_of(previous), next);
	else
		frame->first = (char *)next;
}

/* Take units out of a block, `front` units after its start. What is in front stays a block. */
static void *cut(struct frame *frame, int16_t *previous, int16_t *block, uint32_t front,
		 uint32_t units)
{
	int16_t *next = next_of(frame, block);
	const uint32_t rest = size_of(block) - front - units;

	if (rest) {
		set_block(frame, block + front + units, rest, next);
		next = block + front + units;
	}
	if (front)
		set_block(frame, block, front, next);
	else
		link_after(frame, previous, next);
	frame->in_use -= units;
	return block + front;
}

/* First fit. */
static void *take_units(struct frame *frame, uint32_t units)
{
	int16_t *previous = NULL;

	for (int16_t *b = (int16_t *)frame->first; b; previous = b, b = next_of(frame, b)) {
		const uint32_t front = (uint32_t)((-(uintptr_t)b & (ALIGN - 1)) / UNIT);

		if (size_of(b) >= front + units)
			return cut(frame, previous, b, front, units);
	}
	return NULL;
}

/* Join a block with its successor if they touch. */
static void join(const struct frame *frame, int16_t *block)
{
	int16_t *next = next_of(frame, block);

	if (next && block + size_of(block) == next)
		set_block(frame, block, size_of(block) + size_of(next), next_of(frame, next));
}

static void give_units(struct frame *frame, int16_t *block, uint32_t units)
{
	int16_t *previous = NULL, *next = frame->in_use ? (int16_t *)frame->first : NULL;

	for (; next && next < block; next = next_of(frame, next))
		previous = next;
	if ((previous && previous + size_of(previous) > block) || (next && block + units > next))
		baseline_abort("an object was freed twice", block);
	set_block(frame, block, units, next);
	link_after(frame, previous, block);
	frame->in_use += units;
	join(frame, block);
	if (previous)
		join(frame, previous);
}

/* --- caches ----------------------------------------------------------------------------------- */

static struct frame_list *list_of(size_t size)
{
	if (size >= FRAME_BYTES)
		return NULL;
	return &slob.list[size < SMALL ? 0 : size < MEDIUM ? 1 : 2];
}

struct slob_cache *slob_create(size_t size)
{
	struct slob_cache *cache;

	if (!size || size > BASELINE_MAX_OBJECT || !percpu_start())
		return NULL;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return NULL;
	cache->size = size;
	cache->units = (uint32_t)((size + UNIT - 1) / UNIT);
	cache->list = list_of(size);
	lock_take(&slob.lock);
	for (unsigned i = 0; i < 3 && !slob.list[i].head.next; i++)
		frame_list_init(&slob.list[i]);
	lock_drop(&slob.lock);
	return cache;
}

void slob_destroy(struct slob_cache *cache)
{
	free(cache);
}

static struct frame *take_pages(unsigned order)
{
	struct frame *frame = pages_take(order);

	if (frame)
		__atomic_fetch_add(&slob.bytes, frame_bytes(frame), __ATOMIC_RELAXED);
	return frame;
}

static void give_pages(struct frame *frame)
{
	__atomic_fetch_sub(&slob.bytes, frame_bytes(frame), __ATOMIC_RELAXED);
	pages_give(frame);
}

static void list_page(struct frame_list *list, struct frame *frame)
{
	frame->listed = true;
	frame->owner = list;
	frame_list_add(list, frame);
}

static void unlist_page(struct frame *frame)
{
	frame->listed = false;
	frame_list_remove(frame->owner, frame);
}

/* First fit over the pages of a list. The next search begins at the page of this one: from the
 * front, it would meet all fragments again. */
static void *search(const struct slob_cache *cache)
{
	struct frame *f = frame_list_first(cache->list);

	for (; f; f = frame_list_next(cache->list, f)) {
		void *obj = f->in_use >= cache->units ? take_units(f, cache->units) : NULL;

		if (!obj)
			continue;
		if (f->in_use)
			frame_list_begin_at(cache->list, f);
		else
			unlist_page(f);
		return obj;
	}
	return NULL;
}

static void *alloc_in_page(const struct slob_cache *cache)
{
	struct frame *frame;
	void *obj;

	lock_take(&slob.lock);
	obj = search(cache);
	lock_drop(&slob.lock);
	frame = obj ? NULL : take_pages(0);
	if (!frame)
		return obj;
	lock_take(&slob.lock);
	frame->listed = false;
	frame->in_use = PAGE_UNITS;
	frame->first = frame_start(frame);
	set_block(frame, unit_at(frame, 0), PAGE_UNITS, NULL);
	obj = take_units(frame, cache->units);
	if (frame->in_use)
		list_page(cache->list, frame);
	lock_drop(&slob.lock);
	return obj;
}

void *slob_alloc(struct slob_cache *cache)
{
	struct frame *frame;

	if (cache->list)
		return alloc_in_page(cache);
	frame = take_pages(pages_order(cache->size));
	return frame ? frame_start(frame) : NULL;
}

void slob_free(struct slob_cache *cache, void *obj)
{
	struct frame *frame = pages_frame(obj);
	bool empty = true;

	if (cache->list) {
		lock_take(&slob.lock);
		give_units(frame, obj, cache->units);
		empty = frame->in_use == PAGE_UNITS;
		if (empty && frame->listed)
			unlist_page(frame);
		else if (!empty && !frame->listed)
			list_page(cache->list, frame);
		lock_drop(&slob.lock);
	}
	if (empty)
		give_pages(frame);
}

size_t slob_alloc_bulk(struct slob_cache *cache, size_t n, void **objs)
{
	size_t done = 0;

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

size_t slob_bytes(const struct slob_cache *cache)
{
	(void)cache;
	return __atomic_load_n(&slob.bytes, __ATOMIC_RELAXED);
}
