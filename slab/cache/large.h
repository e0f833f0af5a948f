/* SPDX-License-Identifier: MIT */
/* Allocations too large for a cache: whole slabs, and mappings of their own. */
#ifndef SLAB_CACHE_LARGE_H
#define SLAB_CACHE_LARGE_H

#include <stdbool.h>
#include <stddef.h>

#include "pages/segment.h"

#define LARGE_ALIGN_MAX ((size_t)2 << 20)

/* size > 0; align a power of two up to LARGE_ALIGN_MAX. NULL and ENOMEM. */
void *large_alloc(size_t size, size_t align);
/* … of zeros; pages fresh from the system are not touched for that. */
void *large_calloc(size_t size);
/* ptr must be what large_alloc() gave; otherwise reported and left alone. */
void large_free(struct slab *slab, void *ptr, const void *caller);
size_t large_usable(const struct slab *slab);
/* Change the size in place; false: cannot be done, nothing changed. */
bool large_resize(struct slab *slab, size_t size);

/* In the child of a fork: the thread that gave a tail back is gone. */
void large_after_fork_child(void);

/* --- red zones (large_red.c) ------------------------------------------------------- */

/* What SLAB_DEBUG and reports call large allocations. */
#define LARGE_NAME "size-large"
#define LARGE_RED_BYTES ((size_t)64)

/* Bytes that an allocation is to be followed by, or 0. */
size_t large_red_wanted(void);
static inline bool large_is_red(const struct slab *slab)
{
	return segment_of(slab)->red_zone != 0;
}
/* A mapping of `size` bytes and LARGE_RED_BYTES gets its zones; they are looked at no more. */
void large_red_begin(struct slab *slab, size_t size);
void large_red_end(struct slab *slab, size_t size, const void *caller);

#endif /* SLAB_CACHE_LARGE_H */
