/* SPDX-License-Identifier: MIT */
/*
 * Fork: all locks are held over it, in their order, so that the child finds
 * none of them locked by a thread it does not have.
 *
 * What needs no lock needs nothing here: sections end with their thread, and a
 * slab that another thread had in hand to allocate or to free stays in its hand, so
 * the child loses its free objects, never gets one twice. Whoever has slabs in hand
 * for anything else holds a flush_lock (hand.h), or tells what they are (defrag.c,
 * release.c).
 */
#include "control_socket.h"
#include "counters.h"
#include "decay.h"
#include "defrag.h"
#include "fault.h"
#include "guard.h"
#include "hand.h"
#include "pin.h"
#include "pressure.h"
#include "cache_rcu.h"
#include "reserve.h"
#include "root.h"

static void prepare(void)
{
	sizes_lock();
	pthread_mutex_lock(&registry_lock);
	for (struct slab_cache *c = registry_first; c; c = c->next) {
		hand_lock_first(c);
		reserve_lock(c);
	}
	validate_lock();
	segment_discard_lock();
	for (struct slab_cache *c = registry_first; c; c = c->next)
		for (unsigned n = 0; n < topology_nodes(); n++)
			pthread_mutex_lock(&c->node[n].lock);
	guard_lock();
	segment_lock();
	counters_lock();
	rcu_fork_lock();
	cpu_slots_lock_all();
}

static void unlock_all(void)
{
	cpu_slots_unlock_all();
	rcu_fork_unlock();
	counters_unlock();
	segment_unlock();
	guard_unlock();
	segment_discard_unlock();
	validate_unlock();
	for (struct slab_cache *c = registry_first; c; c = c->next) {
		for (unsigned n = 0; n < topology_nodes(); n++)
			pthread_mutex_unlock(&c->node[n].lock);
		reserve_unlock(c);
		pthread_mutex_unlock(&c->flush_lock);
	}
	pthread_mutex_unlock(&registry_lock);
	sizes_unlock();
}

/* Threads that were at something with this cache are gone. */
static void after_fork_child(struct slab_cache *cache)
{
	pin_after_fork_child(cache);
	release_after_fork_child(cache);
	defrag_after_fork_child(cache);
	cache->waiting = 0;
	rcu_after_fork_child(cache);
}

static void child(void)
{
	unlock_all();
	root_after_fork_child();
	for (struct slab_cache *c = registry_first; c; c = c->next)
		after_fork_child(c);
	decay_after_fork_child();
	track_after_fork_child();
	fault_after_fork_child();
	pressure_after_fork_child();
	slab_control_after_fork_child();
}

void slab_fork_init(void)
{
	pthread_atfork(prepare, unlock_all, child);
}
