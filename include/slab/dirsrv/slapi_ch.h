/* SPDX-License-Identifier: MIT */
/*
 * The memory functions of 389-ds's plug-in interface. Each calls the slab_ch_* function of
 * the same name (<slab/malloc.h>). They never return NULL: if there is no memory, and for a
 * size of 0, the process aborts with one line on stderr that has the requested size. The
 * frees set the caller's pointer to NULL. Free this memory by slapi_ch_free(),
 * slapi_ch_free_string() or slab_mfree(), never by free().
 *
 * Safety: as in <slab/malloc.h>.
 */
#ifndef SLAB_DIRSRV_SLAPI_CH_H
#define SLAB_DIRSRV_SLAPI_CH_H

#include <slab/malloc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* slapi_ch_malloc: `size` bytes with undefined contents. */
static inline void *slapi_ch_malloc(size_t size)
{
	return slab_ch_malloc(size);
}

/* slapi_ch_calloc: n * size bytes of zeros. */
static inline void *slapi_ch_calloc(size_t n, size_t size)
{
	return slab_ch_calloc(n, size);
}

/* slapi_ch_realloc: change the size, keep the contents; NULL means slapi_ch_malloc(). */
static inline void *slapi_ch_realloc(void *block, size_t size)
{
	return slab_ch_realloc(block, size);
}

/* slapi_ch_memalign: `size` bytes, aligned to `align`, a power of two up to 2 MiB. */
static inline void *slapi_ch_memalign(size_t align, size_t size)
{
	return slab_ch_memalign(align, size);
}

/* slapi_ch_strdup: a copy of a string; NULL for NULL. */
static inline char *slapi_ch_strdup(const char *string)
{
	return slab_ch_strdup(string);
}

/* slapi_ch_free: free *block and set it to NULL; both NULLs are allowed. */
static inline void slapi_ch_free(void **block)
{
	slab_ch_free(block);
}

/* slapi_ch_free_string: the same for a string. */
static inline void slapi_ch_free_string(char **string)
{
	slab_ch_free_string(string);
}

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_SLAPI_CH_H */
