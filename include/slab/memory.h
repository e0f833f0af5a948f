/* SPDX-License-Identifier: MIT */
/*
 * Returning memory to the operating system: decay, trim, reclaim, limits, and moving objects
 * together. docs/memory.md shows how to use them.
 *
 * A cache keeps its empty slabs until it has not needed them for a while, or until another cache
 * grows. Then they go to the page layer of the process, but for min_partial of each shard. libslab
 * returns memory to the operating system when no thread used it for SLAB_DECAY_MS milliseconds
 * (10000 by default; 0: at once; never: not by time). This applies to free slabs of the page layer,
 * to empty slabs, to objects that CPUs hold of idle caches, and to pages without an object in use
 * within slabs. So an idle process shrinks to the memory that it uses; after
 * that, libslab does not wake it any more. libslab does not return pages within slabs of type-safe
 * caches, or of caches with a constructor or destructor, since free objects there have contents.
 * libslab's control thread does this work, and watches the memory pressure of the machine and of
 * the control group. A program without this thread calls slab_maintain().
 *
 * <slab/slab.h> defines the conventions of errors and safety. A program must not call these
 * functions from a constructor, a destructor, or one of the callbacks reclaim, isolate and migrate.
 * slab_reclaim() returns 0 in a reclaim function and in a destructor.
 */
#ifndef SLAB_MEMORY_H
#define SLAB_MEMORY_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_trim: return all unused memory to the operating system at once, whatever SLAB_DECAY_MS is.
 * The function returns the free objects of CPUs to their slabs. Then it returns empty slabs, free
 * slabs of the page layer, and pages within slabs on which no object is in use.
 *
 * Returns the number of bytes that it returned to the operating system.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API size_t slab_trim(void);

/*
 * slab_maintain: do the work of the control thread that is due: decay, and reclaim under memory
 * pressure. The function is for programs with SLAB_CONTROL=off, or with their own loop. It calls
 * reclaim functions in the calling thread. A program that calls slab_control_dispatch() needs no
 * slab_maintain().
 *
 * Returns the milliseconds until the next call is due, or -1: no call is due before the program
 * frees an object or creates a cache with args.reclaim. Once exit() has begun, the function does
 * nothing and returns -1.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API long slab_maintain(void);

/*
 * slab_reclaim: return memory of caches whose objects the program can create again (args.reclaim).
 * The function first does what slab_trim() does. Then it calls reclaim functions until libslab has
 * returned enough memory to the operating system, or no function frees any more objects. It begins
 * with the caches that have the most memory; of caches with similar memory it calls the one first
 * that it called least recently. Reclaim functions run in the calling thread, with no lock of
 * libslab held.
 * Algorithm: as the kernel's shrinkers.
 *
 * @bytes  the function stops when it has returned at least this number of bytes
 *
 * Returns the number of bytes returned to the operating system.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API size_t slab_reclaim(size_t bytes);

/*
 * slab_set_limit: limit the memory of the process. SLAB_LIMIT sets the limit at the start.
 *
 * @bytes  the most bytes of slabs and large allocations; 0: no limit
 *
 * When an allocation would exceed the limit, libslab takes back unused memory and calls reclaim
 * functions. If that is not enough, the allocation fails with ENOMEM. Free memory that waits for
 * its decay does not count, nor do libslab's own tables. A large allocation (<slab/malloc.h>)
 * counts as its pages. One of more than 8 MiB counts as the pages of its mapping: a page more, or
 * as many as its alignment needs. A limit below the memory in use frees nothing; allocations that
 * need more memory fail until the program has freed enough.
 *
 * Returns 0, or -EINVAL for less than the smallest slab (16384 bytes), since no allocation could
 * succeed; the old limit stays.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_set_limit(size_t bytes);

/* slab_limit: the present limit in bytes of slab_set_limit(); 0: no limit. libslab reads SLAB_LIMIT
 * when it is first used, for instance to create a cache; before that, the function returns 0.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe. */
SLAB_API size_t slab_limit(void);

/*
 * slab_set_limit_handler: set a function that libslab calls whenever an allocation fails because of
 * a limit. There is at most one handler; the function replaces it.
 *
 * @fn   NULL removes the handler. fn runs in the thread that allocates, possibly in several threads
 *       at once, with no lock of libslab held. `cache` is the cache whose limit was reached, or
 *       NULL for the limit of the process. `text` is the report that libslab has written, valid
 *       until fn returns, or NULL. fn must not allocate from that cache. libslab does not call it
 *       for an allocation that fails within fn, or that takes an object of the cache's reserve.
 * @arg  passed to fn
 *
 * libslab also calls fn when the process has reached SLAB_SOFT_LIMIT, once a second at most, and
 * before any allocation fails: `cache` and `text` are NULL, and `limit` is the soft limit.
 *
 * With and without a handler, libslab reports at most once a minute who holds the memory, when an
 * allocation fails because of a limit or because the system refuses memory: the largest caches, and
 * the largest sites if a heap profile runs. It writes the report to the file of SLAB_LOG, or to
 * stderr. It reports no failure that slab_set_fail() causes, and no request of 1 TiB or more.
 *
 * Another thread may still be in a call of the previous handler when the function returns. So a
 * library with a handler must stay loaded.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API void slab_set_limit_handler(void (*fn)(struct slab_cache *cache, size_t limit,
						const char *text, void *arg),
				     void *arg);

/*
 * slab_cache_defrag: move objects of sparsely used slabs into denser ones, and return the slabs
 * that become empty. For caches with args.isolate and args.migrate:
 *
 *   isolate(obj, arg)        returns 0 if obj can be moved now; then no thread may free or
 *                            move it until libslab has called migrate. For any other value
 *                            obj stays. libslab may call isolate for an object that is free,
 *                            is being freed, or was just allocated and is not initialized
 *                            yet. The callback must detect this, for instance by a reference
 *                            count of zero. So such a cache needs a constructor, and the
 *                            program frees objects in their constructed state.
 *   migrate(from, to, arg)   copies the contents. It returns 0 when all pointers lead to
 *                            `to`, and `from` is in its constructed state; libslab then frees
 *                            `from`. If it returns another value, `to` must be in its
 *                            constructed state; libslab then frees `to`, and `from` stays.
 *
 * Both run in the calling thread, with no lock of libslab held. If isolate returned 0, libslab
 * always calls migrate at once, so the program can hold a lock from one to the other. Other threads
 * may use the cache meanwhile. While any slab except the one that is being emptied has a free
 * object, their allocations take no fresh slab and do not fail at the limit. libslab does not move
 * objects of slabs with debug flags, and guarded objects (<slab/debug.h>).
 *
 * Readers without locks may still use `from`. In a type-safe cache libslab frees `from` at once,
 * and readers revalidate. In other caches with args.rcu libslab frees it as slab_free_rcu() does:
 * `from` stays unchanged for readers that found it before. The calling thread must be registered
 * with the flavour. It waits for a grace period at the end, unless it is within a read-side
 * critical section.
 *
 * "slabinfo -s" makes the process's control thread move objects. slab_cache_destroy() waits until
 * it is done; so a thread that destroys the cache must not hold a lock that the callbacks take.
 * Algorithm: after the proposed "slab movable objects" of SLUB.
 *
 * Returns the number of objects moved, or
 *   -EINVAL   the cache was destroyed
 *   -ENOTSUP  the cache lacks the callbacks
 *   -EBUSY    another thread is moving this cache's objects
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API long slab_cache_defrag(struct slab_cache *cache);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_MEMORY_H */
