/* SPDX-License-Identifier: MIT */
/*
 * The entry cache's own structures. `lock` is the mutex of the pool.
 *
 * The tables have a fixed number of buckets and change only under the lock. So adding and
 * removing entries allocates and frees nothing, and any thread that allocates from libslab
 * may evict, even one that is not registered with liburcu: a change walks the tables under
 * the lock, so no other change can remove what it visits.
 */
#pragma once

#include "internal.h"

#include <slab/dirsrv/entry_cache.h>

#include <limits.h>

/* --- the policy ----------------------------------------------------------------------------- */

/*
 * The eviction policy of an entry cache: S3-FIFO, with sizes in bytes. The callers hold
 * the pool's mutex, except those of policy_init(), policy_free() and policy_use().
 */

/* The most lookups that an entry counts. */
#define USES_MAX 3u

/* A circular list: the newest entry is behind `ends`, the oldest before it. */
struct queue {
	struct link ends;
	uint64_t entries;
	size_t bytes;
};

/* Hashes of entries that the small queue evicted recently. A slot has one hash and its time, which
 * is the number of entries that had been evicted before. */
struct ghosts {
	struct ghost {
		uint32_t hash;
		uint32_t when;
	} *slot;
	size_t mask;
	uint32_t left;
};

struct policy {
	struct queue small;
	struct queue main;
	struct ghosts ghosts;
};

/* policy_init: `slots` is the number of slots for ghosts, a power of two. false: no memory. */
bool policy_init(struct policy *policy, size_t slots);
void policy_free(struct policy *policy);

/* policy_insert: add a new entry; true: an entry with this hash was evicted recently. */
bool policy_insert(struct policy *policy, struct dirsrv_entry *entry);

/* policy_exchange: `entry` takes the place of `old`. */
void policy_exchange(struct dirsrv_entry *old, struct dirsrv_entry *entry);

void policy_remove(struct dirsrv_entry *entry);

/* policy_charge: set the bytes that the cache counts for the entry. */
void policy_charge(struct dirsrv_entry *entry, size_t bytes);

/* policy_victim: remove the next victim from its queue, and take away the cache's reference, which
 * was the only one. NULL: there is no victim, or `vain` candidates were in use. VAIN_ALL: any
 * number of candidates may be in use. */
#define VAIN_ALL UINT_MAX
struct dirsrv_entry *policy_victim(struct policy *policy, size_t limit, unsigned vain);

/* policy_use: a reader found the entry. Any thread may call this without the lock. */
static inline void policy_use(struct dirsrv_entry *entry)
{
	uint8_t uses = __atomic_load_n(&entry->uses, __ATOMIC_RELAXED);

	if (uses < USES_MAX)
		__atomic_store_n(&entry->uses, (uint8_t)(uses + 1), __ATOMIC_RELAXED);
}

/* entry_take: take the cache's reference away, unless there are others. */
static inline bool entry_take(struct dirsrv_entry *entry)
{
	uint32_t one = 1;

	return __atomic_compare_exchange_n(&entry->references, &one, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static inline struct dirsrv_entry *entry_of_link(struct link *link)
{
	return caa_container_of(link, struct dirsrv_entry, link);
}

/* --- the cache ------------------------------------------------------------------------------ */

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
