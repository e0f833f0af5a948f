/* SPDX-License-Identifier: MIT */
/*
 * The slabs of guarded objects: one object to a slab, between pages that cannot be accessed.
 *
 *   inaccessible | pattern, object | inaccessible      or
 *   inaccessible | object, pattern | inaccessible
 *   0              a few pages, in the middle           64 KiB, or four pages
 *
 * The slab is a debug slab (struct slab_debug beside it, flag U, one record), whose red_left
 * leads from its start to the object. What is special: it is on no list of its node, and
 * guard_lock() (guard.h) protects its record.
 */
#ifndef SLAB_DEBUG_GUARD_SLABS_H
#define SLAB_DEBUG_GUARD_SLABS_H

#include <stdbool.h>
#include <stddef.h>

#include "bug/damage.h"
#include "core/cache.h"

#define GUARD_PATTERN RED_ACTIVE

struct guard_place {
	size_t pages, bytes; /* the accessible part, from the slab's start */
	size_t object, size;
};

size_t guard_slab_bytes(void);
/* Where the next object of this size is to stand; false: it is too large. */
bool guard_place_choose(const struct slab_cache *cache, size_t requested,
			struct guard_place *place);
/* Where a slab's object stands. */
struct guard_place guard_place_of(const struct slab *slab);

/* An isolated slab, inaccessible; NULL: there is none left. */
struct slab *guard_slab_take(void);
/* Make the place accessible, with the pattern around the object; only what the object needs
 * holds memory. */
bool guard_slab_open(struct slab *slab, const struct guard_place *place);
/* Its object is freed: make it inaccessible, and queue it for reuse. */
void guard_slab_retire(struct slab *slab);
/* Free an isolated slab to the page layer, whose slabs are accessible. Where making it so
 * fails (too many mappings), it is queued for reuse: false. */
bool guard_slab_free(struct slab *slab);

#endif /* SLAB_DEBUG_GUARD_SLABS_H */
