/* SPDX-License-Identifier: MIT */
/* Allocations too large for a cache: whole slabs, and mappings of their own. */
#ifndef SLAB_LARGE_H
#define SLAB_LARGE_H

#include "slab_internal.h"

#define LARGE_ALIGN_MAX ((size_t)2 << 20)

/* size > 0; align a power of two up to LARGE_ALIGN_MAX. NULL and ENOMEM. */
void *large_alloc(size_t size, size_t align);
/* ptr must be what large_alloc() gave; otherwise reported and left alone. */
void large_free(struct slab *slab, void *ptr, const void *caller);
size_t large_usable(const struct slab *slab);
/* Change the size in place; false: cannot be done, nothing changed. */
bool large_resize(struct slab *slab, size_t size);

#endif /* SLAB_LARGE_H */
