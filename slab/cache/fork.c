/* SPDX-License-Identifier: MIT */
/*
 * Fork. The thread that forks takes all locks first, so that in the child no lock is held by a
 * thread that does not exist there. prepare() has the order of all locks, and what a thread must
 * not do while it holds one.
 *
 * The thread has all signals blocked while it holds the locks, since a signal handler may fork,
 * too. The lock of the options is not taken: it records the process that holds it, so a child
 * can ignore it.
 *
 * A process with one thread takes no lock: what is locked there, the thread itself has locked when
 * a signal interrupted it, and the handler forks. The child has that thread, too. It returns from
 * the handler and goes on with the interrupted call, so nothing of that is repaired.
 *
 * Lock-free operations need nothing here. A section that did not commit has no effect. A slab that
 * another thread had isolated to allocate or to free stays isolated: the child loses its free
 * objects, but never allocates one twice. So it is with objects between a slab and a LIFO. A thread
 * that isolates slabs for another purpose holds a flush_lock (isolated.h), or records them for the
 * child (isolated.h, defrag.c, release.c, segment.c).
 */
#include <pthread.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "base/own_work.h"
#include "base/publish.h"
#include "base/signals.h"
#include "cache/create.h"
#include "cache/large.h"
#include "control/server.h"
#include "core/count.h"
#include "core/free_map.h"
#include "core/init.h"
#include "core/isolated.h"
#include "core/registry.h"
#include "core/reserve.h"
#include "core/slab.h"
#include "debug/fault.h"
#include "debug/guard.h"
#include "memory/decay.h"
#include "memory/defrag.h"
#include "memory/growth.h"
#include "memory/pressure.h"
#include "pages/free_slabs.h"
#include "pages/topology.h"
#include "rcu/free_rcu.h"
#include "report/track.h"

/* Does the thread hold all locks for its fork? */
static __thread bool locked __attribute__((tls_model("initial-exec")));
/* The mask of the thread that forks, before it blocked signals. Under registry_lock. */
static uint64_t signal_mask;

/*
 * glibc's lock of all streams, a recursive one. glibc takes it over a fork, after the handlers. A
 * thread in fflush(NULL) has it and waits for a stream, whose owner allocates in getline() and may
 * need a lock of libslab. So it comes before these.
 */
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));

static void streams_lock(void)
{
	if (_IO_list_lock)
		_IO_list_lock();
}

static void streams_unlock(void)
{
	if (_IO_list_unlock)
		_IO_list_unlock();
}

/* glibc may have done so already. */
static void streams_after_fork_child(void)
{
	if (_IO_list_resetlock)
		_IO_list_resetlock();
}

/*
 * The order of locks. A thread takes them in this order; prepare() takes them line by line:
 *
 *   0 streams_lock()        glibc's list of streams: only over a fork
 *   1 registry_lock         the list of caches (registry.c)
 *   2 cache->flush_lock     slabs that the holder has isolated (isolated.h), and those that it
 *                           took from CPUs (revoke.c);
 *                           a thread holds the flush_lock of one cache only
 *   3 reserve lock          a cache's list of reserved objects (reserve.c)
 *   4 node->lock            a node's lists and magazines (node.c, debug_objects.c, magazines.c),
 *                           one at a time
 *   5 map_lock              the map of free objects (free_map.c)
 *   6 guard lock            guarded objects (guard_slabs.c)
 *   7 pages_lock            free slabs and segments (pages/lock.c)
 *   8 free_lock             unused struct cache_rcu (rcu_pool.c)
 *   9 publish lock          handlers and settings that a thread replaces (publish.c)
 *  10 slot->lock            a CPU's slot, of engines other than rseq (cpu_cache/locked.c)
 *
 * A thread that holds one of 5 to 10 takes no other lock, except over fork. A thread that holds
 * any lock must not do anything that may call libslab or wait for a thread that does:
 *
 *   - call the application: constructors, destructors, reclaim, isolate, migrate, the
 *     handlers of reports, limits and failures;
 *   - write a report or a note, or symbolize addresses;
 *   - call functions that may allocate, since libslab may replace malloc: pthread_create,
 *     pthread_atfork, dl*, stdio streams, an RCU flavour's functions.
 */
