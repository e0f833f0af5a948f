/* SPDX-License-Identifier: MIT */
/*
 * Returning memory to the operating system: decay, trim, reclaim, limits, and moving objects
 * together. docs/memory.md shows how to use them.
 *
 * Empty slabs beyond a cache's min_partial go to the page layer at once. libslab returns
 * their memory to the operating system when it was not used for SLAB_DECAY_MS (10000 ms; 0:
 * at once; never: never). The same applies to pages on which no object is in use, within
 * slabs that no thread uses, and to slabs of idle CPUs and caches. So an idle process
 * shrinks to the memory that it uses. libslab's control thread does this, and watches the
 * memory pressure of the machine and of the control group; a server that wants no thread
 * calls slab_maintain().
 *
 * <slab/slab.h> defines the conventions of errors and safety. No function here may be
 * called from a constructor, a destructor, or one of the callbacks reclaim, isolate and
 * migrate; there slab_reclaim() returns 0.
 */
#ifndef SLAB_MEMORY_H
#define SLAB_MEMORY_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_trim: return all unused memory to the operating system at once: slabs of CPUs, empty
 * slabs, free slabs of the page layer, and pages within slabs.
 *
 * Returns the number of bytes returned.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API size_t slab_trim(void);

/*
 * slab_maintain: do the work of the control thread that is due: decay, and reclaim under
 * memory pressure. For servers with SLAB_CONTROL=off, or with their own loop.
 *
 * Returns the milliseconds until the next call is due, or -1: not before an object is freed.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API long slab_maintain(void);

/*
 * slab_reclaim: call the reclaim functions of caches (args.reclaim), after a slab_trim(): of
 * the caches with the most memory first, of similar ones first of the cache that was called
 * least recently, until enough memory was returned to the operating system, or no function
 * frees any more. They run in the calling thread, with no lock of libslab held.
 * Algorithm: as the kernel's shrinkers.
 *
 * @bytes  stop when at least this many were returned
 *
 * Returns the number of bytes returned to the operating system.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API size_t slab_reclaim(size_t bytes);

/*
 * slab_set_limit: limit the memory of the process. SLAB_LIMIT sets the limit at the start.
 *
 * @bytes  most bytes of slabs and large allocations; 0: no limit
 *
 * Allocations beyond it fail with ENOMEM, after libslab took back unused memory and called
 * reclaim functions. A large allocation (<slab/malloc.h>) counts as the pages that it takes,
 * and above 2 MiB as those of its mapping: one page more, or up to its alignment. A limit
 * below what is in use frees nothing; allocations that need more fail until enough was
 * freed.
 *
 * Returns 0, or -EINVAL for less than one slab (65536 bytes), with which no allocation could
 * succeed; the old limit stays.
 *
 * slab_limit: the present limit in bytes; 0: no limit.
 *
 * Both: MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_set_limit(size_t bytes);
SLAB_API size_t slab_limit(void);

/*
 * slab_set_limit_handler: call fn whenever an allocation fails because of a limit, in the
 * thread that allocates. There is at most one handler.
 *
 * @fn   NULL removes the handler. `cache` is the cache whose limit was reached, or NULL for
 *       the limit of the process. fn must not allocate from that cache.
 * @arg  passed to fn
 *
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API void slab_set_limit_handler(void (*fn)(struct slab_cache *cache, size_t limit, void *arg),
				     void *arg);

/*
 * slab_cache_defrag: move objects of sparsely used slabs into denser ones, and return the
 * slabs that become empty. For caches with args.isolate and args.migrate:
 *
 *   isolate(obj, arg)        0: obj can be moved now, and no thread frees or moves it until
 *                            migrate was called. libslab may call it for an object that is
 *                            free, is being freed, or was just allocated and is not
 *                            initialized yet. The callback must detect this (by a reference
 *                            count of zero), so such caches need a constructor, and objects
 *                            that are freed in constructed state.
 *   migrate(from, to, arg)   copies the contents. 0: all pointers lead to `to` now; libslab
 *                            frees `from`, which is in constructed state. Otherwise libslab
 *                            frees `to`, which is unused and in constructed state, and
 *                            `from` stays.
 *
 * Both run with no lock held, in the calling thread. If isolate returned 0, migrate always
 * follows at once, so the program can hold a lock from one to the other. Other threads may
 * use the cache meanwhile. While any slab except the one that is being emptied has a free
 * object, their allocations take no fresh slab and do not fail at the limit. Objects that
 * are in use are not moved; neither are those of slabs with debug flags, and guarded ones
 * (<slab/debug.h>).
 *
 * For readers without locks, `from` is freed like the cache's other objects. In a type-safe
 * cache it is freed at once, and readers revalidate. In other caches with args.rcu it is
 * freed as by slab_free_rcu(): `from` stays unchanged for readers that found it before. The
 * calling thread must be registered with the flavour; it waits for the grace period at the
 * end, unless it is within a read-side critical section.
 *
 * "slabinfo -s" makes the process's control thread do this; slab_cache_destroy() then waits
 * for it, and must not be called with a lock held that the callbacks take.
 * Algorithm: after the proposed "slab movable objects" of SLUB.
 *
 * Returns the number of objects moved, or
 *   -EINVAL   no such cache
 *   -ENOTSUP  the cache lacks the callbacks
 *   -EBUSY    another thread is moving this cache's objects
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API long slab_cache_defrag(struct slab_cache *cache);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_MEMORY_H */
