/* SPDX-License-Identifier: MIT */
/*
 * The memory functions of 389-ds's plug-in interface, on libslab. They have the prototypes and
 * names of <slapi-plugin.h>, so a file may include both headers, in either order.
 *
 * Memory comes from slab_malloc() and is freed by slapi_ch_free(), slapi_ch_free_string(),
 * slab_mfree() or slab_free_any(), never by free(). The functions that allocate do not fail for
 * want of memory: they call the handler of slab_set_oom_handler() (<slab/nofail.h>), and without
 * one abort the process with one line on stderr. For a size of 0 they write a line to stderr and
 * return NULL. Call sites (debug flag U) are those of the functions' callers.
 *
 * A process has one definition of these functions: the first one in the order in which the
 * system searches its libraries. libslab_dirsrv must come before libslapd there.
 *
 * All functions are MT-safe, fork-safe and cancel-safe, and not async-signal-safe;
 * <slab/slab.h> defines these words.
 */
#ifndef SLAB_DIRSRV_SLAPI_CH_H
#define SLAB_DIRSRV_SLAPI_CH_H

#include <slab/malloc.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* slapi_ch_malloc: `size` bytes with undefined contents. */
SLAB_API char *slapi_ch_malloc(unsigned long size);

/* slapi_ch_calloc: nelem * size bytes of zeros. An overflow aborts the process. */
SLAB_API char *slapi_ch_calloc(unsigned long nelem, unsigned long size);

/* slapi_ch_realloc: change the size, keep the contents; NULL means slapi_ch_malloc(). With size 0
 * it returns the block unchanged. */
SLAB_API char *slapi_ch_realloc(char *block, unsigned long size);

/* slapi_ch_memalign: `size` bytes, aligned to `alignment`, a power of two; another alignment
 * aborts the process. */
SLAB_API char *slapi_ch_memalign(uint32_t size, uint32_t alignment);

/* slapi_ch_strdup: a copy of a string; NULL for NULL. */
SLAB_API char *slapi_ch_strdup(const char *s);

/* slapi_ch_free: free *ptr and set it to NULL; both NULLs are allowed. */
SLAB_API void slapi_ch_free(void **ptr);

/* slapi_ch_free_string: the same for a string. */
SLAB_API void slapi_ch_free_string(char **s);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_SLAPI_CH_H */
