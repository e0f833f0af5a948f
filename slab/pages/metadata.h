/* SPDX-License-Identifier: MIT */
/*
 * The memory of descriptors, and of blocks for the rooms above. It has classes by its number of
 * bytes. The page layer calls all functions but metadata_map() and metadata_decay() under
 * segment_lock().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slab;

/* The class of descriptors with room for this number of bytes. METADATA_NONE: no class has so
 * many. */
#define METADATA_NONE 255u
unsigned metadata_class(size_t bytes);
/* Take a descriptor of a class, and set its first `clear` bytes to 0, a multiple of 8; size_class
 * and node are set. NULL: the class has none; then metadata_map() makes some. */
struct slab *metadata_take(unsigned size_class, unsigned node, size_t clear);
/* The same for a descriptor that was taken, or NULL; without the lock. */
struct slab *metadata_begin(struct slab *slab, unsigned size_class, unsigned node, size_t clear);
/* Can metadata_take() succeed? */
bool metadata_has(unsigned size_class, unsigned node);
/* Put back a descriptor to which no table leads, and that is idle since this epoch. */
void metadata_put(void *descriptor, uint32_t idle_since);
/* Map memory for descriptors of a class, without the lock. false and ENOMEM. */
bool metadata_map(unsigned size_class, unsigned node);
/* Return the memory of descriptors that have been free for a decay time to the OS, or, with `all`,
 * of all free ones; without the lock. */
void metadata_decay(uint32_t epoch, bool all);
/* Do these bytes lie in an arena? */
bool metadata_has_range(const char *start, size_t bytes);
/* In the child of a fork: list the blocks whose memory threads of the parent were returning. */
void metadata_after_fork_child(void);
