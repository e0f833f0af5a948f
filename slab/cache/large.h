/* SPDX-License-Identifier: MIT */
/* Allocations too large for a cache: whole slabs, or separate mappings. */
#ifndef SLAB_CACHE_LARGE_H
#define SLAB_CACHE_LARGE_H

#include <stdbool.h>
#include <stddef.h>

#include "pages/segment.h"

#define LARGE_ALIGN_MAX ((size_t)2 << 20)

/* size > 0; align a power of two up to LARGE_ALIGN_MAX. NULL and ENOMEM. */
void *large_alloc(size_t size, size_t align);
/* … of zeros, without writing to pages that are fresh from the system. */
void *large_calloc(size_t size);
/* Free memory of large_alloc(); another pointer is reported and not freed. */
void large_free(struct slab *slab, void *ptr, const void *caller);
size_t large_usable(const struct slab *slab);
/* Change the size in place; false: impossible, nothing changed. */
bool large_resize(struct slab *slab, size_t size);

/* In the child of a fork: a thread that was returning a tail does not exist there. */
void large_after_fork_child(void);

/* --- red zones (large_red.c) ------------------------------------------------------- */

/* The name of large allocations in SLAB_DEBUG and reports. */
#define LARGE_NAME "size-large"
#define LARGE_RED_BYTES ((size_t)64)

/* Bytes of red zone to add to an allocation, or 0. */
size_t large_red_wanted(void);
static inline bool large_is_red(const struct slab *slab)
{
	return segment_of(slab)->red_zone != 0;
}
/* Write the red zones of a mapping of `size` bytes and LARGE_RED_BYTES; check and report them
 * for the last time. */
void large_red_begin(struct slab *slab, size_t size);
void large_red_end(struct slab *slab, size_t size, const void *caller);

#endif /* SLAB_CACHE_LARGE_H */
