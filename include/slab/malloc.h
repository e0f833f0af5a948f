/* SPDX-License-Identifier: MIT */
/*
 * Allocation by size, as with malloc(), on libslab's caches.
 *
 * Sizes up to 32 KiB come from the caches size-16 … size-32k, which are at most 12.5 % apart
 * above 128 bytes. Larger sizes come from the page layer. Above 2 MiB, each allocation is a
 * separate mapping. Others have a power of two of address space to themselves, which
 * libslab reuses with the memory that it has; of the part of it beyond their pages, an
 * eighth of the power of two may stay, or 4 MiB in the whole process. All memory is
 * aligned to at least 16 bytes. Memory of these functions must be freed by slab_mfree(),
 * slab_free_sized() or slab_ch_free(), never by free() or slab_free().
 *
 * With SLAB_DEBUG=Z, or Z for the names size-* or size-large (docs/environment.md), each
 * allocation beyond SLAB_MALLOC_MAX_CACHED is a separate mapping between red zones.
 * slab_mfree(), slab_realloc(), and slab_cache_validate() of any of these caches check them.
 *
 * All functions are MT-safe, fork-safe and cancel-safe, and not async-signal-safe;
 * <slab/slab.h> defines these words. Any thread may free what another thread allocated.
 */
#ifndef SLAB_MALLOC_H
#define SLAB_MALLOC_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest size in bytes that a cache serves; larger ones take whole pages. */
#define SLAB_MALLOC_MAX_CACHED ((size_t)32768)

/* slab_mfree: free memory of the functions of this header. NULL is allowed. libslab reports
 * a pointer to other memory, or to an object of another cache, and does not free it. */
SLAB_API_HOT void slab_mfree(void *ptr);

/* slab_malloc: `size` bytes with undefined contents; size 0 returns a unique pointer to an
 * object of the smallest size. NULL and ENOMEM if there is no memory. */
SLAB_API_HOT void *slab_malloc(size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/* slab_calloc: n * size bytes of zeros. libslab does not write to pages that are fresh from
 * the system, which are zero: above 2 MiB they use memory when the caller touches them. NULL
 * and ENOMEM if there is no memory or the product overflows. */
SLAB_API_HOT void *slab_calloc(size_t n, size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/*
 * slab_realloc: change the size in bytes and keep the contents up to the smaller size.
 * The memory stays in place if the size class (or the pages) allow it; a large allocation
 * as long as it fills half of its former size. ptr NULL means slab_malloc(); size 0 frees
 * and returns NULL. On failure: NULL and ENOMEM, and the old memory is unchanged.
 */
SLAB_API void *slab_realloc(void *ptr, size_t size) SLAB_ATTR_(warn_unused_result);

/* slab_memalign: `size` bytes aligned to `align`, a power of two up to 2 MiB.
 * NULL and EINVAL for another alignment, ENOMEM if there is no memory. */
SLAB_API void *slab_memalign(size_t align, size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/* slab_usable_size: the number of usable bytes at ptr, at least the requested size; 0 for
 * NULL. */
SLAB_API size_t slab_usable_size(const void *ptr);

/* slab_free_sized: slab_mfree() for a caller that knows the requested size. If ptr cannot
 * have that size, libslab reports it and does not free the memory. */
SLAB_API void slab_free_sized(void *ptr, size_t size);

/*
 * Functions that behave like 389-ds's slapi_ch functions: they never return NULL. If there is
 * no memory, or size is 0 or overflows, the process aborts with one line on stderr that has
 * the requested size.
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
/* slab_ch_strdup: returns NULL for NULL, as slapi_ch_strdup() does. */
SLAB_API char *slab_ch_strdup(const char *string) SLAB_ATTR_(warn_unused_result);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_MALLOC_H */
