/* SPDX-License-Identifier: MIT */
/*
 * The layout of debug slabs, and checks of their bytes.
 *
 * Sizes follow SLUB (calculate_sizes()), with two differences. Nothing that the allocator needs
 * lies between the objects, so there is no room for a free pointer or a track. The right red
 * zone has at least 8 bytes, where SLUB uses what alignment leaves over.
 *
 * An object of a cache with a constructor keeps its constructed state while it is free, so it
 * cannot be poisoned. With P a copy of it is kept beside the slab instead, and the free object
 * must equal the copy. Objects of a type-safe cache have neither, because readers may still
 * write to them.
 */
#include "debug/layout.h"
#include "base/round.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "pages/free_slabs.h"
#include "report/track.h"

#include <slab/debug.h>
#include <slab/slab.h>
#include <string.h>

#define WORD ((size_t)8)
#define ALIGN_MAX ((size_t)4096)

/* slab_memalign() relies on this: objects of caches by size are aligned to the largest power of
 * two that divides the size. */
static size_t object_align(const struct slab_cache *cache)
{
	size_t natural = cache->object_size & -cache->object_size;

	if (!cache->by_size || natural <= cache->align)
		return cache->align;
	return natural < ALIGN_MAX ? natural : ALIGN_MAX;
}

/*
 * With red zones, objects may suit a larger slab than the cache has without them. If the cache's
 * limit does not allow that slab, a smaller one must suffice. A limit holds at least one slab
 * without red zones, and debugging must not make every allocation fail.
 */
static unsigned slab_shift_within_limit(const struct slab_cache *cache, size_t size)
{
	const size_t limit = __atomic_load_n(&cache->account.limit, __ATOMIC_RELAXED);
	unsigned shift = slab_choose_large_shift(size);

	while (limit && shift > slab_least_shift() && (size_t)1 << shift > limit)
		shift--;
	return shift;
}

void debug_layout_resize(struct debug_layout *layout, unsigned slab_shift)
{
	layout->slab_shift = slab_shift;
	layout->objects = (unsigned)(((size_t)1 << slab_shift) / layout->size);
}

/* Under a tool there are red zones too, but without a pattern: the tool makes them inaccessible,
 * and so finds at once what Z and P would find later. */
void debug_layout(const struct slab_cache *cache, uint64_t debug_flags, struct debug_layout *layout)
{
	size_t align = object_align(cache), size = round_up(cache->object_size, WORD);
	bool red = debug_flags & (SLAB_RED_ZONE | DEBUG_FLAG_TOOL);

	*layout = (struct debug_layout){.debug_flags = debug_flags_of_layout(debug_flags)};
	if (red) {
		size += size - cache->object_size < WORD ? WORD : 0;
		layout->red_left = (uint32_t)round_up(WORD, align);
	}
	layout->size = round_up(layout->red_left + size, align);
	/* P fills and checks the padding. Without P all of it belongs to the red zone. */
	if (red && !(debug_flags & SLAB_POISON))
		size = layout->size - layout->red_left;
	layout->inuse = (uint32_t)size;
	debug_layout_resize(layout, slab_shift_within_limit(cache, layout->size));
	layout->stride = sizeof(struct debug_object);
	if (debug_flags & SLAB_STORE_USER)
		layout->stride += 2 * sizeof(struct track);
	/* Few objects are sampled, so the slabs are as small as they may be. */
	if (debug_flags & DEBUG_FLAG_PROFILE && layout->size <= (size_t)1 << cache->small.shift)
		debug_layout_resize(layout, cache->small.shift);
	if (layout->debug_flags & SLAB_POISON && !(cache->flags & SLAB_TYPESAFE_BY_RCU)) {
		layout->poisons = !cache->ctor;
		layout->copies = cache->ctor != NULL;
	}
	if (layout->copies)
		layout->stride += (unsigned)round_up(cache->object_size, WORD);
}

uint64_t debug_flags_without_growth(const struct slab_cache *cache, uint64_t debug_flags)
{
	struct debug_layout layout;

	debug_layout(cache, debug_flags, &layout);
	if (layout.slab_shift > cache->large.shift)
		debug_flags &= ~(uint64_t)(SLAB_RED_ZONE | SLAB_POISON);
	return debug_flags;
}

/* --- regions -------------------------------------------------------------- */

#define REGIONS_MAX 6u

/* Fill region[] with the parts of an object's place that must hold a known value in the object's
 * present state. Returns their number. */
