/* SPDX-License-Identifier: MIT */
/*
 * Objects that readers use without a lock: frees after a grace period, and type-safe
 * caches, with liburcu (https://liburcu.org). args.rcu names the flavour that the
 * application uses.
 *
 *   #include <urcu/urcu-memb.h>           (or -mb, -qsbr, -bp)
 *   #include <urcu/map/urcu-memb.h>
 *   …
 *   struct slab_cache_args args = {.rcu = &urcu_memb_flavor};
 *
 * There are two methods, and a cache may use both.
 *
 * 1. slab_free_rcu(): the object stays unchanged until all readers that could have found
 *    it have left their critical sections; then it is freed. libslab does not write to it
 *    meanwhile, and it needs no struct rcu_head.
 *
 * 2. SLAB_TYPESAFE_BY_RCU: an object may be freed, with slab_free(), and allocated
 *    again at once, while readers read it. But its memory stays an object of this cache
 *    until they have left. So a reader takes a reference to the object that it found, and
 *    then checks that it is still the object that it looked for:
 *
 *	rcu_read_lock();
 *   again:
 *	entry = lookup(key);                 // may be freed at any moment from here on
 *	if (entry && !get_unless_zero(&entry->refs))
 *		goto again;                  // it was free: look again
 *	if (entry && entry->key != key) {    // it was freed and is another object now
 *		put(entry);
 *		goto again;
 *	}
 *	rcu_read_unlock();                   // the reference holds it
 *
 *    Fields that a reader accesses before this check (refs, above) must be valid in a
 *    free object, too: give the cache a constructor, which runs once for each
 *    object, and free objects in their constructed state. examples/rcu_lookup.c is
 *    a complete program. This is SLUB's flag of the same name.
 *
 * libslab never poisons or samples the objects of a type-safe cache (<slab/debug.h>), since
 * readers may read free objects, and runs its destructor after the grace period. It does not
 * merge caches with args.rcu.
 *
 * Threads: a thread that calls slab_free_rcu(), or uses a type-safe cache, must be
 * registered with the flavour (rcu_register_thread()), as for call_rcu(). A thread that
 * releases memory of caches (slab_cache_shrink(), slab_trim(), slab_reclaim(), an allocation
 * that finds no memory) may release slabs of any type-safe cache, and must be registered
 * with its flavour as well. Callbacks of a cache that run in libslab's own thread find it
 * registered with the cache's flavour.
 *
 * Cancellation: libslab calls the flavour's functions with cancellation disabled.
 *
 * Fork: call the flavour's own hooks (call_rcu_before_fork() …), around fork() or by
 * pthread_atfork(); libslab registers its own when it is loaded, so that they are
 * innermost. liburcu allows children that continue to use it only if no other thread is
 * registered with the flavour, or with the bp flavour. In a child where no grace period
 * ends, slab_free_rcu() does not wait, and libslab does not reuse the objects; there,
 * slab_rcu_barrier() and the destruction of such a cache wait forever.
 */
#ifndef SLAB_RCU_H
#define SLAB_RCU_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_free_rcu: free an object after a grace period. NULL is allowed. The call may be
 * within a read-side critical section. It allocates nothing, so it cannot fail.
 *
 * libslab collects the objects per CPU and slab; one callback of call_rcu() serves all
 * objects of a cache. The number of waiting objects is bounded. When 4 MiB of objects wait
 * (at least 4096, at most 65536 objects), a thread that frees more waits for the grace
 * period itself and frees the waiting objects. Within a read-side critical section it
 * cannot, since the grace period waits for it. So when four times as much waits, the call is
 * delayed there by 0.1 ms for every 64 objects or fewer; outside of sections it waits until
 * less waits. (In the qsbr flavour a thread that is online counts as within a section.)
 *
 * The function reports the same misuse as slab_free(). For a cache without args.rcu it
 * reports an error and does not free the object.
 * MT-safe, fork-safe (see above), cancel-safe, not async-signal-safe.
 */
SLAB_API_HOT void slab_free_rcu(struct slab_cache *cache, void *obj);

/*
 * slab_rcu_barrier: wait until all objects passed to slab_free_rcu() before are freed, and
 * all slabs that this cache released before are in the page layer. A thread that is online
 * in the qsbr flavour passes a quiescent state.
 *
 * Returns 0, or
 *   -EINVAL   no such cache, or one without args.rcu
 *   -EDEADLK  the caller is within a read-side critical section
 * MT-safe, fork-safe (see above), cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_rcu_barrier(struct slab_cache *cache);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_RCU_H */
