/* SPDX-License-Identifier: MIT */
/*
 * Allocation by size, as with malloc(), on libslab's caches.
 *
 * The caches size-16 … size-32k serve sizes up to 32 KiB; above 128 bytes, each size is at most
 * 12.5 % larger than the one before. The page layer serves larger sizes. An allocation of up to 8
 * MiB there has a slab of its own, whose size is a power of two. It uses memory only for the pages
 * that the program touches. After the free, the slab keeps its memory for the next allocation until
 * decay returns it (<slab/memory.h>). If that allocation is smaller, the slab may hold more pages
 * than it needs. libslab returns these pages to the operating system if they are more than an
 * eighth of the slab, and all such slabs together hold more than 4 MiB too much. An allocation of
 * more than 8 MiB is a separate mapping, which ends with its free.
 *
 * All memory is aligned to at least 16 bytes. The program frees it by slab_mfree(),
 * slab_free_sized(), slab_ch_free() or slab_free_any() (<slab/pointer.h>), never by free() or
 * slab_free(). Any thread may free what another thread allocated.
 *
 * With SLAB_DEBUG=Z, or Z for the names size-* or size-large (docs/environment.md), each allocation
 * of more than SLAB_MALLOC_MAX_CACHED is a separate mapping between two red zones. slab_mfree() and
 * slab_realloc() check the red zones of the allocation. slab_cache_validate() of any of these
 * caches checks those of all allocations.
 *
 * All functions are MT-safe, fork-safe and cancel-safe, and not async-signal-safe; <slab/slab.h>
 * defines these words.
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
SLAB_API_SITE void slab_mfree(void *ptr);

/* slab_malloc: allocate `size` bytes with undefined contents. For size 0 the function returns
 * a unique pointer to an object of the smallest size. Returns NULL and ENOMEM if there is
 * no memory or the process has reached its limit (<slab/memory.h>). */
