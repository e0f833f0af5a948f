/* SPDX-License-Identifier: MIT */
/*
 * Pointers without their cache: for a program with one free function for the memory of libslab,
 * of malloc() and of libraries.
 *
 * The functions take any pointer, and do not read the memory that it leads to. Memory is
 * libslab's if it lies in a slab of a cache or in an allocation of <slab/malloc.h>, of any
 * size. Libraries that contain a copy of libslab of their own (libslab.a) each know their own
 * memory only.
 *
 * All functions are MT-safe, fork-safe and cancel-safe, and not async-signal-safe;
 * <slab/slab.h> defines these words.
 */
#ifndef SLAB_POINTER_H
#define SLAB_POINTER_H

#include <slab/slab.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_owns: is this an address of libslab's memory? The address may lie within an object or
 * between objects, and the object may be free. false for NULL, and for memory that libslab has
 * returned to the system.
 */
SLAB_API_HOT bool slab_owns(const void *ptr);

/*
 * slab_cache_of: the cache whose slab has this address. For memory of slab_malloc() of up to
 * SLAB_MALLOC_MAX_CACHED bytes that is a cache such as size-64.
 *
 * Returns NULL if no slab of a cache is there: for larger memory of slab_malloc(), NULL and all
 * memory that is not libslab's. The result is valid as long as the cache.
 */
SLAB_API struct slab_cache *slab_cache_of(const void *ptr);

/*
 * slab_free_any: free an object of any cache, or memory of slab_malloc() and related functions,
 * as slab_free() and slab_mfree() do.
 *
 * libslab reports misuse as those functions do, and does not free the memory. It also reports a
 * pointer that is not a multiple of 8. Another pointer into an object of a cache is reported if
 * frees are checked: with debug flags, in sampled objects, and with SLAB_HARDEN_FREE. The call does
 * not check that the object has the expected type: where the cache is known, slab_free() does.
 * The free function of a program whose strings come from libslab and from libraries:
 *
 *	if (!slab_free_any(string))
 *		free(string);
 *
 * Returns false if the memory is not libslab's: the function did nothing, and the caller may
 * pass the pointer to another allocator. Otherwise true: ptr was NULL, or libslab has freed the
 * memory or reported the pointer. A pointer that was freed before is not libslab's any more if
 * libslab has returned its memory to the system, such as that of an allocation of several MiB.
 */
SLAB_API_SITE bool slab_free_any(void *ptr);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_POINTER_H */
