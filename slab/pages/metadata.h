/* SPDX-License-Identifier: MIT */
/*
 * The memory of descriptors. Each descriptor has its stack, its links and, for debug slabs, its
 * struct slab_debug beside it. The page layer calls all functions but metadata_map() and
 * metadata_decay() under segment_lock().
 */
#ifndef SLAB_PAGES_METADATA_H
#define SLAB_PAGES_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metadata_class;
struct slab;

/* The size of slabs and the class of their descriptors. */
struct geometry {
	unsigned slab_shift;
	struct metadata_class *metadata;
};

/* The geometry of slabs with 1 << slab_shift bytes and of the class of descriptors with room for
 * this number of objects and with `side` bytes for struct slab_debug. The first call creates the
 * class. NULL and ENOMEM: there are too many classes. */
struct geometry *metadata_geometry(unsigned slab_shift, unsigned objects, size_t side);
/* The geometry of slabs of another size with descriptors of this class. */
struct geometry *metadata_geometry_of(struct metadata_class *class, unsigned slab_shift);
/* Take a descriptor of a class. All members are 0 except owner, remote, links, debug, side and
 * node. NULL: the class has none; then metadata_map() makes some. */
struct slab *metadata_take(struct metadata_class *class, unsigned node);
/* Can metadata_take() succeed? */
bool metadata_has(const struct metadata_class *class, unsigned node);
/* Put back a descriptor to which no table leads, and that is idle since this epoch. */
void metadata_put(struct slab *slab, uint32_t idle_since);
/* Map memory for descriptors of a class, without the lock. false and ENOMEM. */
bool metadata_map(struct metadata_class *class, unsigned node);
/* Return the memory of descriptors that have been free for a decay time to the OS, or, with `all`,
 * of all free ones; without the lock. */
void metadata_decay(uint32_t epoch, bool all);
/* In the child of a fork: list the blocks whose memory threads of the parent were returning. */
void metadata_after_fork_child(void);

#endif /* SLAB_PAGES_METADATA_H */
