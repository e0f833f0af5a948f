/* SPDX-License-Identifier: MIT */
/*
 * The address space of one cache (SLAB_APART): no other user of libslab ever has the addresses of
 * its slabs. When such a slab is freed, its pages return to the OS, and its addresses become
 * inaccessible. It is vacant then, and keeps its descriptor. It serves the cache again as the same
 * slab, so an object stands where one stood before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/segment.h"

#define SPACE_LISTS 16u

/* segment_lock() protects the members; `bytes` may be read without it. */
struct space {
	struct slab *vacant[SPACE_LISTS]; /* by node, size and layout; linked by next */
	uint64_t bytes; /* of its slabs, with the vacant ones */
	uint64_t limit; /* most bytes; 0: no limit */
};

/* Free a slab: it becomes vacant. `layout` is that of its slab_needs. */
void space_free_slab(struct space *space, struct slab *slab, uint32_t layout);
/* Return the memory of a slab that the caller is about to free so, and make its addresses
 * inaccessible. space_free_slab() would do it too, but perhaps under a lock. */
void space_discard(struct slab *slab);

/* --- inside the page layer: with the lock ---------------------------------------------------- */

struct slab_needs;

bool space_has_vacant(const struct slab_needs *needs);
/* Take a vacant slab. There is one. */
struct slab *space_take_vacant(const struct slab_needs *needs);
/* May the space get another slab of 1 << shift bytes? */
bool space_has_room(const struct space *space, unsigned shift);
/* It gets one. */
void space_grow(struct space *space, unsigned shift);

/* Without the lock: make a vacant slab that was taken accessible. false: the system refuses it, and
 * the slab is vacant again. */
bool space_open(struct space *space, struct slab *slab);
