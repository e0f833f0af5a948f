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
 * Lock-free operations need nothing here. A section that did not commit has no effect. The child
 * opens the arrays that other threads had closed (closing.c). Objects that another thread moves
 * between a slab, a magazine and an array, are lost to the child, which never allocates them: a
 * batch for each thread that refills or flushes an array just then. So are, until the child
 * destroys the cache, a slab that a thread has just taken from the page layer, and one in which it
 * runs constructors. A thread that takes slabs off the lists for another purpose holds flush_lock,
 * or records them for the child (flush_lock.h, defrag.c, release.c).
 */

#include "base/cancel.h"
#include "base/compiler.h"
#include "base/own_work.h"
#include "base/publish.h"
#include "base/signals.h"
#include "cache/create.h"
#include "cache/large.h"
#include "control/server.h"
#include "core/count.h"
#include "core/flush_lock.h"
#include "core/init.h"
#include "core/registry.h"
#include "core/reserve.h"
#include "core/shard.h"
#include "core/slab.h"
#include "debug/fault.h"
#include "debug/guard.h"
#include "memory/defrag.h"
#include "memory/turn.h"
#include "pages/free_slabs.h"
#include "pages/idle.h"
#include "pages/topology.h"
#include "percpu/closing.h"
#include "percpu/scratch.h"
#include "rcu/free_rcu.h"
#include "report/track.h"

/* Does the thread hold all locks for its fork? */
static __thread bool locked __attribute__((tls_model("initial-exec")));
/* The mask of the thread that forks, before it blocked signals. Under registry_lock. */
static uint64_t signal_mask;

/*
 * glibc's lock of all streams, a recursive one. glibc takes it over a fork, after the handlers. A
 * thread in fflush(NULL) has it and waits for a stream; another thread has that one locked,
 * allocates in getline(), and may need a lock of libslab. So it comes before these.
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

/* Locks 2 to 6 of the order below. */
static void caches_lock(void)
{
	for (struct slab_cache *c = registry_first; c; c = c->next)
		GUARD_STEP(fork_flush_lock, flush_lock_urgent(c));
	for (struct slab_cache *c = registry_first; c; c = c->next)
		GUARD_STEP(fork_reserve_lock, reserve_lock(c));
	for (struct slab_cache *c = registry_first; c; c = c->next) {
		for (unsigned n = 0; n < topology_nodes(); n++)
			GUARD_STEP(fork_node_lock, pthread_mutex_lock(&c->node[n].lock));
		shard_each (shard, c)
			GUARD_STEP(fork_shard_lock, cpu_lock_take(&shard->lock));
		for (unsigned n = 0; n < topology_nodes(); n++)
			GUARD_STEP(fork_depot_lock, cpu_lock_take(&c->node[n].depot.lock));
	}
}

static void caches_unlock(void)
{
	for (struct slab_cache *c = registry_first; c; c = c->next) {
		for (unsigned n = 0; n < topology_nodes(); n++)
			cpu_lock_drop(&c->node[n].depot.lock);
		shard_each (shard, c)
			cpu_lock_drop(&shard->lock);
		for (unsigned n = 0; n < topology_nodes(); n++)
			pthread_mutex_unlock(&c->node[n].lock);
		reserve_unlock(c);
		pthread_mutex_unlock(&c->flush_lock);
	}
}

/*
 * The order of locks. A thread takes them in this order; prepare() takes them line by line:
 *
 *   0 streams_lock()        glibc's list of streams: only over a fork
 *   1 registry_lock         the list of caches (registry.c)
 *   2 cache->flush_lock     closing arrays, gates, slabs off the lists (flush_lock.h); a thread
 *                           holds the flush_lock of one cache only
 *   3 reserve lock          a cache's list of reserved objects (reserve.c)
 *   4 node->lock            a node's debug slabs (debug_objects.c, debug_slabs.c), one at a time
 *   5 shard->lock           slabs and their maps (shard.c, objects_take.c, objects_put.c): of one
 *                           cache, two at most, in the order of their addresses
 *   6 depot->lock           the magazines of a node (magazines.c), one at a time
 *   7 guard lock            guarded objects (guard_slabs.c)
 *   8 pages_lock            free slabs and segments (pages/lock.c)
 *   9 free_lock             unused struct cache_rcu (rcu_pool.c)
 *  10 publish lock          handlers and settings that a thread replaces (publish.c)
 *  11 areas_lock            the places of arrays (cpu_cache/area.c)
 *  12 array->lock           a CPU's array, of the engine mutex (cpu_cache/mutex.c)
 *
 * The lock of closing.c's buffer is taken with a flush_lock only, so it is free here. No thread
 * waits for the lock of a scratch (percpu/scratch.h), to which none of this applies. A thread that
 * holds one of 7 to 12 takes no other lock, except over fork. A thread that holds any lock must not
 * do anything that may call libslab or wait for a thread that does:
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
	GUARD_STEP(fork_registry_lock, pthread_mutex_lock(&registry_lock));
	caches_lock();
	GUARD_STEP(fork_guard_lock, guard_lock());
	GUARD_STEP(fork_segment_lock, segment_lock());
	GUARD_STEP(fork_rcu_lock, rcu_fork_lock());
	for (struct slab_cache *c = registry_first; c; c = c->next)
		rcu_fork_wait(c);
	GUARD_STEP(fork_publish_lock, publish_lock());
	GUARD_STEP(fork_arrays_lock, cpu_arrays_lock_all());
	signal_mask = mask;
	locked = true;
}

static void unlock_all(void)
{
	locked = false;
	cpu_arrays_unlock_all();
	publish_unlock();
	rcu_fork_unlock();
	segment_unlock();
	guard_unlock();
	caches_unlock();
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
	GUARD_STEP(fork_releases, release_after_fork_child(cache));
	GUARD_STEP(fork_purges, purge_after_fork_child(cache));
	GUARD_STEP(fork_defrags, defrag_after_fork_child(cache));
	GUARD_STEP(fork_closing, closing_after_fork_child(cache));
	cache->waiting = 0;
	GUARD_STEP(fork_rcu, rcu_after_fork_child(cache));
}

/* Repair what threads of the parent left that do not exist in the child. */
static void repair(void)
{
	own_work_after_fork_child();
	segment_after_fork_child();
	for (struct slab_cache *c = registry_first; c; c = c->next)
		after_fork_child(c);
	scratch_after_fork_child();
	turns_after_fork_child();
	decay_clear_after_fork();
	large_after_fork_child();
	fault_after_fork_child();
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
 * the streams. Without a library the handlers stay, as libslab does.
 */
extern int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
			     void *library) __attribute__((weak));

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