static void prepare(void)
{
	uint64_t mask;

	if (process_has_one_thread())
		return;
	mask = signals_block();
	streams_lock();
	pthread_mutex_lock(&registry_lock);
	for (struct slab_cache *c = registry_first; c; c = c->next)
		flush_lock_urgent(c);
	for (struct slab_cache *c = registry_first; c; c = c->next)
		reserve_lock(c);
	for (struct slab_cache *c = registry_first; c; c = c->next)
		for (unsigned n = 0; n < topology_nodes(); n++)
			pthread_mutex_lock(&c->node[n].lock);
	free_map_lock();
	guard_lock();
	segment_lock();
	rcu_fork_lock();
	for (struct slab_cache *c = registry_first; c; c = c->next)
		rcu_fork_wait(c);
	publish_lock();
	cpu_slots_lock_all();
	signal_mask = mask;
	locked = true;
}

static void unlock_all(void)
{
	locked = false;
	cpu_slots_unlock_all();
	publish_unlock();
	rcu_fork_unlock();
	segment_unlock();
	guard_unlock();
	free_map_unlock();
	for (struct slab_cache *c = registry_first; c; c = c->next) {
		for (unsigned n = 0; n < topology_nodes(); n++)
			pthread_mutex_unlock(&c->node[n].lock);
		reserve_unlock(c);
		pthread_mutex_unlock(&c->flush_lock);
	}
	pthread_mutex_unlock(&registry_lock);
}

static void parent(void)
{
	uint64_t mask = signal_mask;

	if (!locked)
		return;
	unlock_all();
	streams_unlock();
	signals_restore(mask);
}

/* Repair the state of a cache: other threads that used it do not exist in the child. */
static void after_fork_child(struct slab_cache *cache)
{
	pin_after_fork_child(cache);
	release_after_fork_child(cache);
	defrag_after_fork_child(cache);
	purge_after_fork_child(cache);
	cache->waiting = 0;
	for (unsigned n = 0; n < topology_nodes(); n++)
		cache->node[n].waiting = 0;
	rcu_after_fork_child(cache);
}

/* Repair what threads of the parent left that do not exist in the child. */
static void repair(void)
{
	own_work_after_fork_child();
	segment_after_fork_child();
	for (struct slab_cache *c = registry_first; c; c = c->next)
		after_fork_child(c);
	decay_after_fork_child();
	growth_after_fork_child();
	large_after_fork_child();
	fault_after_fork_child();
	pressure_after_fork_child();
}

static void child(void)
{
	const bool was_locked = locked;
	uint64_t mask = signal_mask;
	int cancel = cancel_disable(); /* close() is a cancellation point */

	if (was_locked) {
		unlock_all();
		streams_after_fork_child();
	}
	process_after_fork_child();
	if (was_locked)
		repair();
	count_after_fork_child();
	track_after_fork_child();
	slab_control_after_fork_child();
	cancel_restore(cancel);
	if (was_locked)
		signals_restore(mask);
}

/*
 * glibc drops the handlers of pthread_atfork() once exit() has run the library's destructors. A
 * fork that another thread has begun by then would keep all locks, and exit() waits for the one of
 * the streams. Without an owner the handlers stay, as libslab does.
 */
extern int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
			     void *owner) __attribute__((weak));

static void register_handlers(void)
{
	if (__register_atfork)
		__register_atfork(prepare, parent, child, NULL);
	else
		pthread_atfork(prepare, parent, child);
}

void slab_fork_init(void)
{
	static SLAB_EARLY bool registered;

	if (!__atomic_load_n(&registered, __ATOMIC_RELAXED) &&
	    !__atomic_exchange_n(&registered, true, __ATOMIC_RELAXED)) {
		register_handlers();
		process_known();
	}
}
