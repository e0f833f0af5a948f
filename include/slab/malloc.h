/* SPDX-License-Identifier: MIT */
/*
 * Memory by size: malloc's job on libslab's caches.
 *
 * Sizes up to 32 KiB come from the caches size-16 … size-32k, spaced by at most
 * 12.5 % above 128 bytes; larger ones straight from the page layer. Above 2 MiB, each is
 * a mapping of its own. Others have a power of two of address space to themselves, which
 * is used again with the memory that it has; of what this is beyond their pages, an
 * eighth of the power of two may stay, or 4 MiB in the whole process. All memory is
 * aligned to 16 bytes at least. Memory of these functions must be freed by slab_mfree()
 * and its kin, never by free() or slab_free().
 *
 * Threads: any thread may free what any other allocated. Signals, fork, cancellation and
 * errors: as in <slab/slab.h>. The slab_ch_* family never fails.
 */
#ifndef SLAB_MALLOC_H
#define SLAB_MALLOC_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest size that a cache serves; above it, whole pages. */
#define SLAB_MALLOC_MAX_CACHED ((size_t)32768)

/* slab_mfree: free memory of slab_malloc() and its kin. NULL is allowed. */
SLAB_API void slab_mfree(void *ptr);

/* slab_malloc: `size` bytes with undefined content; size 0 gives a unique
 * pointer to a smallest object. NULL and ENOMEM when there is no memory. */
SLAB_API void *slab_malloc(size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/* slab_calloc: n * size bytes of zeros. libslab does not touch pages that are fresh from
 * the system, which are zero: above 2 MiB the process takes memory as the caller touches
 * it. NULL and ENOMEM also on overflow. */
SLAB_API void *slab_calloc(size_t n, size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/*
 * slab_realloc: change the size; the content up to the smaller size is kept.
 * Stays in place where the size class (or the pages) allow; a large one as long as
 * it fills half of what it had. ptr NULL is slab_malloc(); size 0 frees and
 * returns NULL. On failure: NULL and ENOMEM, and the old memory is untouched.
 */
SLAB_API void *slab_realloc(void *ptr, size_t size) SLAB_ATTR_(warn_unused_result);

/* slab_memalign: `size` bytes aligned to `align`, a power of two up to 2 MiB.
 * NULL and EINVAL for another alignment, ENOMEM when there is no memory. */
SLAB_API void *slab_memalign(size_t align, size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/*
 * With SLAB_DEBUG=Z, or Z for the names size-* or size-large (docs/environment.md), each
 * allocation beyond SLAB_MALLOC_MAX_CACHED is a mapping of its own between red zones.
 * slab_mfree(), slab_realloc(), and slab_cache_validate() of any of these caches check them.
 */

/* slab_usable_size: bytes that may be used behind ptr, at least what was asked
 * for; 0 for NULL. */
SLAB_API size_t slab_usable_size(const void *ptr);

/* slab_free_sized: slab_mfree() for callers who know the size they asked for;
 * a size that ptr cannot have is reported and the memory left alone. */
SLAB_API void slab_free_sized(void *ptr, size_t size);

/*
 * The 389-ds family: never NULL. When there is no memory, or size is 0 or
 * overflows, the process aborts with one line that says what was asked for.
 */
SLAB_API void slab_ch_free(void **ptr); /* frees *ptr and sets it to NULL */
SLAB_API void slab_ch_free_string(char **ptr);
SLAB_API void *slab_ch_malloc(size_t size) SLAB_ATTR_(malloc, returns_nonnull, warn_unused_result);
SLAB_API void *slab_ch_calloc(size_t n, size_t size)
	SLAB_ATTR_(malloc, returns_nonnull, warn_unused_result);
SLAB_API void *slab_ch_realloc(void *ptr, size_t size)
	SLAB_ATTR_(returns_nonnull, warn_unused_result);
SLAB_API void *slab_ch_memalign(size_t align, size_t size)
	SLAB_ATTR_(malloc, returns_nonnull, warn_unused_result);
/* slab_ch_strdup: NULL gives NULL, as slapi_ch_strdup() does. */
SLAB_API char *slab_ch_strdup(const char *string) SLAB_ATTR_(warn_unused_result);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_MALLOC_H */
