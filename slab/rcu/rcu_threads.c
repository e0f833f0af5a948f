/* SPDX-License-Identifier: MIT */
/*
 * Registration of libslab's own threads with RCU flavours.
 *
 * Such a thread runs callbacks of caches, and a callback may use the cache's flavour. So the
 * thread registers with that flavour before the callback and unregisters after it.
 */

#include "core/cache.h"
#include "rcu/grace_period.h"

/* The most flavours that a thread is registered with at a time: the callback of one cache may
 * cause the callback of another. liburcu has four flavours. */
#define KNOWN_MAX 4u

/* call_rcu() and callbacks of caches require a thread that is registered with the flavour. */
static __thread bool is_ours;
static __thread const struct rcu_flavor_struct *known[KNOWN_MAX];
static __thread unsigned known_count;

void rcu_this_thread_is_ours(void)
{
	is_ours = true;
}

static bool is_known(const struct rcu_flavor_struct *flavor)
{
	for (unsigned i = 0; i < known_count; i++)
		if (known[i] == flavor)
			return true;
	return false;
}

const struct rcu_flavor_struct *rcu_enter_flavor(const struct rcu_flavor_struct *flavor)
{
	if (!is_ours || is_known(flavor) || known_count == KNOWN_MAX)
		return NULL;
	rcu_functions(flavor)->register_thread();
	known[known_count++] = flavor;
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
	known_count--;
}