static unsigned object_regions(const struct slab *slab, unsigned index, struct region *region)
{
	const struct slab_debug *debug = slab->debug;
	const struct debug_object *record = debug_record(slab, index);
	bool is_free = record->state == OBJECT_FREE;
	uint8_t red = is_free ? RED_INACTIVE : RED_ACTIVE;
	char *object = debug_object_at(slab, index);
	char *end = object + debug->object_size, *inuse = object + debug->inuse;
	char *next = object - debug->red_left + debug->size;
	unsigned n = 0;

	if (debug->debug_flags & SLAB_RED_ZONE) {
		region[n++] = region_of(SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone",
					object - debug->red_left, object, red);
		region[n++] =
			region_of(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone", end, inuse, red);
		if (!is_free && record->requested < debug->object_size)
			region[n++] = region_of(SLAB_PROBLEM_MALLOC_REDZONE, "slab_malloc Redzone",
						object + record->requested, end, red);
	} else if (debug->debug_flags & SLAB_POISON) {
		region[n++] = region_of(SLAB_PROBLEM_ALIGNMENT_PADDING, "Alignment padding", end,
					inuse, POISON_INUSE);
	}
	if (debug->poisons && is_free) {
		region[n++] =
			region_of(SLAB_PROBLEM_POISON, "Poison", object, end - 1, POISON_FREE);
		region[n++] =
			region_of(SLAB_PROBLEM_END_POISON, "End Poison", end - 1, end, POISON_END);
	}
	if (debug->copies && is_free) {
		region[n] = region_of(SLAB_PROBLEM_POISON, "Free object", object, end, 0);
		region[n++].copy = debug_copy(slab, index);
	}
	if (debug->debug_flags & SLAB_POISON)
		region[n++] = region_of(SLAB_PROBLEM_OBJECT_PADDING, "Object padding", inuse, next,
					POISON_INUSE);
	return n;
}

void debug_fill(const struct slab *slab, unsigned index)
{
	struct region region[REGIONS_MAX];
	const struct slab_debug *debug = slab->debug;
	const struct debug_object *record = debug_record(slab, index);
	unsigned n = object_regions(slab, index, region);

	for (unsigned i = 0; i < n; i++) {
		const struct region *r = &region[i];

		if (r->copy)
			memcpy(r->copy, r->start, (size_t)(r->end - r->start));
		else
			memset(r->start, r->value, (size_t)(r->end - r->start));
	}
	/* An allocated object keeps its poison, but its end may be nearer, at the requested
	 * size. */
	if (debug->poisons && record->state != OBJECT_FREE && record->requested)
		debug_object_at(slab, index)[record->requested - 1] = (char)POISON_END;
}

void debug_keep(const struct slab *slab, unsigned index)
{
	if (slab->debug->copies)
		memcpy(debug_copy(slab, index), debug_object_at(slab, index),
		       slab->debug->object_size);
}

static bool is_whole(const struct region *region)
{
	const char *first = region->start;
	const size_t len = (size_t)(region->end - first);

	if (region->copy)
		return memcmp(first, region->copy, len) == 0;
	/* If each byte equals the one before, memcmp() compares the region at full speed. */
	return !len || ((uint8_t)*first == region->value && memcmp(first, first + 1, len - 1) == 0);
}

static bool is_good(const struct region *region, const char *at)
{
	return *at == (region->copy ? region->copy[at - region->start] : (char)region->value);
}

bool debug_region_damaged(const struct region *region, struct damage *damage)
{
	char *first = region->start, *last = region->end;

	if (is_whole(region))
		return false;
	while (first < last && is_good(region, first))
		first++;
	while (last > first && is_good(region, last - 1))
		last--;
	*damage = (struct damage){.region = *region, .first = first, .last = last - 1};
	return first < last;
}

bool debug_find_damage(const struct slab *slab, unsigned index, struct damage *damage)
{
	struct region region[REGIONS_MAX];
	unsigned n = object_regions(slab, index, region);

	for (unsigned i = 0; i < n; i++)
		if (debug_region_damaged(&region[i], damage))
			return true;
	return false;
}

bool debug_find_slab_damage(const struct slab *slab, struct damage *damage)
{
	size_t used = slab->objects * (size_t)slab->debug->size;
	const struct region padding =
		region_of(SLAB_PROBLEM_SLAB_PADDING, "Padding", slab->base + used,
			  slab->base + slab_bytes(slab), POISON_INUSE);

	return slab->debug->debug_flags & SLAB_POISON && debug_region_damaged(&padding, damage);
}

void debug_fill_slab(const struct slab *slab)
{
	if (slab->debug->debug_flags & SLAB_POISON)
		memset(slab->base, POISON_INUSE, slab_bytes(slab));
}

void debug_restore(const struct damage *damage)
{
	const struct region *region = &damage->region;
	const size_t len = (size_t)(damage->last - damage->first) + 1;

	if (region->copy)
		memcpy(damage->first, region->copy + (damage->first - region->start), len);
	else
		memset(damage->first, region->value, len);
}
