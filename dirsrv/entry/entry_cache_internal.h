/* SPDX-License-Identifier: MIT */
/*
 * The entry cache's own structures. `lock` is the mutex of the pool.
 *
 * The tables have a fixed number of buckets and change only under the lock. So adding and
 * removing entries allocates and frees nothing, and any thread that allocates from libslab
 * may evict, even one that is not registered with liburcu: a change walks the tables under
 * the lock, so no other change can remove what it visits.
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
	/* The members below are under the lock. */
	size_t limit;
	struct policy policy;
	uint64_t inserts, returns, removes, evicts, reclaims, moves;
};

/* Entries that were removed, to be retired after unlocking. */
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

/* The number of buckets of a cache with these arguments. */
size_t cache_buckets(size_t limit, size_t expected);

/* --- table.c: the tables ------------------------------------------------------------- */

/* Create both tables; false: no memory. */
bool tables_init(struct dirsrv_entry_cache *cache, size_t buckets);
void tables_free(struct dirsrv_entry_cache *cache);

/* The caller is in a read-side critical section. */
struct dirsrv_entry *table_find(struct dirsrv_entry_cache *cache, const struct dirsrv_dn *dn);

/* Under the lock. tables_exchange: `entry`, with the same DN, replaces `old`. */
void tables_add(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry);
void tables_remove(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry);
void tables_exchange(struct dirsrv_entry_cache *cache, struct dirsrv_entry *old,
		     struct dirsrv_entry *entry);

/* --- evict.c ------------------------------------------------------------------------------ */

/* Under the lock: remove an entry from the tables, and add it to the victims. The caller has taken
 * it off its queue. */
void cache_forget(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry,
		  struct victims *victims);

/* The most entries in use that an insertion looks at for each entry that it evicts. A server
 * may hold references to hundreds of thousands, and other threads wait for the lock. */
#define VAIN_MAX 64u

/* Under the lock: evict until `bytes` more fit into the limit, or no entry can be evicted;
 * `vain` as in policy_victim(). */
void cache_make_room(struct dirsrv_entry_cache *cache, size_t bytes, unsigned vain,
		     struct victims *victims);

/* Free the victims after a grace period. The caller does not hold the lock. */
void victims_retire(struct victims *victims);

#endif /* DIRSRV_ENTRY_CACHE_INTERNAL_H */
