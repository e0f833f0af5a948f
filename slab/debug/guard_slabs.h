/* SPDX-License-Identifier: MIT */
/*
 * The slabs of guarded objects: one object per slab, between inaccessible pages.
 *
 *   inaccessible | pattern, object | inaccessible      or
 *   inaccessible | object, pattern | inaccessible
 *   0              a few pages, in the middle           64 KiB, or four pages
 *
 * A guarded slab is a debug slab with flag U and one record; red_left is the distance from the
 * slab's start to the object. Unlike other debug slabs, it is on no list of its node, and
 * guard_lock() (guard.h) protects its record.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/cache.h"
#include "debug/damage.h"

#define GUARD_PATTERN RED_ACTIVE

struct guard_place {
	size_t pages, bytes; /* the accessible part, from the slab's start */
	size_t object, size;
};

size_t guard_slab_bytes(void);
/* Choose the place of the next object of this size; false: the object is too large. */
bool guard_place_choose(const struct slab_cache *cache, size_t requested,
			struct guard_place *place);
/* The place of the slab's present object. */
struct guard_place guard_place_of(const struct slab *slab);

/* Take a guarded slab for an object of this cache and place, inaccessible; NULL: there is none
 * left. */
struct slab *guard_slab_take(const struct slab_cache *cache, const struct guard_place *place);
/* Make the pages of the place accessible, and fill them around the object with the pattern.
 * Memory of an earlier place is discarded first. false: the pages stay inaccessible. */
bool guard_slab_open(struct slab *slab, const struct guard_place *place);
/* The slab's object was freed: make its pages inaccessible, and queue the slab for reuse. */
void guard_slab_rest(struct slab *slab);
/* Free a slab without a cache to the page layer, or to the space of the cache that it was of. Slabs
 * of the page layer must be accessible: if mprotect() fails (too many mappings), the slab is queued
 * for reuse instead. Returns false then. */
bool guard_slab_free(struct space *space, struct slab *slab);
