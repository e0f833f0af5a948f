/* SPDX-License-Identifier: MIT */
/*
 * Registration of libslab's own threads with RCU flavours.
 *
 * Such a thread runs callbacks of caches, and a callback may use the cache's flavour. So the
 * thread registers with that flavour before the callback and unregisters after it.
 */

#include "core/cache.h"
#include "rcu/free_rcu.h"
#include "rcu/grace_period.h"

/* call_rcu() and callbacks of caches require a thread that is registered with the flavour. NULL: it
 * is no thread of libslab. */
static __thread struct rcu_thread *ours;

void rcu_this_thread_is_ours(struct rcu_thread *thread)
{
	ours = thread;
}

static bool is_known(const struct rcu_flavor_struct *flavor)
{
	for (unsigned i = 0; i < ours->count; i++)
		if (ours->known[i] == flavor)
			return true;
	return false;
}

const struct rcu_flavor_struct *rcu_enter_flavor(const struct rcu_flavor_struct *flavor)
{
	if (!ours || is_known(flavor) || ours->count == RCU_KNOWN_MAX)
		return NULL;
	rcu_functions(flavor)->register_thread();
	ours->known[ours->count++] = flavor;
	return flavor;
}

const struct rcu_flavor_struct *rcu_enter(const struct slab_cache *cache)
{
	return cache->rcu ? rcu_enter_flavor(cache->rcu->flavor) : NULL;
}

void rcu_leave(const struct rcu_flavor_struct *entered)
{
	if (!entered)
		return;
	rcu_functions(entered)->unregister_thread();
	ours->count--;
}
