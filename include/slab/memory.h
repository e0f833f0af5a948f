/* SPDX-License-Identifier: MIT */
/*
 * Memory that comes back: giving free memory to the operating system, by and by or at
 * once, asking caches to free what they can, limits, reserves, and moving objects
 * together.
 *
 * Empty slabs beyond a cache's min_partial go to the page layer at once; their memory
 * goes to the operating system when nobody has used it for SLAB_DECAY_MS (10000 ms;
 * 0: at once, never: never). The same happens to pages of which no object is in use
 * within slabs that nobody works on, and to slabs that idle CPUs and caches hold: a process
 * that does nothing shrinks to what it uses. libslab's control thread does this, and
 * watches the memory pressure of the machine and of the control group; a server that
 * wants no thread calls slab_maintain().
 *
 * Threads: any. Signals: not async-signal-safe. Cancellation: as in <slab/slab.h>. No
 * function here is to be called from a constructor, a destructor, or one of the callbacks
 * reclaim, isolate and migrate.
 */
#ifndef SLAB_MEMORY_H
#define SLAB_MEMORY_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_trim: give all memory back that is in nobody's use, at once: what CPUs hold, empty
 * slabs, free slabs of the page layer, pages within slabs. Returns the bytes given back.
 */
SLAB_API size_t slab_trim(void);

/*
 * slab_maintain: what the control thread does by itself: decay, and memory pressure.
 * Returns after how many milliseconds it wants to be called again, or -1: not before
 * something was freed. For servers with SLAB_CONTROL=off, or a loop of their own.
 */
SLAB_API long slab_maintain(void);

/*
 * slab_reclaim: make caches free what they can (args.reclaim), those with the most memory
 * first, and of like ones those that were not asked for the longest time, until at least
 * `bytes` went back to the operating system, or none can free any more. Returns the bytes
 * that went back. Callbacks run in the calling thread, and no lock of libslab is held.
 */
SLAB_API size_t slab_reclaim(size_t bytes);

/*
 * slab_set_limit: bytes of slabs and large allocations of the whole process at most, 0:
 * no limit; SLAB_LIMIT sets it at the start. Allocations that would need more fail with
 * ENOMEM, after memory that nobody uses was taken back and reclaim callbacks were asked.
 * A large allocation (<slab/malloc.h>) counts as the pages that it takes, and above 2 MiB
 * as those of its mapping: one page more, or up to its alignment. A limit below what is in
 * use takes nothing away; allocations that need more fail until enough has been freed.
 * Returns 0, or -EINVAL for less than one slab (65536 bytes), with which no allocation could
 * succeed; the old limit stays. slab_limit: the present limit.
 */
SLAB_API int slab_set_limit(size_t bytes);
SLAB_API size_t slab_limit(void);

/*
 * slab_set_limit_handler: fn is called, in the thread that allocates, each time that an
 * allocation fails because of the limit of a cache, or of the process (cache is NULL);
 * NULL: nobody. It must not allocate from that cache. At most one at a time.
 */
SLAB_API void slab_set_limit_handler(void (*fn)(struct slab_cache *cache, size_t limit, void *arg),
				     void *arg);

/*
 * slab_cache_defrag: move objects of sparsely used slabs into denser ones, and give the
 * slabs that got empty back. For caches with args.isolate and args.migrate:
 *
 *   isolate(obj, arg)        0: obj may be moved now, and nobody frees or moves it until
 *                            migrate was called. It may be called for an object that is
 *                            being freed, or was freed, at this moment, or that its new
 *                            user has not initialised yet: it must find that out (a
 *                            reference count that is zero), so such caches need a
 *                            constructor and objects that are freed in constructed state.
 *   migrate(from, to, arg)   copy what is needed; 0: everything points to `to` now, and
 *                            `from`, in constructed state, will be freed. Otherwise `to`,
 *                            in constructed state, is freed, unused, and `from` stays.
 *
 * Both run with no lock held, in the calling thread. When isolate returned 0, migrate
 * follows at once and in any case, so a lock may be held from the one to the other.
 * Meanwhile other threads use the cache as ever. They are never given a fresh slab, nor
 * refused an object for its limit, as long as another slab than the one that is being
 * emptied has a free object. Objects in use are left alone; so are those of slabs with
 * debug letters, and guarded ones (<slab/debug.h>).
 *
 * Readers without locks: `from` is freed as the cache's objects are. In a type-safe cache
 * that is at once, and readers revalidate; in others with args.rcu it is as by
 * slab_free_rcu(), `from` stays what it is for those who found it before, and the calling
 * thread, which must be known to the flavour, waits for the grace period in the end,
 * unless it is within a read-side critical section.
 *
 * Returns how many objects were moved, or -errno: EINVAL: no cache, ENOTSUP: one without
 * these callbacks, EBUSY: another thread is moving this cache's objects. "slabinfo -s"
 * lets the process's control thread do so; slab_cache_destroy() then waits for that, and
 * must not be called with a lock held that the callbacks take.
 */
SLAB_API long slab_cache_defrag(struct slab_cache *cache);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_MEMORY_H */
