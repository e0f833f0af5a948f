/* SPDX-License-Identifier: MIT */
/* Slabs that no cache has: taking and freeing them, and returning their memory to the OS. */
#ifndef SLAB_PAGES_FREE_SLABS_H
#define SLAB_PAGES_FREE_SLABS_H

#include "pages/segment.h"

/* Find or create the geometry of slabs with 1 << slab_shift bytes and room for `objects`. NULL and
 * ENOMEM: there are too many. */
struct geometry *geometry_get(unsigned slab_shift, unsigned objects);
/* The geometry of debug slabs, each of which has `side` bytes for its struct slab_debug. */
struct geometry *geometry_get_debug(unsigned slab_shift, unsigned objects, size_t side);

/* The shift of the smallest slabs: a slab has at least a page. */
unsigned slab_least_shift(void);
/* Take a slab of `node`, isolated. NULL and ENOMEM. slab->cpu.user is not set. */
struct slab *segment_take_slab(struct geometry *geometry, unsigned node);
/* Free a slab. It keeps its memory for the next segment_take_slab(), except with
 * SLAB_DECAY_MS=0. */
void segment_free_slab(struct slab *slab);
/* Populate the slab's memory up to `bytes` in one batch of page faults. From now on this memory
 * counts as populated, also a single page, which is left to its first write. */
void slab_populate(struct slab *slab, size_t bytes);

/* Return the memory of all free slabs to the OS. Returns the number of slabs that had memory, and
 * stores the bytes unless ret_bytes is NULL. */
unsigned segment_trim(size_t *ret_bytes);
/* segment_trim() for slabs that are ripe in this epoch (idle.h) and for which may_discard() returns
 * true; it runs with no lock held. Returns the number of bytes. */
size_t segment_decay(uint32_t epoch, bool (*may_discard)(const struct slab *slab));
/* Return the memory of descriptors that no slab has to the OS. */
void segment_trim_metadata(void);
/* With SLAB_DECAY_MS=0, return the memory of an isolated slab that the caller is about to free.
 * segment_free_slab() would do it too, but perhaps under a lock. */
void segment_discard_at_once(struct slab *slab);
/* In the child of a fork: list free slabs whose memory threads of the parent were returning. */
void segment_after_fork_child(void);

#endif /* SLAB_PAGES_FREE_SLABS_H */
