/* SPDX-License-Identifier: MIT */
/*
 * Objects that readers use without a lock: frees after a grace period, and type-safe
 * caches, with liburcu (https://liburcu.org). A program sets args.rcu of such a cache to the
 * flavour of liburcu that it uses.
 *
 *	#include <urcu/urcu-memb.h>           (or -mb, -qsbr, -bp)
 *	#include <urcu/map/urcu-memb.h>
 *	…
 *	struct slab_cache_args args = {.rcu = &urcu_memb_flavor};
 *
 * There are two methods, and a cache may use both.
 *
 * 1. slab_free_rcu(): the object stays unchanged until all readers that could have found
 * it have left their critical sections; then libslab frees it. Meanwhile libslab does not
 * write to the object. The object needs no struct rcu_head.
 *
 * 2. SLAB_TYPESAFE_BY_RCU: a thread may free an object with slab_free(), and a thread may
 * allocate it again at once, while readers read it. But its memory stays an object of
 * this cache until the readers have left their critical sections. So a reader takes a
 * reference to the object that it found, and then checks that the object is still the
 * one that it looked for:
 *
 *	rcu_read_lock();
 *	again:
 *	entry = lookup(key);                 // may be freed at any moment from here on
 *	if (entry && !get_unless_zero(&entry->refs))
 *		goto again;                  // it was free: look again
 *	if (entry && entry->key != key) {    // it was freed and is another object now
 *		put(entry);
 *		goto again;
 *	}
 *	rcu_read_unlock();                   // the reference holds it
 *
 * Fields that a reader accesses before this check (refs, above) must be valid in a
 * free object, too. So such a cache needs a constructor, which runs once for each
 * object, and the program frees objects in their constructed state.
 * examples/rcu_lookup.c is a complete program. SLUB has this flag under the same name.
 *
 * Readers may read free objects of a type-safe cache. So libslab never poisons or samples
 * them (<slab/debug.h>), and runs the cache's destructor after the grace period.
 *
 * Threads: a thread that calls slab_free_rcu(), or uses a type-safe cache, must be
 * registered with the flavour (rcu_register_thread()), as for call_rcu(). A thread that
 * releases memory of caches may release slabs of any type-safe cache, and must be registered
 * with the flavour of that cache as well: in slab_cache_shrink(), slab_trim() and
 * slab_reclaim(), and in an allocation that finds no memory. libslab registers its control
 * thread with a cache's flavour before it calls a callback of the cache there.
 *
 * Cancellation: libslab calls the flavour's functions with cancellation disabled.
 *
 * Fork: the program calls the flavour's own hooks (call_rcu_before_fork() …) around fork(), or
 * registers them by pthread_atfork(). libslab registers its own hooks when it is loaded, so
 * that they are innermost. liburcu allows a child to go on using a flavour in two cases: the
 * flavour is bp, or no other thread of the parent was registered with it. In a child where no
 * grace period ends, slab_free_rcu() does not wait, and libslab does not reuse the objects;
 * slab_rcu_barrier() and the destruction of such a cache wait forever there.
 */
#ifndef SLAB_RCU_H
#define SLAB_RCU_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_free_rcu: free an object after a grace period. NULL is allowed. A thread may call the
 * function within a read-side critical section. It allocates nothing, so it cannot fail.
 *
 * libslab collects the objects per CPU; one callback of call_rcu() serves all
 * objects of a cache. libslab bounds the number of waiting objects. When 4 MiB of objects wait
 * (at least 4096, at most 65536 objects), a thread that frees more waits for the grace
 * period itself and frees the waiting objects. A thread within a read-side critical section
 * cannot do that, since the grace period waits for it. When four times as much waits, libslab
 * delays such a thread by 0.1 ms for every 128 objects or fewer; a thread outside of sections
 * waits until less waits. In the qsbr flavour a thread that is online counts as within a
 * section.
 *
 * The function reports the same misuse as slab_free(). An object that slab_free() and this function
 * free, in either order, is reported when it returns to its slab, in a cache with debug flags in
 * the call. For a cache without args.rcu the function reports the call and does not free the
 * object.
 * MT-safe, fork-safe (<slab/rcu.h>), cancel-safe, not async-signal-safe.
 */
SLAB_API_SITE void slab_free_rcu(struct slab_cache *cache, void *obj);

/*
 * slab_rcu_barrier: wait until libslab has freed all objects that the program passed to
 * slab_free_rcu() before the call, and all slabs that this cache released before are in the
 * page layer. If the calling thread is online in the qsbr flavour, it passes a quiescent state.
 *
 * Returns 0, or
 *   -EINVAL   the cache was destroyed, or has no args.rcu
 *   -EDEADLK  the caller is within a read-side critical section
 *   -EPERM    CPUs hold some of the objects, and a system call filter that was installed
 *             later refuses membarrier(2) and sched_setaffinity(2)
 * MT-safe, fork-safe (<slab/rcu.h>), cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_rcu_barrier(struct slab_cache *cache);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_RCU_H */
