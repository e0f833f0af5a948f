/* SPDX-License-Identifier: MIT */
/*
 * A cache of entries by their DN, with a limit in bytes.
 *
 *	rcu_read_lock();
 *	entry = dirsrv_entry_cache_lookup(cache, dn);
 *	… read it …                                  // without a lock and without a write
 *	rcu_read_unlock();
 *
 *	entry = dirsrv_entry_cache_get(cache, dn);   // takes a reference
 *	…
 *	dirsrv_entry_put(entry);
 *
 * Lookups use liburcu's hash table (rculfhash) and take no lock. A hit writes to no memory
 * that threads of other CPUs write: a counter per CPU counts it. The entry records its use
 * up to three times; the next pass of the eviction decrements that number.
 *
 * Eviction is S3-FIFO (Yang, Zhang, Qiu, Yue, Vigfusson, "FIFO queues are all you need for
 * cache eviction", SOSP 2023). New entries are in a small queue, of a tenth of the limit.
 * Those that were looked up more than once when they reach its end move to the main queue.
 * The others are evicted; the cache keeps only their hashes for a while, and an entry that
 * is added again in that time goes to the main queue at once. In the main queue, an entry
 * that was used returns to the head. So a search through a whole directory, which looks up
 * every entry once, passes through the small queue, and the entries in constant use stay.
 *
 * Entries with other references than the cache's are not evicted, and because of them the
 * limit can be exceeded: adding or changing an entry skips up to 64 of them and then stops.
 * Under memory pressure, libslab (<slab/memory.h>) makes the cache evict an eighth of its
 * entries at a time. slab_cache_defrag() of the pool's cache of entries (slabinfo -s) moves
 * entries to which only the cache refers.
 *
 * Locks: one mutex for all changes, taken after an entry's own lock. No thread allocates
 * with it held.
 *
 * Safety, in the words of <slab/slab.h>: MT-safe for threads that are registered with the
 * pool's flavour of liburcu, fork-safe (see <slab/dirsrv/entry.h>), not async-signal-safe.
 */
#ifndef SLAB_DIRSRV_ENTRY_CACHE_H
#define SLAB_DIRSRV_ENTRY_CACHE_H

#include <slab/dirsrv/entry.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dirsrv_entry_cache;

/* The limit of a cache that evicts under memory pressure only. */
#define DIRSRV_ENTRY_CACHE_UNLIMITED SIZE_MAX

/*
 * dirsrv_entry_cache_create: the cache of a pool's entries; a pool has one at most.
 *
 * @limit     bytes of entries (dirsrv_entry_size()); the process needs a sixth more, for
 *            free objects in slabs, and the hash tables. 0: no entry is ever evicted, for
 *            entries that exist in no other place. DIRSRV_ENTRY_CACHE_UNLIMITED: memory pressure
 *            alone evicts entries.
 * @expected  approximate number of entries, or 0: one in 2 KiB of the limit, and
 *            65536 if limit is 0 or DIRSRV_ENTRY_CACHE_UNLIMITED. The hash table gets
 *            this number of buckets (at least 1024, at most 2^24) and keeps them: with more
 *            entries lookups become slower.
 *
 * Returns the cache, or NULL and errno: EBUSY: the pool has a cache; ENOMEM.
 */
SLAB_API struct dirsrv_entry_cache *dirsrv_entry_cache_create(struct dirsrv_entry_pool *pool,
							      size_t limit, size_t expected);

/*
 * dirsrv_entry_cache_destroy: remove all entries and free the cache. NULL is allowed. No
 * other thread uses the cache any more, but threads may have references to entries, and put
 * them meanwhile.
 *
 * @fn  called with no lock held for each entry with other references than the cache's, with
 *      their number, unless they are gone by then; or NULL
 *
 * Returns 0, or -EBUSY: such entries exist; they stay in the cache, which stays usable; or
 * -EDEADLK: within a section.
 */
SLAB_API int dirsrv_entry_cache_destroy(struct dirsrv_entry_cache *cache,
					void (*fn)(const struct dirsrv_entry *entry,
						   unsigned references, void *arg),
					void *arg);

/*
 * dirsrv_entry_cache_lookup: find the entry with a DN. The caller is in a section, and the
 * entry is valid until it leaves the section; dirsrv_entry_get() takes a reference. A hit
 * records the use of the entry. Returns NULL if there is no such entry.
 */
SLAB_API struct dirsrv_entry *dirsrv_entry_cache_lookup(struct dirsrv_entry_cache *cache,
							const struct dirsrv_dn *dn);

