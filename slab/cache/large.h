/* SPDX-License-Identifier: MIT */
/*
 * Large allocations: by size, too large for a cache. Each has a whole slab or a separate mapping,
 * as large.c describes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/cache.h"
#include "pages/segment.h"

/* size > 0; align is a power of two. NULL and ENOMEM if there is no memory. */
void *large_alloc(size_t size, size_t align);
/* Allocate zeroed memory. Pages that are fresh from the OS are not written to. */
void *large_calloc(size_t size);
/* Allocate for realloc(), which makes a large allocation larger. */
void *large_alloc_growing(size_t size);
/* Free memory of large_alloc(). Any other pointer is reported and not freed. */
void large_free(struct slab *slab, void *ptr, const void *caller);
/* The slab of any address; slab_none if there is none. Unlike slab_of(), it knows all addresses of
 * large allocations. It takes segment_lock() if segment_known() is false. */
static inline struct slab *large_slab_of(const void *ptr)
{
	struct slab *slab = segment_known(ptr) ? slab_of(ptr) : segment_find_large(ptr);

	return slab ? slab : &slab_none;
}
/* Is this the start of the slab's allocation? If not, that is reported. */
bool large_starts_at(const struct slab *slab, const void *ptr, const void *caller);
size_t large_usable(const struct slab *slab);
/* Change the size, in place or by moving the pages. Returns the allocation; NULL: the caller has to
 * copy it, and nothing has changed. */
void *large_resize(struct slab *slab, size_t size);

/* In the child of a fork: the thread that was returning a tail does not exist there. */
void large_after_fork_child(void);

/* --- heap profile (large_profile.c) ------------------------------------------------ */

/* A large allocation, or NULL, of `size` bytes was made: sample it if it is due. Returns ptr. */
void *large_profile_begin(void *ptr, size_t size, const void *caller);
/* It is being freed. */
void large_profile_end(struct slab *slab);
/* An allocation has changed its size without a copy. If it is a large one, it counts as one that
 * was freed and one that was made, so the bytes in use are those of its present size. */
void large_profile_again(void *ptr, size_t size, const void *caller);

/* --- types (large_type.c) ---------------------------------------------------------- */

/* Words of a large allocation's map; the first one has its birth. */
enum { LARGE_TYPE = 1, LARGE_BYTES = 2 };

/* The cache that counts it; NULL: it has no type. */
static inline struct slab_cache *large_type(const struct slab *slab)
{
	return (struct slab_cache *)slab->map[LARGE_TYPE];
}
/* A new allocation has no type yet. */
static inline void large_type_none(struct slab *slab)
{
	slab->map[LARGE_TYPE] = 0;
}
/* If this is a large allocation, and the token is not 0, it has this type and its present size from
 * now on. Returns ptr. */
void *large_type_set(void *ptr, uint64_t token);
/* It is being freed. */
static inline void large_type_end(struct slab *slab)
{
	struct slab_cache *cache = large_type(slab);

	if (!cache)
		return;
	__atomic_fetch_sub(&cache->above.objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&cache->above.bytes, slab->map[LARGE_BYTES], __ATOMIC_RELAXED);
}
/* 0: it has none. */
uint64_t large_type_token(const struct slab *slab);

/* --- red zones (large_red.c) ------------------------------------------------------- */

#define LARGE_RED_BYTES ((size_t)64)

/* Is the allocation a slab? Otherwise it is a mapping of its own, whose descriptor has no shift. */
static inline bool large_is_slab(const struct slab *slab)
{
	return slab->shift != 0;
}

/* Bytes of red zone that a new allocation needs, or 0. */
size_t large_red_wanted(void);
static inline bool large_is_red(const struct slab *slab)
{
	return !large_is_slab(slab) && segment_of(slab)->red_zone != 0;
}
/* Write the red zones around `size` bytes of a mapping, and let validation check them. */
void large_red_begin(struct slab *slab, size_t size);
/* Check the red zones for the last time, report damage, and hide them from validation. */
void large_red_end(struct slab *slab, size_t size, const void *caller);
