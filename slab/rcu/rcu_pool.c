/* SPDX-License-Identifier: MIT */
/*
 * Memory for struct cache_rcu. It is reused but never unmapped, since a callback may still be
 * pending when its cache is destroyed.
 */

#include "pages/os.h"
#include "rcu/grace_period.h"

#define PART ((size_t)256)

_Static_assert(sizeof(struct cache_rcu) <= PART, "a part of a page holds it");

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cache_rcu *free_list;

void rcu_pool_put(struct cache_rcu *rcu)
{
	pthread_mutex_lock(&free_lock);
	rcu->next = free_list;
	free_list = rcu;
	pthread_mutex_unlock(&free_lock);
}

/* Map a page and divide it: one page has room for the states of many caches. */
static struct cache_rcu *take_fresh(void)
{
	const size_t bytes = os_page_size();
	char *page = os_map(bytes, 1);

	if (!page)
		return NULL;
	for (size_t at = PART; at < bytes; at += PART)
		rcu_pool_put((struct cache_rcu *)(page + at));
	return (struct cache_rcu *)page;
}

struct cache_rcu *rcu_pool_take(void)
{
	struct cache_rcu *rcu;

	pthread_mutex_lock(&free_lock);
	rcu = free_list;
	if (rcu)
		free_list = rcu->next;
	pthread_mutex_unlock(&free_lock);
	return rcu ? rcu : take_fresh();
}

void rcu_fork_lock(void)
{
	pthread_mutex_lock(&free_lock);
	__atomic_store_n(&rcu_forking, 1, __ATOMIC_SEQ_CST);
}

void rcu_fork_unlock(void)
{
	__atomic_store_n(&rcu_forking, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&free_lock);
}
