/* SPDX-License-Identifier: MIT */
/* Pools: the caches from which the objects of entries are allocated. */
/* This header must come before the other headers of liburcu, which hide the flavours' names. */
#include <urcu/urcu-memb.h>

#include "internal.h"

#include <errno.h>
#include <slab/malloc.h>
#include <slab/rcu.h>
#include <slab/stats.h>
#include <stdio.h>

#define POOL_NAME_MAX (SLAB_MAX_NAME - 10)

/* --- fork ----------------------------------------------------------------------------- */

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dirsrv_entry_pool *pools;

static void list_add(struct dirsrv_entry_pool *pool)
{
	pthread_mutex_lock(&pools_lock);
	pool->next = pools;
	pools = pool;
	pthread_mutex_unlock(&pools_lock);
}

static void list_remove(const struct dirsrv_entry_pool *pool)
{
	struct dirsrv_entry_pool **link = &pools;

	pthread_mutex_lock(&pools_lock);
	while (*link != pool)
		link = &(*link)->next;
	*link = pool->next;
	pthread_mutex_unlock(&pools_lock);
}

/* Take all locks, so that in the child no lock is held by a thread that does not exist there. */
static void before_fork(void)
{
	pthread_mutex_lock(&pools_lock);
	for (struct dirsrv_entry_pool *pool = pools; pool; pool = pool->next)
		pthread_mutex_lock(&pool->lock);
}

static void after_fork(void)
{
	for (struct dirsrv_entry_pool *pool = pools; pool; pool = pool->next)
		pthread_mutex_unlock(&pool->lock);
	pthread_mutex_unlock(&pools_lock);
}

/* These hooks are registered after libslab's own (<slab/rcu.h>), so before_fork() takes its locks
 * first. This causes no deadlock: libslab holds no lock when it calls this code. */
static __attribute__((constructor)) void register_fork_hooks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* --- making and destroying ---------------------------------------------------------------- */

/* Entries are safer than SLAB_TYPESAFE_BY_RCU makes them: until the reader leaves its critical
 * section, the memory that it found is the same entry, not just any entry. */
static struct slab_cache *create_entries(struct dirsrv_entry_pool *pool, const char *name)
{
	const struct slab_cache_args args = {
		.align = _Alignof(struct dirsrv_entry),
		.ctor = entry_construct,
		.dtor = entry_destruct,
		.arg = pool,
		.reclaim = cache_reclaim,
		.rcu = pool->rcu,
		.isolate = cache_isolate,
		.migrate = cache_migrate,
	};

	return slab_cache_create(name, sizeof(struct dirsrv_entry), &args, 0);
}

/* Create one of the pool's caches; size 0: the cache of entries. */
static struct slab_cache *create_one(struct dirsrv_entry_pool *pool, const char *prefix,
				     const char *kind, size_t size)
{
	char name[SLAB_MAX_NAME + 1];

	snprintf(name, sizeof(name), "%s.%s", prefix, kind);
	return size ? slab_cache_create(name, size, NULL, 0) : create_entries(pool, name);
}

/* Destroy the caches of a failed creation; they have no objects. */
static void destroy_caches(struct dirsrv_entry_pool *pool)
{
	struct slab_cache *const caches[] = {pool->entries, pool->attributes, pool->values,
					     pool->dns};

	for (unsigned i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		slab_cache_destroy(caches[i]);
}

static bool create_caches(struct dirsrv_entry_pool *pool, const char *name)
{
	const struct {
		struct slab_cache **cache;
		const char *kind;
		size_t size;
	} kinds[] = {
		{&pool->entries, "entry", 0},
		{&pool->attributes, "attribute", sizeof(struct dirsrv_attribute)},
		{&pool->values, "value", sizeof(struct dirsrv_value)},
		{&pool->dns, "dn", sizeof(struct dirsrv_dn)},
	};
	int error;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		*kinds[i].cache = create_one(pool, name, kinds[i].kind, kinds[i].size);
		if (*kinds[i].cache)
			continue;
		error = errno;
		destroy_caches(pool);
		errno = error;
		return false;
	}
	return true;
}

struct dirsrv_entry_pool *dirsrv_entry_pool_create(const char *name,
						   const struct rcu_flavor_struct *rcu)
{
	struct dirsrv_entry_pool *pool;

	if (!name || !*name || strlen(name) > POOL_NAME_MAX) {
		errno = EINVAL;
		return NULL;
	}
	pool = slab_calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->rcu = rcu ? rcu : &urcu_memb_flavor;
	pthread_mutex_init(&pool->lock, NULL);
	if (create_caches(pool, name)) {
		list_add(pool);
		return pool;
	}
	slab_mfree(pool);
	return NULL;
}

static uint64_t objects_of(struct slab_cache *cache)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};

	slab_cache_stats(cache, &stats);
	return stats.objects;
}

int dirsrv_entry_pool_destroy(struct dirsrv_entry_pool *pool)
{
	struct slab_cache *caches[4];
	int error;

	if (!pool)
		return 0;
	error = dirsrv_entry_pool_barrier(pool);
	if (error)
		return error;
	if (pool->cache)
		return -EBUSY;
	caches[0] = pool->entries;
	caches[1] = pool->attributes;
	caches[2] = pool->values;
	caches[3] = pool->dns;
	/* Destroy all caches or none. A cache that has objects reports them, and fails. */
	for (unsigned i = 0; i < 4; i++)
		if (objects_of(caches[i]))
			return slab_cache_destroy(caches[i]);
	list_remove(pool);
	destroy_caches(pool);
	pthread_mutex_destroy(&pool->lock);
	slab_mfree(pool);
	return 0;
}
