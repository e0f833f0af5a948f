/* SPDX-License-Identifier: MIT */
/*
 * The entry cache's own structures. `lock` is the mutex of the pool.
 *
 * The tables have a fixed number of buckets, and all their changes are made with the lock
 * held. So nothing is allocated or freed when entries come and go, and evictions may
 * happen in whatever thread libslab asks for memory, also in one that liburcu does not
 * know: what a change walks over, no other change can take away.
 */
#ifndef DIRSRV_ENTRY_CACHE_INTERNAL_H
#define DIRSRV_ENTRY_CACHE_INTERNAL_H

#include <slab/dirsrv/entry_cache.h>

#include "policy.h"

/* Lookups of one CPU; atomic, since threads change CPUs at any moment. */
struct lookups {
	_Alignas(64) uint64_t hits;
	uint64_t misses;
};

struct dirsrv_entry_cache {
	struct dirsrv_entry_pool *pool;
	struct cds_lfht *by_dn;
	struct cds_lfht *by_name;
	struct lookups *lookups;
	unsigned cpus;
	bool attached; /* its numbers are, unless the program detached them */
	/* All below with the lock. */
	size_t limit;
	struct policy policy;
	uint64_t inserts, returns, replaces, removes, evicts, reclaims, moves;
};

/* Entries that were taken out, and are retired when the lock is free. */
struct victims {
	struct link *first;
};

static inline void cache_lock(struct dirsrv_entry_cache *cache)
{
	pthread_mutex_lock(&cache->pool->lock);
	cache->pool->rcu->read_lock();
}

static inline void cache_unlock(struct dirsrv_entry_cache *cache)
{
	cache->pool->rcu->read_unlock();
	pthread_mutex_unlock(&cache->pool->lock);
}

static inline size_t cache_bytes(const struct dirsrv_entry_cache *cache)
{
	return cache->policy.small.bytes + cache->policy.main.bytes;
}

static inline uint64_t cache_entries(const struct dirsrv_entry_cache *cache)
{
	return cache->policy.small.entries + cache->policy.main.entries;
}

/* --- cache.c --------------------------------------------------------------------------- */

/* How many buckets a cache gets that is made with these. */
size_t cache_buckets(size_t limit, size_t expected);

/* --- statistics.c ----------------------------------------------------------------------- */

/* Show the numbers with the pool's cache of entries (<slab/stats.h>), if they can be attached,
 * until the cache is about to leave its pool. Without the lock: libslab's come first. */
void numbers_attach(struct dirsrv_entry_cache *cache);
void numbers_detach(struct dirsrv_entry_cache *cache);

/* --- table.c: the tables ------------------------------------------------------------- */

/* Both tables; false: no memory. */
bool tables_init(struct dirsrv_entry_cache *cache, size_t buckets);
void tables_free(struct dirsrv_entry_cache *cache);

/* In a section. */
struct dirsrv_entry *table_find(struct dirsrv_entry_cache *cache, const struct dirsrv_dn *dn);

/* With the lock. tables_exchange: `entry`, with the same DN, stands for `old`. */
void tables_add(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry);
void tables_remove(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry);
void tables_exchange(struct dirsrv_entry_cache *cache, struct dirsrv_entry *old,
		     struct dirsrv_entry *entry);

/* --- evict.c ------------------------------------------------------------------------------ */

/* Out of the tables, which it was out of the queues of before. With the lock. */
void cache_forget(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry,
		  struct victims *victims);

/* The most entries in use that an insertion looks at for each entry that it evicts. A server
 * may hold references to hundreds of thousands, and other threads wait for the lock. */
#define VAIN_MAX 64u

/* Until `bytes` more fit into the limit, if that can be had: `vain` as policy_victim() has
 * it. With the lock. */
void cache_make_room(struct dirsrv_entry_cache *cache, size_t bytes, unsigned vain,
		     struct victims *victims);

/* Without the lock. */
void victims_retire(struct victims *victims);

#endif /* DIRSRV_ENTRY_CACHE_INTERNAL_H */
