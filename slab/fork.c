/* SPDX-License-Identifier: MIT */
/*
 * Fork: all locks are held over it, in their order, so that the child finds
 * none of them locked by a thread it does not have.
 *
 * What needs no lock needs nothing here: sections end with their thread, and a
 * slab that another thread had in hand at that moment stays in its hand, so the
 * child loses its free objects, never gets one twice.
 */
#include "control_socket.h"
#include "fault.h"
#include "guard.h"
#include "root.h"

static void prepare(void)
{
	sizes_lock();
	pthread_mutex_lock(&registry_lock);
	for (struct slab_cache *c = registry_first; c; c = c->next)
		pthread_mutex_lock(&c->flush_lock);
	validate_lock();
	for (struct slab_cache *c = registry_first; c; c = c->next)
		for (unsigned n = 0; n < topology_nodes(); n++)
			pthread_mutex_lock(&c->node[n].lock);
	guard_lock();
	segment_lock();
	cpu_slots_lock_all();
}

static void unlock_all(void)
{
	cpu_slots_unlock_all();
	segment_unlock();
	guard_unlock();
	validate_unlock();
	for (struct slab_cache *c = registry_first; c; c = c->next) {
		for (unsigned n = 0; n < topology_nodes(); n++)
			pthread_mutex_unlock(&c->node[n].lock);
		pthread_mutex_unlock(&c->flush_lock);
	}
	pthread_mutex_unlock(&registry_lock);
	sizes_unlock();
}

static void child(void)
{
	unlock_all();
	root_after_fork_child();
	track_after_fork_child();
	fault_after_fork_child();
	slab_control_after_fork_child();
}

void slab_fork_init(void)
{
	pthread_atfork(prepare, unlock_all, child);
}
