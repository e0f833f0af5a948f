/* SPDX-License-Identifier: MIT */
/*
 * What stands where in a debug slab, and whether it still does.
 *
 * Sizes follow SLUB (calculate_sizes()), with two differences. Nothing that the
 * allocator needs lies between the objects, so there is neither a free pointer
 * nor a track to make room for; and the right red zone has 8 bytes at least,
 * where SLUB takes whatever alignment left over.
 */
#include "debug_layout.h"

#include <string.h>

#define WORD ((size_t)8)
#define ALIGN_MAX ((size_t)4096)

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* slab_memalign() relies on a size's objects being aligned as the size is. */
static size_t object_align(const struct slab_cache *cache)
{
	size_t natural = cache->object_size & -cache->object_size;

	if (!cache->by_size || natural <= cache->align)
		return cache->align;
	return natural < ALIGN_MAX ? natural : ALIGN_MAX;
}

/* A tool forbids what Z and P could only look at later. */
void debug_layout(const struct slab_cache *cache, uint64_t letters, struct debug_layout *layout)
{
	size_t align = object_align(cache), size = round_up(cache->object_size, WORD);
	bool red = letters & (SLAB_RED_ZONE | LETTER_TOOL);

	*layout = (struct debug_layout){.letters = debug_layout_letters(letters)};
	if (red) {
		size += size - cache->object_size < WORD ? WORD : 0;
		layout->red_left = (uint32_t)round_up(WORD, align);
	}
	layout->size = round_up(layout->red_left + size, align);
	/* Padding is what P watches; otherwise all of it is red zone. */
	if (red && !(letters & SLAB_POISON))
		size = layout->size - layout->red_left;
	layout->inuse = (uint32_t)size;
	layout->slab_shift = cache_choose_slab_shift(layout->size);
	layout->objects = (unsigned)(((size_t)1 << layout->slab_shift) / layout->size);
	layout->stride = sizeof(struct debug_object);
	if (letters & SLAB_STORE_USER)
		layout->stride += 2 * sizeof(struct track);
}

uint64_t debug_letters_without_growth(const struct slab_cache *cache, uint64_t letters)
{
	struct debug_layout layout;

	debug_layout(cache, letters, &layout);
	if (layout.slab_shift > cache->slab_shift)
		letters &= ~(uint64_t)(SLAB_RED_ZONE | SLAB_POISON);
	return letters;
}

/* --- regions -------------------------------------------------------------- */

#define REGIONS_MAX 6u

/* Calls for each stretch of an object's place that must hold one value, as the
 * object is now: how many were put into region[]. */
static unsigned object_regions(const struct slab *slab, unsigned index, struct region *region)
{
	const struct slab_debug *debug = slab->debug;
	const struct debug_object *record = debug_record(slab, index);
	bool is_free = record->state == OBJECT_FREE;
	uint8_t red = is_free ? RED_INACTIVE : RED_ACTIVE;
	char *object = debug_object_at(slab, index);
	char *end = object + debug->object_size, *inuse = object + debug->inuse;
	char *next = object - debug->red_left + slab_size(slab);
	unsigned n = 0;

	if (debug->letters & SLAB_RED_ZONE) {
		region[n++] = (struct region){SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone",
					      object - debug->red_left, object, red};
		region[n++] = (struct region){SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone", end,
					      inuse, red};
		if (!is_free && record->requested < debug->object_size)
			region[n++] =
				(struct region){SLAB_PROBLEM_MALLOC_REDZONE, "slab_malloc Redzone",
						object + record->requested, end, red};
	} else if (debug->letters & SLAB_POISON) {
		region[n++] = (struct region){SLAB_PROBLEM_ALIGNMENT_PADDING, "Alignment padding",
					      end, inuse, POISON_INUSE};
	}
	if (debug->poisons && is_free) {
		region[n++] = (struct region){SLAB_PROBLEM_POISON, "Poison", object, end - 1,
					      POISON_FREE};
		region[n++] = (struct region){SLAB_PROBLEM_END_POISON, "End Poison", end - 1, end,
					      POISON_END};
	}
	if (debug->letters & SLAB_POISON)
		region[n++] = (struct region){SLAB_PROBLEM_OBJECT_PADDING, "Object padding", inuse,
					      next, POISON_INUSE};
	return n;
}

void debug_fill(const struct slab *slab, unsigned index)
{
	struct region region[REGIONS_MAX];
	const struct slab_debug *debug = slab->debug;
	const struct debug_object *record = debug_record(slab, index);
	unsigned n = object_regions(slab, index, region);

	for (unsigned i = 0; i < n; i++)
		memset(region[i].start, region[i].value, (size_t)(region[i].end - region[i].start));
	/* An object that is handed out is poisoned already; its end may be nearer. */
	if (debug->poisons && record->state != OBJECT_FREE && record->requested)
		debug_object_at(slab, index)[record->requested - 1] = (char)POISON_END;
}

bool debug_region_damaged(const struct region *region, struct damage *damage)
{
	char *first = region->start, *last = region->end;

	/* Every byte is like the one before: as fast as memory is compared. */
	if (first == last || ((uint8_t)*first == region->value &&
			      memcmp(first, first + 1, (size_t)(last - first) - 1) == 0))
		return false;
	while ((uint8_t)*first == region->value)
		first++;
	while ((uint8_t)last[-1] == region->value)
		last--;
	*damage = (struct damage){.region = *region, .first = first, .last = last - 1};
	return true;
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
	size_t used = slab->objects * slab_size(slab);
	struct region padding = {SLAB_PROBLEM_SLAB_PADDING, "Padding", slab->cpu.base + used,
				 slab->cpu.base + slab_bytes(slab), POISON_INUSE};

	return slab->debug->letters & SLAB_POISON && debug_region_damaged(&padding, damage);
}

void debug_fill_slab(const struct slab *slab)
{
	if (slab->debug->letters & SLAB_POISON)
		memset(slab->cpu.base, POISON_INUSE, slab_bytes(slab));
}

void debug_restore(const struct damage *damage)
{
	memset(damage->first, damage->region.value, (size_t)(damage->last - damage->first) + 1);
}
