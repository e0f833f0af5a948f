/* SPDX-License-Identifier: MIT */
/*
 * Slabs of SLAB: colour, freelist of indices, objects. `frame->pair[0]` leads to the freelist;
 * `frame->pair[1]` to the next slab that is released at once with it.
 * `frame->in_use` counts allocated objects: the entries from there on are the free ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "queued/cache.h"

#define CACHE_LINE 64u
#define MOST_ORDER 3u /* unless an object needs more */
#define WASTE_PART 8u /* at most this part of a slab is unused */

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Bytes of a freelist of n entries in a slab. */
static size_t index_bytes(const struct queued_cache *cache, size_t n)
{
	return round_up(n * (n > UINT8_MAX + 1u ? 2 : 1), cache->align);
}

/* The number of objects beside their freelist. */
static size_t fit(const struct queued_cache *cache, size_t bytes)
{
	size_t n = bytes / cache->size;

	while (n && n * cache->size + index_bytes(cache, n) > bytes)
		n--;
	return n;
}

static void choose_for(struct queued_cache *cache, unsigned order)
{
	const size_t bytes = FRAME_BYTES << order, most = bytes / cache->size;
	const size_t inside = fit(cache, bytes);

	cache->order = order;
	/* If the freelist costs an object of a few, it stands elsewhere. */
	cache->is_index_outside = inside < most && most <= 16;
	cache->objects = (unsigned)(cache->is_index_outside ? most : inside);
	cache->is_index_short = cache->objects > UINT8_MAX + 1u;
}

static size_t left_over(const struct queued_cache *cache)
{
	size_t used = cache->objects * cache->size;

	if (!cache->is_index_outside)
		used += index_bytes(cache, cache->objects);
	return (FRAME_BYTES << cache->order) - used;
}

void slab_choose(struct queued_cache *cache)
{
	unsigned order = 0;

	while (FRAME_BYTES << order < cache->size)
		order++;
	choose_for(cache, order);
	while (order < MOST_ORDER && left_over(cache) * WASTE_PART > FRAME_BYTES << order)
		choose_for(cache, ++order);
	cache->colour_unit = cache->align > CACHE_LINE ? cache->align : CACHE_LINE;
	cache->colours = (unsigned)(left_over(cache) / cache->colour_unit) + 1;
	cache->reciprocal = ((UINT64_C(1) << 32) + cache->size - 1) / cache->size;
}

static void *index_of(const struct frame *slab)
{
	return (void *)(uintptr_t)slab->pair[0];
}

static unsigned get_index(const struct queued_cache *cache, const struct frame *slab, unsigned i)
{
	return cache->is_index_short ? ((uint16_t *)index_of(slab))[i]
				     : ((uint8_t *)index_of(slab))[i];
}

static void set_index(const struct queued_cache *cache, const struct frame *slab, unsigned i,
		      unsigned object)
{
	if (cache->is_index_short)
		((uint16_t *)index_of(slab))[i] = (uint16_t)object;
	else
		((uint8_t *)index_of(slab))[i] = (uint8_t)object;
}

static size_t next_colour(struct queued_cache *cache, unsigned node)
{
	const unsigned n = __atomic_fetch_add(&cache->node[node].colour_next, 1, __ATOMIC_RELAXED);

	return n % cache->colours * cache->colour_unit;
}

static bool lay_out(struct queued_cache *cache, struct frame *slab)
{
	char *start = frame_start(slab) + next_colour(cache, slab->node);

	if (cache->is_index_outside) {
		slab->pair[0] = (uintptr_t)malloc(cache->objects * sizeof(uint16_t));
		slab->first = start;
		return slab->pair[0] != 0;
	}
	slab->pair[0] = (uintptr_t)start;
	slab->first = start + index_bytes(cache, cache->objects);
	return true;
}

struct frame *slab_make(struct queued_cache *cache, unsigned node)
{
	struct frame *slab = pages_take(node, cache->order);