SLAB_API_HOT void *slab_malloc(size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/* slab_calloc: allocate n * size bytes of zeros. libslab does not write to pages that are
 * fresh from the system, since they are zero: above 32 KiB such a page uses no memory before
 * the program touches it. Returns NULL and ENOMEM as slab_malloc(), and if the product
 * overflows. */
SLAB_API_HOT void *slab_calloc(size_t n, size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/*
 * slab_realloc: change the size in bytes and keep the contents up to the smaller size. An
 * allocation of up to 32 KiB stays in place if the new size has the same cache. A larger one stays
 * in place if its slab or its mapping can have the new size; for new sizes of up to 8 MiB, only if
 * at least half of it remains in use. Otherwise libslab moves the pages of a mapping, without a
 * copy, and copies everything else. With ptr NULL the function is slab_malloc(). With size 0 it
 * frees the memory and returns NULL.
 *
 * Returns NULL on failure, and the old memory is unchanged; errno is ENOMEM as for slab_malloc(),
 * or EINVAL if ptr is not the start of memory of these functions, which libslab reports.
 */
SLAB_API void *slab_realloc(void *ptr, size_t size) SLAB_ATTR_(warn_unused_result);

/* slab_memalign: allocate `size` bytes, aligned to `align`, a power of two. 16 MiB or
 * more take 16 MiB of address space in front of the memory, which count as large allocation, and
 * `align` bytes more during the call. Returns NULL and ENOMEM as slab_malloc(), or EINVAL if
 * `align` is no power of two. */
SLAB_API void *slab_memalign(size_t align, size_t size) SLAB_ALLOCATOR_(slab_mfree, 1);

/* slab_malloc_from, slab_memalign_from: slab_malloc() and slab_memalign() for a wrapper of them.
 * Call sites and reports show the code address `caller`, such as __builtin_return_address(0)
 * of the wrapper. */
SLAB_API void *slab_malloc_from(size_t size, const void *caller) SLAB_ALLOCATOR_(slab_mfree, 1);
SLAB_API void *slab_memalign_from(size_t align, size_t size, const void *caller)
	SLAB_ALLOCATOR_(slab_mfree, 1);

/* slab_usable_size: the number of bytes at ptr that the program may use, at least the
 * requested size; 0 for NULL. For other memory, and for an address within an allocation, it
 * returns 0, and libslab reports the pointer. */
SLAB_API size_t slab_usable_size(const void *ptr);

/* slab_free_sized: slab_mfree() for a caller that knows the requested size. If `size` is more
 * than slab_usable_size(ptr), libslab reports it and does not free the memory. If it is less than
 * the requested size, libslab frees the memory, and reports it as slab_delete() does. */
SLAB_API_SITE void slab_free_sized(void *ptr, size_t size);

/* Functions that belong together: what one of them allocates, the other one frees. */
enum slab_pair {
	SLAB_PAIR_MALLOC,    /* malloc(), free() and all other functions of this header */
	SLAB_PAIR_NEW,       /* new, delete */
	SLAB_PAIR_NEW_ARRAY, /* new[], delete[] */
};

/* The size of slab_delete() for a caller that does not know it. */
#define SLAB_ANY_SIZE ((size_t)-1)

/*
 * slab_new_from, slab_delete, slab_set_pair: for the operators of C++, slab_malloc_from(), or
 * slab_memalign_from() if `align` is not 0, and slab_mfree().
 *
 * @pair  which operators call. With debug flag U libslab reports memory that functions of another
 *        pair have allocated, also if slab_mfree() frees it
 * @align  the alignment, or 0
 * @size  what is or was requested; for slab_delete() also SLAB_ANY_SIZE. With debug flag F or
 *        SLAB_HARDEN slab_delete() reports another size, with SLAB_HARDEN only one of another cache
 *
 * libslab frees the memory in any case.
 *
 * slab_set_pair: memory of slab_malloc() or slab_memalign() was allocated for this pair, as by an
 * operator new of a C++ library, which calls malloc().
 */
SLAB_API void *slab_new_from(enum slab_pair pair, size_t align, size_t size, const void *caller)
	SLAB_ATTR_(warn_unused_result);
SLAB_API_SITE void slab_delete(void *ptr, enum slab_pair pair, size_t align, size_t size);
SLAB_API_SITE void slab_set_pair(void *ptr, enum slab_pair pair);

/*
 * slab_replace_malloc: declare that malloc() of this process is built on these functions, for a
 * library that defines malloc(). libslab_malloc.so calls it before any other code of the process.
 * From then on:
 *
 *   - libslab's fork handlers are registered, so handlers that are registered later may
 *     allocate: they run outside of libslab's.
 *   - libslab opens no control socket and starts no thread, unless SLAB_CONTROL is set or the
 *     program calls slab_control_fd(): the program knows of no thread and of no descriptors
 *     but its own. After the constructors, libslab opens no file unless it has to report
 *     something. As long as the process has one thread, it makes few system calls at all
 *     (libslab_malloc(7)).
 *   - Slow paths do the work of the control thread that is due: decay and sampling, not the
 *     watch on memory pressure. So free memory returns while the process allocates and frees.
 *
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API void slab_replace_malloc(void);

/* slab_maintain_due: what slow paths do after slab_replace_malloc(), if something is due; else a
 * look at the clock. A library that defines malloc() calls it now and then, since fast paths do
 * not. It keeps errno.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe. */
SLAB_API void slab_maintain_due(void);

/* slab_ch_free, slab_ch_free_string: free *ptr and set it to NULL. ptr NULL and *ptr NULL are
 * allowed. */
SLAB_API void slab_ch_free(void **ptr);
SLAB_API void slab_ch_free_string(char **ptr);

/*
 * Allocation that never fails, like 389-ds's slapi_ch functions: as slab_malloc(), slab_calloc(),
 * slab_realloc() and slab_memalign(). If there is no memory, libslab calls the handler of
 * slab_set_oom_handler() (<slab/nofail.h>); without one, it aborts the process with one line on
 * stderr that has the requested size. If the size is 0 or overflows, or if the alignment is
 * invalid, it does so at once: slab_ch_realloc() does not free.
 */
SLAB_API void *slab_ch_malloc(size_t size) SLAB_ATTR_(malloc, returns_nonnull, warn_unused_result);
SLAB_API void *slab_ch_calloc(size_t n, size_t size)
	SLAB_ATTR_(malloc, returns_nonnull, warn_unused_result);
SLAB_API void *slab_ch_realloc(void *ptr, size_t size)
	SLAB_ATTR_(returns_nonnull, warn_unused_result);
SLAB_API void *slab_ch_memalign(size_t align, size_t size)
	SLAB_ATTR_(malloc, returns_nonnull, warn_unused_result);

/* slab_ch_strdup: copy a string, with slab_ch_malloc(). Returns NULL for NULL, as
 * slapi_ch_strdup(). */
SLAB_API char *slab_ch_strdup(const char *string) SLAB_ATTR_(warn_unused_result);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_MALLOC_H */
