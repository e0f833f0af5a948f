/* SPDX-License-Identifier: MIT */
/*
 * The library's own threads and RCU flavours. Such a thread runs callbacks of caches, which
 * may use the cache's flavour: it is registered with that flavour for as long.
 */
#include <stdbool.h>

#include "core/cache.h"
#include "rcu/grace_period.h"

/* Flavours that a thread is registered with at a time: callbacks of one cache can lead to
 * those of another. liburcu has four. */
#define KNOWN_MAX 4u

/* call_rcu() wants threads that its flavour knows, and so do the callbacks of caches. */
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
	flavor->register_thread();
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
	entered->unregister_thread();
	known_count--;
}
