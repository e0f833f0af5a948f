/* SPDX-License-Identifier: MIT */
/* The layout of a debug slab: its regions, the bytes expected in them, and damage to them. */
#pragma once

#include <slab/debug.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/debug_record.h"

struct slab_cache;

struct debug_layout {
	uint64_t debug_flags;     /* debug_flags_of_layout() */
	size_t size;              /* bytes from object to object */
	uint32_t inuse, red_left; /* as in struct slab_debug */
	unsigned slab_shift, objects, stride;
	bool poisons, copies; /* as in struct slab_debug */
};

/* The flags of DEBUG_FLAGS_LAYOUT that new slabs get from a cache with these debug flags. */
static inline uint64_t debug_flags_of_layout(uint64_t debug_flags)
{
	if (debug_flags & DEBUG_FLAG_TOOL)
		debug_flags &= ~(uint64_t)(SLAB_RED_ZONE | SLAB_POISON);
	return debug_flags & DEBUG_FLAGS_LAYOUT;
}

/* Does a debug slab, or a copy of its struct slab_debug, have the layout that the cache's new slabs
 * get? */
static inline bool debug_has_present_layout(const struct slab_cache *cache,
					    const struct slab_debug *debug)
{
	const uint64_t debug_flags = cache_debug_flags(cache);

	return debug_flags & DEBUG_FLAGS_SLAB &&
	       __atomic_load_n(&debug->debug_flags, __ATOMIC_RELAXED) ==
		       debug_flags_of_layout(debug_flags);
}

void debug_layout(const struct slab_cache *cache, uint64_t debug_flags,
		  struct debug_layout *layout);
/* Change the size of the slab. */
void debug_layout_resize(struct debug_layout *layout, unsigned slab_shift);
/* `debug_flags` without those that would enlarge the cache's slabs: the flag O of SLAB_DEBUG. */
uint64_t debug_flags_without_growth(const struct slab_cache *cache, uint64_t debug_flags);

/* A region of memory. All its bytes must have one value, or equal a copy. */
struct region {
	enum slab_problem problem;
	const char *what;
	char *start, *end;
	uint8_t value;
	char *copy; /* NULL: compare with `value` */
};

static inline struct region region_of(enum slab_problem problem, const char *what, char *start,
				      char *end, uint8_t value)
{
	const struct region region = {problem, what, start, end, value, NULL};

	return region;
}

struct damage {
	struct region region;
	char *first, *last;
};

/* The expected byte at the first damaged one. */
static inline uint8_t damage_expected(const struct damage *damage)
{
	const struct region *region = &damage->region;

	return region->copy ? (uint8_t)region->copy[damage->first - region->start] : region->value;
}

/* Fill the bytes around an object, and its poison, for its present state. */
void debug_fill(const struct slab *slab, unsigned index);
/* Copy the contents of a free object, if the slab keeps copies. */
void debug_keep(const struct slab *slab, unsigned index);
/* Fill the memory of a fresh slab, before its objects are filled. */
void debug_fill_slab(const struct slab *slab);
/* Find the first and last damaged byte of a region. false: it is not damaged. */
bool debug_region_damaged(const struct region *region, struct damage *damage);
/* Find the first damaged region of an object, or damage behind the objects of a slab. */
bool debug_find_damage(const struct slab *slab, unsigned index, struct damage *damage);
bool debug_find_slab_damage(const struct slab *slab, struct damage *damage);
/* Write the expected bytes to the damaged range. */
void debug_restore(const struct damage *damage);