/* dirsrv_entry_cache_get: dirsrv_entry_cache_lookup() with a reference; in or out of a section. */
SLAB_API struct dirsrv_entry *dirsrv_entry_cache_get(struct dirsrv_entry_cache *cache,
						     const struct dirsrv_dn *dn);

/*
 * dirsrv_entry_cache_named: call fn for every entry whose first RDN has a value, ignoring
 * case (ASCII) and escapes ("uid=Ann,…" for "ann"), until fn returns false. The caller is in
 * a section. It counts as one lookup, and as a use of each entry.
 * Returns the number of calls of fn.
 */
SLAB_API size_t dirsrv_entry_cache_named(struct dirsrv_entry_cache *cache, const char *name,
					 size_t length,
					 bool (*fn)(struct dirsrv_entry *entry, void *arg),
					 void *arg);

/* dirsrv_entry_cache_each: call fn for every entry, in no order, until fn returns false.
 * The caller is in a section. It may miss entries that are added or removed meanwhile, and
 * counts as no lookup. */
SLAB_API void dirsrv_entry_cache_each(struct dirsrv_entry_cache *cache,
				      bool (*fn)(struct dirsrv_entry *entry, void *arg), void *arg);

/*
 * dirsrv_entry_cache_add: publish a private entry. The cache takes its own reference; the
 * caller keeps the first. The cache first evicts other entries as the limit requires.
 *
 * Returns 0, or -EEXIST: there is an entry with this DN; -E2BIG: it is larger than the limit;
 * -EINVAL: it is of another pool, or was published before.
 *
 * When much memory of evicted entries waits for readers, the call waits for them, unless it
 * is within a section: so it must not be called with a lock held that readers take within
 * sections. In urcu-qsbr a thread that is online is within a section: then the call does not
 * wait, and only the server's quiescent states bound the memory. A thread that adds many
 * entries there should be offline meanwhile, or call dirsrv_entry_pool_barrier() from time
 * to time.
 *
 * Entries whose first RDNs have the same value, as "ou=people" under many organisations,
 * form one chain: with n of them, adding or removing one takes time in proportion to n.
 */
SLAB_API int dirsrv_entry_cache_add(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry);

/* dirsrv_entry_cache_remove: remove the entry with a DN. Returns it with the cache's
 * reference, for dirsrv_entry_put(), or NULL: there is no such entry. */
SLAB_API struct dirsrv_entry *dirsrv_entry_cache_remove(struct dirsrv_entry_cache *cache,
							const struct dirsrv_dn *dn);

/* dirsrv_entry_cache_evict: evict entries until at least `bytes` of them are gone, or none
 * can be evicted any more; none in a cache with limit 0. Returns the number of entries. After
 * a MiB or more, it returns all free memory to the operating system, as slab_trim() does,
 * once readers have left; dirsrv_entry_pool_barrier() waits for that, too. */
SLAB_API size_t dirsrv_entry_cache_evict(struct dirsrv_entry_cache *cache, size_t bytes);

/* dirsrv_entry_cache_set_limit: change the limit, as in dirsrv_entry_cache_create(). The cache
 * evicts entries above it at once, as dirsrv_entry_cache_evict() does. */
SLAB_API void dirsrv_entry_cache_set_limit(struct dirsrv_entry_cache *cache, size_t limit);

/* --- statistics ------------------------------------------------------------------------- */

/* Entries, bytes of entries, and events since the cache was created. Hits and misses are
 * each right for some moment during the call; the other numbers are of one moment. */
struct dirsrv_entry_cache_stats {
	size_t struct_size; /* set by the caller: sizeof(struct dirsrv_entry_cache_stats) */
	uint64_t limit;
	uint64_t entries;
	uint64_t bytes;
	uint64_t small_entries; /* of these, in the queue of new entries */
	uint64_t small_bytes;
	uint64_t hits;
	uint64_t misses;
	uint64_t inserts;
	uint64_t returns; /* inserts of entries that were evicted recently */
	uint64_t removes;
	uint64_t evicts;
	uint64_t reclaims; /* evictions under memory pressure, included in evicts */
	uint64_t moves;
	uint64_t pending; /* bytes that wait to be freed until readers have left */
};

/* dirsrv_entry_cache_stats_read: read all numbers. Returns 0, or -EINVAL: struct_size is not
 * one that this library knows. */
SLAB_API int dirsrv_entry_cache_stats_read(struct dirsrv_entry_cache *cache,
					   struct dirsrv_entry_cache_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_ENTRY_CACHE_H */
