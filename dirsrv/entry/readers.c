/* SPDX-License-Identifier: MIT */
/* Readers of a pool's entries: waiting until they have left, and trimming memory after that. */
#include "internal.h"

#include <slab/memory.h>
#include <slab/rcu.h>

int dirsrv_entry_pool_barrier(struct dirsrv_entry_pool *pool)
{
	/* Also waits for the old copies of moved entries. */
	int error = slab_rcu_barrier(pool->entries);

	if (error)
		return error;
	/* A trim that was requested again waits for another grace period. */
	do
		pool->rcu->barrier();
	while (__atomic_load_n(&pool->trims, __ATOMIC_ACQUIRE));
	return 0;
}

size_t dirsrv_entry_pool_pending(const struct dirsrv_entry_pool *pool)
{
	return __atomic_load_n(&pool->pending, __ATOMIC_RELAXED);
}

bool pool_in_section(const struct dirsrv_entry_pool *pool)
{
	const struct rcu_flavor_struct *rcu = pool->rcu;
	bool reading;

	if (!rcu->read_ongoing())
		return false;
	rcu->thread_offline();
	reading = rcu->read_ongoing();
	rcu->thread_online();
	return reading;
}

void pool_wait_for_readers(struct dirsrv_entry_pool *pool, size_t most)
{
	if (dirsrv_entry_pool_pending(pool) > most && !pool->rcu->read_ongoing())
		pool->rcu->barrier();
}

/* If a thread has requested another trim in the meantime, the objects that it retired are freed
 * later, so this callback queues itself again. */
static void trim(struct rcu_head *head)
{
	struct dirsrv_entry_pool *pool = caa_container_of(head, struct dirsrv_entry_pool, trim);

	if (__atomic_exchange_n(&pool->trims, 0, __ATOMIC_ACQ_REL) > 1)
		pool_trim_later(pool);
	else
		slab_trim();
}

void pool_trim_later(struct dirsrv_entry_pool *pool)
{
	if (__atomic_fetch_add(&pool->trims, 1, __ATOMIC_ACQ_REL) == 0)
		pool->rcu->update_call_rcu(&pool->trim, trim);
}
