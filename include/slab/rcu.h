/* SPDX-License-Identifier: MIT */
/*
 * Objects that readers may still look at: frees that wait for a grace period, and
 * type-safe caches. With liburcu (https://liburcu.org), in whichever flavour the
 * application uses: args.rcu names it.
 *
 *   #include <urcu/urcu-memb.h>           (or -mb, -qsbr, -bp)
 *   #include <urcu/map/urcu-memb.h>
 *   …
 *   struct slab_cache_args args = {.rcu = &urcu_memb_flavor};
 *
 * There are two ways to be safe from readers, and a cache may use both.
 *
 * 1. slab_free_rcu(): the object stays what it is until all readers that could
 *    have found it have left their critical sections; then it is free. Nothing is
 *    written to it meanwhile, and it needs no struct rcu_head.
 *
 * 2. SLAB_TYPESAFE_BY_RCU: an object may be freed, with slab_free(), and allocated
 *    again at once, while readers look at it; but its memory stays an object of
 *    this cache until they have left. A reader that found an object must therefore
 *    make sure, once it holds it, that it is still the one it looked for:
 *
 *	rcu_read_lock();
 *   again:
 *	entry = lookup(key);                 // may be freed at any moment from here on
 *	if (entry && !get_unless_zero(&entry->refs))
 *		goto again;                  // it was free: look again
 *	if (entry && entry->key != key) {    // it was freed and is somebody else now
 *		put(entry);
 *		goto again;
 *	}
 *	rcu_read_unlock();                   // the reference holds it
 *
 *    What such a reader touches before it is sure (refs, above) must be valid in a
 *    free object, too: give the cache a constructor, which runs once for each
 *    object, and free objects in their constructed state. examples/rcu_lookup.c is
 *    a complete program.
 *
 * A type-safe cache is never poisoned nor sampled (<slab/debug.h>), since readers may look
 * at free objects, and its destructor runs after the grace period. Caches with
 * args.rcu are not merged.
 *
 * Threads: whoever calls slab_free_rcu(), or uses a type-safe cache, must be known
 * to the flavour (rcu_register_thread()), as for call_rcu(). slab_free_rcu() may be
 * called within a read-side critical section. A thread that frees what caches hold
 * (slab_cache_shrink(), slab_trim(), slab_reclaim(), an allocation that finds no memory)
 * may give back slabs of any type-safe cache, and must be known to its flavour as well.
 * Callbacks of a cache that run in libslab's own thread find it registered with the
 * cache's flavour.
 * Signals: not async-signal-safe. Cancellation: as in <slab/slab.h>; the flavour's own
 * functions are called with cancellation disabled.
 *
 * Fork: call the flavour's own hooks (call_rcu_before_fork() …), around fork() or by
 * pthread_atfork(); libslab registers its own when it is loaded, so that they come
 * innermost. liburcu allows children that go on using it only where no other thread is
 * registered with the flavour, or with the bp flavour. In a child where no grace period
 * ends, slab_free_rcu() does not wait, and what it is given is not used again; there,
 * slab_rcu_barrier() and the destruction of such a cache wait for ever.
 */
#ifndef SLAB_RCU_H
#define SLAB_RCU_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_free_rcu: free an object when a grace period is over. NULL is allowed.
 *
 * Objects are gathered per CPU and slab and wait together; one callback serves all
 * of a cache. When 4 MiB of objects wait (at least 4096, at most 65536 of them), a thread that frees
 * more helps: it waits for the grace period and recycles what waited. Within a read-side
 * critical section it cannot, since the grace period waits for it; so when four times as
 * much waits, a thread that frees more there is held up for 0.1 ms for every 64 objects
 * or fewer; outside of sections it waits until less does. (In the qsbr flavour a thread
 * that is online counts as within a section.)
 *
 * What slab_free() reports is reported here. A cache without args.rcu reports, too,
 * and keeps the object.
 */
SLAB_API void slab_free_rcu(struct slab_cache *cache, void *obj);

/*
 * slab_rcu_barrier: wait until everything is free that was given to slab_free_rcu()
 * before, and until what this cache gave up before has gone back to the page layer.
 * Returns 0, or -errno: EINVAL: no cache, or one without args.rcu; EDEADLK: called
 * within a read-side critical section. A thread that is online in the qsbr flavour
 * passes a quiescent state.
 */
SLAB_API int slab_rcu_barrier(struct slab_cache *cache);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_RCU_H */
