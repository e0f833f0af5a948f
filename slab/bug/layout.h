/* SPDX-License-Identifier: MIT */
/* The layout of a debug slab: its regions, their expected bytes, and damage to them. */
#ifndef SLAB_DEBUG_LAYOUT_H
#define SLAB_DEBUG_LAYOUT_H

#include <slab/debug.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/debug_record.h"

struct slab_cache;

struct debug_layout {
	uint64_t debug_flags;     /* debug_flags_of_layout() */
	size_t size;              /* object to object */
	uint32_t inuse, red_left; /* as in struct slab_debug */
	unsigned slab_shift, objects, stride;
	bool poisons, copies; /* as in struct slab_debug */
};

/* Those of DEBUG_FLAGS_LAYOUT that a slab has when its cache has these debug flags. */
static inline uint64_t debug_flags_of_layout(uint64_t debug_flags)
{
	if (debug_flags & DEBUG_FLAG_TOOL)
		debug_flags &= ~(uint64_t)(SLAB_RED_ZONE | SLAB_POISON);
	return debug_flags & DEBUG_FLAGS_LAYOUT;
}
void debug_layout(const struct slab_cache *cache, uint64_t debug_flags,
		  struct debug_layout *layout);
/* `debug_flags` without those that enlarge the cache's slabs: the flag O of SLAB_DEBUG. */
uint64_t debug_flags_without_growth(const struct slab_cache *cache, uint64_t debug_flags);

/* A region of memory whose bytes must have one value, or equal a copy. */
struct region {
	enum slab_problem problem;
	const char *what;
	char *start, *end;
	uint8_t value;
	char *copy; /* NULL: the value */
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

/* The expected byte where the damage begins. */
static inline uint8_t damage_expected(const struct damage *damage)
{
	const struct region *region = &damage->region;

	return region->copy ? (uint8_t)region->copy[damage->first - region->start] : region->value;
}

/* Write the bytes around an object for its present state, and its poison. */
void debug_fill(const struct slab *slab, unsigned index);
/* Copy the contents of a free object, if the slab has copies. */
void debug_keep(const struct slab *slab, unsigned index);
/* Prepare fresh memory, before its objects are filled. */
void debug_fill_slab(const struct slab *slab);
/* The first and the last damaged byte of a region, if any. */
bool debug_region_damaged(const struct region *region, struct damage *damage);
/* The first damaged region of an object, or of the slab behind its objects. */
bool debug_find_damage(const struct slab *slab, unsigned index, struct damage *damage);
bool debug_find_slab_damage(const struct slab *slab, struct damage *damage);
/* Restore the expected bytes. */
void debug_restore(const struct damage *damage);

#endif /* SLAB_DEBUG_LAYOUT_H */