	if (!slab)
		return NULL;
	if (!lay_out(cache, slab)) {
		pages_give(slab);
		errno = ENOMEM;
		return NULL;
	}
	slab->cache = cache;
	slab->in_use = 0;
	slab->listed = false;
	for (unsigned i = 0; i < cache->objects; i++) {
		set_index(cache, slab, i, i);
		if (cache->ctor)
			cache->ctor(slab->first + i * cache->size, cache->arg);
	}
	__atomic_fetch_add(&cache->bytes, frame_bytes(slab), __ATOMIC_RELAXED);
	return slab;
}

void slab_release(struct queued_cache *cache, struct frame *slab)
{
	__atomic_fetch_sub(&cache->bytes, frame_bytes(slab), __ATOMIC_RELAXED);
	if (cache->is_index_outside)
		free(index_of(slab));
	slab->cache = NULL;
	pages_give(slab);
}

size_t slab_take(struct queued_cache *cache, struct frame *slab, size_t n, void **objs)
{
	size_t left = cache->objects - slab->in_use;

	if (n > left)
		n = left;
	for (size_t i = 0; i < n; i++)
		objs[i] = slab->first + get_index(cache, slab, slab->in_use++) * cache->size;
	return n;
}

static struct frame_list *list_for(const struct queued_cache *cache, struct queued_node *node,
				   const struct frame *slab)
{
	if (!slab->in_use)
		return &node->empty;
	return slab->in_use < cache->objects ? &node->partial : &node->full;
}

void slab_list(struct queued_cache *cache, struct queued_node *node, struct frame *slab)
{
	slab->listed = true;
	frame_list_add(list_for(cache, node, slab), slab);
	node->free_objects += cache->objects - slab->in_use;
}

static void unlist(struct queued_cache *cache, struct queued_node *node, struct frame *slab)
{
	slab->listed = false;
	frame_list_remove(list_for(cache, node, slab), slab);
	node->free_objects -= cache->objects - slab->in_use;
}

size_t slabs_take(struct queued_cache *cache, struct queued_node *node, size_t n, void **objs,
		  bool only_partial)
{
	size_t done = 0;

	while (done < n) {
		struct frame *slab = frame_list_first(&node->partial);

		if (!slab && !only_partial)
			slab = frame_list_first(&node->empty);
		if (!slab)
			break;
		unlist(cache, node, slab);
		done += slab_take(cache, slab, n - done, objs + done);
		slab_list(cache, node, slab);
	}
	return done;
}

static void slab_give(struct queued_cache *cache, struct queued_node *node, void *obj)
{
	struct frame *slab = pages_frame(obj);
	const struct frame_list *before = list_for(cache, node, slab);
	const uint64_t offset = (uint64_t)((char *)obj - slab->first);

	if (slab->cache != cache || !slab->in_use)
		baseline_abort("an object was freed twice, or into another cache", obj);
	if (before == &node->partial && slab->in_use > 1) {
		node->free_objects++;
		set_index(cache, slab, --slab->in_use,
			  (unsigned)(offset * cache->reciprocal >> 32));
		return;
	}
	unlist(cache, node, slab);
	set_index(cache, slab, --slab->in_use, (unsigned)(offset * cache->reciprocal >> 32));
	slab_list(cache, node, slab);
}

void slabs_give(struct queued_cache *cache, struct queued_node *node, size_t n, void *const *objs)
{
	for (size_t i = 0; i < n; i++)
		slab_give(cache, node, objs[i]);
}

struct frame *slabs_take_empty(struct queued_cache *cache, struct queued_node *node, size_t n)
{
	struct frame *slabs = NULL, *slab;

	while (n-- && (slab = frame_list_first(&node->empty))) {
		unlist(cache, node, slab);
		slab->pair[1] = (uintptr_t)slabs;
		slabs = slab;
	}
	return slabs;
}

void slabs_release(struct queued_cache *cache, struct frame *slabs)
{
	while (slabs) {
		struct frame *next = (struct frame *)(uintptr_t)slabs->pair[1];

		slab_release(cache, slabs);
		slabs = next;
	}
}
