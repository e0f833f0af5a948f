/* SPDX-License-Identifier: MIT */
/*
 * Fork holds all locks, so that the child finds none of them locked by a thread it does not
 * have. Their order, and what may not be done under them, stands at prepare().
 *
 * The thread that forks has all signals blocked while it holds locks: its handlers may
 * fork, too. The options have no lock that outlives a process: they note the process that
 * holds it.
 *
 * What needs no lock needs nothing here: sections end with their thread, and a
 * slab that another thread had isolated to allocate or to free stays isolated, so
 * the child loses its free objects, but never gets one twice. A thread that isolates slabs
 * for anything else holds a flush_lock (isolated.h), or records them (isolated.h, defrag.c,
 * release.c, segment.c).
 */
#include <pthread.h>

#include "base/cancel.h"
#include "base/signals.h"
#include "cache/create.h"
#include "cache/large.h"
#include "control/server.h"
#include "core/isolated.h"
#include "core/slab.h"
#include "debug/fault.h"
#include "debug/guard.h"
#include "inspect/counters.h"
#include "memory/decay.h"
#include "memory/defrag.h"
#include "memory/pressure.h"
#include "pages/topology.h"
#include "rcu/free_rcu.h"
#include "registry/count_window.h"
#include "registry/init.h"
#include "registry/registry.h"
#include "registry/reserve.h"
#include "report/track.h"

/* Of the thread that forks; changed under registry_lock. */
static uint64_t signal_mask;

/*
 * The order of locks. A thread takes them in this order; prepare() takes them line by line:
 *
 *   1 registry_lock         the list of caches (registry.c)
 *   2 cache->flush_lock     slabs isolated by the thread that looks at them (isolated.h), and
 *                           those that were taken from CPUs (revoke.c);
 *                           a thread holds that of one cache only
 *   3 reserve lock          a cache's list of reserved objects (reserve.c)
 *   4 map_lock              the map of a validation (validate.c)
 *   5 node->lock            a node's lists (node.c, debug_objects.c), one at a time
 *   6 guard lock            guarded objects (guard_slabs.c)
 *   7 pages_lock            free slabs and segments (segment.c)
 *   8 counters lock         what is attached to caches (counters.c)
 *   9 free_lock             what RCU callbacks use again (rcu_pool.c)
 *  10 slot->lock            a CPU's slot, of engines other than rseq (cpu_cache/locked.c)
 *
 * A thread that holds 6 to 10 takes no other lock, except over fork. Under no lock may a
 * thread do what can come back to libslab or wait for a thread that does:
 *
 *   - call the application: constructors, destructors, reclaim, isolate, migrate, the
 *     handlers of reports, limits and failures;
 *   - write a report or a note, or symbolize addresses;
 *   - call what may allocate where libslab is malloc: pthread_create, pthread_atfork,
 *     dl*, stdio streams, an RCU flavour's functions.
 */
static void prepare(void)
{
	uint64_t mask = signals_block();

	pthread_mutex_lock(&registry_lock);
	for (struct slab_cache *c = registry_first; c; c = c->next)
		flush_lock_urgent(c);
	for (struct slab_cache *c = registry_first; c; c = c->next)
		reserve_lock(c);
	validate_lock();
	for (struct slab_cache *c = registry_first; c; c = c->next)
		for (unsigned n = 0; n < topology_nodes(); n++)
			pthread_mutex_lock(&c->node[n].lock);
	guard_lock();
	segment_lock();
	counters_lock();
	rcu_fork_lock();
	cpu_slots_lock_all();
	signal_mask = mask;
}

static void unlock_all(void)
{
	cpu_slots_unlock_all();
	rcu_fork_unlock();
	counters_unlock();
	segment_unlock();
	guard_unlock();
	validate_unlock();
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

	unlock_all();
	signals_restore(mask);
}

/* Threads that were at something with this cache are gone. */
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

static void child(void)
{
	uint64_t mask = signal_mask;
	int cancel = cancel_disable(); /* it closes files */

	unlock_all();
	process_after_fork_child();
	segment_after_fork_child();
	for (struct slab_cache *c = registry_first; c; c = c->next)
		after_fork_child(c);
	count_after_fork_child();
	decay_after_fork_child();
	large_after_fork_child();
	track_after_fork_child();
	fault_after_fork_child();
	pressure_after_fork_child();
	slab_control_after_fork_child();
	cancel_restore(cancel);
	signals_restore(mask);
}

void slab_fork_init(void)
{
	pthread_atfork(prepare, parent, child);
}
