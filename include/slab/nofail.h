/* SPDX-License-Identifier: MIT */
/*
 * Allocations that never fail, for servers that cannot continue without memory, and the
 * handler that the program may set for the case that there is none.
 *
 * When such an allocation finds no memory, libslab first does what it does for every allocation:
 * it takes back free memory, calls reclaim functions, and uses the cache's reserve. If that is
 * not enough, it calls the handler. The handler may free memory and have the allocation tried
 * again, or end the process. Without a handler, or if the handler gives up, libslab writes one
 * line to stderr and aborts the process:
 *
 *	libslab: slab_alloc_nofail(entry, 128 bytes) failed: the cache has reached its limit
 *
 * These allocations never fail: slab_alloc_nofail(); the function with the suffix _nofail that
 * SLAB_DEFINE_CACHE() defines (<slab/define.h>); slab_ch_malloc() and related functions
 * (<slab/malloc.h>); and the creation of a cache with SLAB_PANIC.
 *
 * All functions are MT-safe, fork-safe and cancel-safe. slab_set_oom_handler() is not
 * async-signal-safe; slab_alloc_nofail() is so as slab_alloc() is. <slab/slab.h> defines these
 * words.
 */
#ifndef SLAB_NOFAIL_H
#define SLAB_NOFAIL_H

#include <slab/slab.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An allocation that has found no memory, for slab_set_oom_handler(). */
struct slab_oom {
	size_t struct_size;   /* sizeof(struct slab_oom) of this library: grows at the end */
	const char *function; /* of libslab: "slab_alloc_nofail" */
	const char *cache;    /* name of the cache; NULL: memory by size */
	const char *reason;   /* "out of memory", or which limit has been reached */
	size_t size;          /* bytes that were requested */
	unsigned long tries;  /* calls of the handler for this allocation before this one */
};

/*
 * slab_set_oom_handler: set the function that libslab calls when an allocation that must not
 * fail finds no memory. There is at most one handler; the function replaces it.
 *
 * @handler  NULL removes the handler. It runs in the thread that allocates, possibly in several
 *           threads at once, with no lock of libslab held. It returns true to try the allocation
 *           again, for instance after it freed an emergency buffer, and false to let libslab
 *           abort the process. It may end the process itself, but must not leave by longjmp()
 *           or an exception. An allocation within it that must not fail, and does, aborts the
 *           process.
 * @arg      passed to the handler
 *
 * Another thread may still be in a call of the previous handler when the function returns. So a
 * library with a handler must stay loaded. The child of a fork has its parent's handler.
 */
SLAB_API void slab_set_oom_handler(bool (*handler)(const struct slab_oom *oom, void *arg),
				   void *arg);

/* slab_alloc_nofail: slab_alloc() that never returns NULL. errno is unchanged. For a cache that
 * was destroyed, libslab aborts the process without calling the handler. */
SLAB_API_HOT void *slab_alloc_nofail(struct slab_cache *cache) SLAB_ALLOCATOR_(slab_free, 2)
	SLAB_ATTR_(returns_nonnull);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_NOFAIL_H */
