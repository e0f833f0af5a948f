/* SPDX-License-Identifier: MIT */
/* Slabs that no cache has: taking and freeing them, and returning their memory to the OS. */
#pragma once

#include "pages/segment.h"
#include "pages/space.h"

/* What a slab needs. */
struct slab_needs {
	unsigned shift;   /* 1 << shift bytes */
	unsigned objects; /* room in slab->map; 0 for debug slabs */
	unsigned waiting; /* words of slab_waiting() (core/slab.h), behind the map */
	size_t side;      /* debug slabs: bytes of struct slab_debug and its records; else 0 */
	unsigned node;
	bool may_grow; /* else only memory that the process holds already */
	struct space *space; /* with SLAB_APART, else NULL */
	uint32_t layout; /* with it: of the objects; slabs of one size and layout are alike */
};

/* The shift of the smallest slabs: a slab has at least a page. */
unsigned slab_least_shift(void);
/*
 * segment_take_slab: take a slab, first from units that hold memory. Set are base, shift, node,
 * objects, debug, side, size_class, and `populated`, the bytes from base on that hold memory: all,
 * none, or some. All other members and all bits are 0, and the slab has no user. NULL and ENOMEM,
 * with the cause in alloc_failure; with may_grow false also if the slab would not be populated as a
 * whole. The caller holds no lock.
 */
struct slab *segment_take_slab(const struct slab_needs *needs);
/* Free a slab, whose user words become 0. Its units keep their memory for the next
 * segment_take_slab(), except with SLAB_DECAY_MS=0. */
void segment_free_slab(struct slab *slab);
/* Populate the slab's memory up to `bytes` in one batch of page faults. From now on this memory
 * counts as populated, also a single page, which is left to its first write. */
void slab_populate(struct slab *slab, size_t bytes);

/* Return the memory of all free units to the OS. Returns the number of bytes. */
size_t segment_trim(void);
/* The same until about `bytes` are returned, but nothing where it would break huge pages up. */
size_t segment_trim_piece(size_t bytes);
/* segment_trim() for units that are ripe in this epoch (idle.h), neighbours by one system call
 * each, never under the lock. Returns the number of bytes. */
size_t segment_decay(uint32_t epoch);
/* Return the memory of descriptors that no slab has to the OS. */
void segment_trim_metadata(void);
/* Return memory of a segment to the OS, for good: where the kernel uses huge pages always, it fills
 * no hole in the segment again. false: as os_discard(). */
bool segment_discard_part(char *start, size_t bytes);
/* Return the memory of a slab that the caller is about to free. */
void segment_discard(struct slab *slab);
/* In the child of a fork: units whose memory threads of the parent were returning are free
 * again. */
void segment_after_fork_child(void);

/* A block of memory that is never unmapped, for tables of the rooms above (depots); zeroed when it
 * is new. NULL and ENOMEM. `bytes` is at most 32 KiB. */
void *metadata_block_take(size_t bytes);
void metadata_block_put(void *block);
