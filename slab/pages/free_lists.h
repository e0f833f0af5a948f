/* SPDX-License-Identifier: MIT */
/* The lists of free slabs that hold memory, by size and node. All functions run under
 * segment_lock(). */
#ifndef SLAB_PAGES_FREE_LISTS_H
#define SLAB_PAGES_FREE_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "pages/metadata.h"
#include "pages/queue.h"

/* What has to be provided, without the lock, before free_list_find() is called again. */
enum missing {
	MISSING_NOTHING,
	MISSING_METADATA, /* a descriptor for the caller's geometry */
	MISSING_PIECES,   /* a descriptor for a piece of a slab (free_piece_geometry()) */
	MISSING_RANGE,
	MISSING_HUGE,
};

struct slab_queue *free_list(unsigned shift, unsigned node);
/* List a slab at its head, or at its end if none has been idle for longer. A slab without memory
 * ceases to exist: its units and its descriptor are free. */
void free_list_add(struct slab *slab);
void free_list_remove(struct slab *slab);
/* Make a slab of a range of units, of which the first `populated` bytes hold memory. There must be
 * a descriptor. */
struct slab *free_describe(const struct geometry *geometry, unsigned node, char *base,
			   uint32_t populated);
/* The geometry of free slabs that no cache has had yet. NULL: there are too many geometries. */
const struct geometry *free_piece_geometry(unsigned shift);

/*
 * free_list_find: find a free slab of this size that holds memory: the one that was freed last,
 * else a piece of a larger one, else smaller ones that join. NULL and MISSING_NOTHING: there is
 * none. The slab is still listed.
 */
struct slab *free_list_find(unsigned shift, unsigned node, enum missing *ret_missing);

#endif /* SLAB_PAGES_FREE_LISTS_H */
