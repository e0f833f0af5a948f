/* SPDX-License-Identifier: MIT */
/*
 * A cache of entries by their DN, with a limit in bytes.
 *
 *   rcu_read_lock();
 *   entry = dirsrv_entry_cache_lookup(cache, dn);
 *   … read it …                                  // no lock, and nothing is written
 *   rcu_read_unlock();
 *
 *   entry = dirsrv_entry_cache_get(cache, dn);   // to keep it for longer
 *   …
 *   dirsrv_entry_put(entry);
 *
 * Lookups go through liburcu's hash table (rculfhash) and take no lock. A hit writes
 * nothing that threads of other CPUs write: it is counted per CPU, and that the entry was
 * used is noted in the entry only until it has been noted three times, which the next
 * pass of the eviction takes back.
 *
 * Eviction is S3-FIFO (Yang, Zhang, Qiu, Yue, Vigfusson, "FIFO queues are all you need for
 * cache eviction", SOSP 2023). New entries stand in a small queue, of a tenth of the limit;
 * those that were looked up more than once when they reach its end go to the main queue,
 * the others are evicted, and only their hashes are remembered for a while: an entry that
 * comes back in that time goes to the main queue at once. In the main queue, an entry that
 * was used starts again at the head. So a search through all of a directory, which looks
 * at every entry once, goes through the small queue, and what is in constant use stays.
 *
 * Entries that somebody has a reference to are not evicted; because of these the limit can
 * be exceeded: who adds or changes an entry passes by 64 of them and then lets it be, until
 * the next one does. Under memory pressure, libslab (<slab/memory.h>) has the cache evict an
 * eighth of its entries at a time. slab_cache_defrag() of the pool's cache of entries
 * (slabinfo -s) moves entries that only the cache refers to.
 *
 * Locks: one mutex for all changes, taken after an entry's own lock. Nothing is allocated
 * with it held.
 * Threads: every function may be called by any thread that is registered with the
 * pool's flavour of liburcu. Signals: not async-signal-safe.
 */
#ifndef SLAB_DIRSRV_ENTRY_CACHE_H
#define SLAB_DIRSRV_ENTRY_CACHE_H

#include <slab/dirsrv/entry.h>

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
 *            what is free in slabs, and the hash tables. 0: nothing is ever evicted: what is
 *            in the cache is in no other place. DIRSRV_ENTRY_CACHE_UNLIMITED: see there.
 * @expected  about how many entries there will be, or 0: one in 2 KiB of the limit, and
 *            65536 when limit is 0 or DIRSRV_ENTRY_CACHE_UNLIMITED. The hash table gets
 *            so many buckets (at least 1024, at most 2^24) and keeps them: with more
 *            entries lookups get slower.
 *
 * slabinfo shows the cache's numbers (below) with the pool's cache of entries, which
 * has them attached as counters (<slab/stats.h>) until this one is destroyed; their names are
 * those below with "cache_" before them. Where that cannot be done, because somebody else
 * attached counters to it or there is no memory for their names, they are not shown, and all
 * else works.
 *
 * NULL and errno: EBUSY: the pool has a cache; ENOMEM.
 */
SLAB_API struct dirsrv_entry_cache *dirsrv_entry_cache_create(struct dirsrv_entry_pool *pool,
							      size_t limit, size_t expected);

/*
 * dirsrv_entry_cache_destroy: take all entries out and free the cache. NULL is allowed.
 *
 * 0; or -EBUSY when others than the cache still have references: fn, unless it is NULL, is
 * called, with no lock held, for each such entry with the number of them, unless they are
 * gone by then; and these entries stay in the cache, which stays usable. -EDEADLK within a
 * section. Nobody else uses the cache any more, but they may have references, and put them
 * meanwhile.
 */
SLAB_API int dirsrv_entry_cache_destroy(struct dirsrv_entry_cache *cache,
					void (*fn)(const struct dirsrv_entry *entry,
						   unsigned references, void *arg),
					void *arg);

/*
 * dirsrv_entry_cache_lookup: the entry with that DN; NULL: it is not there. The caller is
 * in a section, and the entry is valid until he leaves it; dirsrv_entry_get() holds it for
 * longer. A hit notes that the entry was used.
 */
SLAB_API struct dirsrv_entry *dirsrv_entry_cache_lookup(struct dirsrv_entry_cache *cache,
							const struct dirsrv_dn *dn);

/* dirsrv_entry_cache_get: the same, with a reference; in or out of a section. */
SLAB_API struct dirsrv_entry *dirsrv_entry_cache_get(struct dirsrv_entry_cache *cache,
						     const struct dirsrv_dn *dn);

/*
 * dirsrv_entry_cache_named: call fn for every entry whose first RDN has that value, in
 * whatever case (ASCII) and without escapes: "uid=Ann,…" for "ann". Until fn returns false.
 * The caller is in a section. Returns for how many it was called. It counts as one lookup,
 * and each entry as used.
 */
SLAB_API size_t dirsrv_entry_cache_named(struct dirsrv_entry_cache *cache, const char *name,
					 size_t length,
					 bool (*fn)(struct dirsrv_entry *entry, void *arg),
					 void *arg);

/* dirsrv_entry_cache_each: call fn for every entry, in no order, until fn returns false.
 * The caller is in a section; entries that come and go meanwhile may be missed. It does
 * not count as lookups. */
SLAB_API void dirsrv_entry_cache_each(struct dirsrv_entry_cache *cache,
				      bool (*fn)(struct dirsrv_entry *entry, void *arg), void *arg);

/*
 * dirsrv_entry_cache_add: publish a private entry. The cache takes a reference of its own;
 * the caller keeps his. Others are evicted first, as far as the limit asks for it.
 *
 * 0, or -EEXIST: there is one with this DN; -E2BIG: it is larger than the limit; -EINVAL:
 * it is of another pool, or was published before. When much memory of evicted entries
 * waits for readers, it waits for them, too, unless it is called within a section: so it
 * must not be called with a lock held that readers take within sections. In urcu-qsbr a
 * thread that is online is within a section: nothing waits, and the memory is bounded by
 * the server's quiescent states alone. Who adds many there is offline while he does, or
 * calls dirsrv_entry_pool_barrier() now and then.
 *
 * Entries whose first RDNs have the same value, as "ou=people" under many organisations,
 * form one chain: with n of them, to add or to take out one takes time in proportion to n.
 */
SLAB_API int dirsrv_entry_cache_add(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry);

/*
 * dirsrv_entry_cache_replace: publish a private entry in the place of the one with the same
 * DN, in one step: every lookup finds the one or the other. The latter is returned with
 * the cache's reference to it. NULL and errno: ENOENT: there is none with this DN; E2BIG,
 * EINVAL: as above. It waits as above.
 */
SLAB_API struct dirsrv_entry *dirsrv_entry_cache_replace(struct dirsrv_entry_cache *cache,
							 struct dirsrv_entry *entry);

/* dirsrv_entry_cache_remove: take the entry with that DN out of the cache. It is returned
 * with the cache's reference to it, for dirsrv_entry_put(). NULL: it is not there. */
SLAB_API struct dirsrv_entry *dirsrv_entry_cache_remove(struct dirsrv_entry_cache *cache,
							const struct dirsrv_dn *dn);

/* dirsrv_entry_cache_evict: evict entries until at least `bytes` of them are gone, or none
 * can be evicted any more. Returns how many entries. Nothing of a cache with limit 0. When
 * it was a MiB or more, all free memory goes back to the operating system, as by
 * slab_trim(), once readers have left; dirsrv_entry_pool_barrier() waits for that, too. */
SLAB_API size_t dirsrv_entry_cache_evict(struct dirsrv_entry_cache *cache, size_t bytes);

/* dirsrv_entry_cache_set_limit: another limit, as in create(). What is above it is evicted
 * at once, as by dirsrv_entry_cache_evict(). */
SLAB_API void dirsrv_entry_cache_set_limit(struct dirsrv_entry_cache *cache, size_t limit);

/* --- statistics ------------------------------------------------------------------------- */

/* Entries, bytes of entries, and events since the cache was made. Hits and misses are
 * each right for some moment during the call, the others are of one moment. */
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
	uint64_t returns; /* inserts of entries that were evicted not long ago */
	uint64_t replaces;
	uint64_t removes;
	uint64_t evicts;
	uint64_t reclaims; /* evictions that libslab asked for, in evicts as well */
	uint64_t moves;
	uint64_t pending; /* bytes that wait to be freed until readers have left */
};

/* dirsrv_entry_cache_stats_read: all numbers. 0, or -EINVAL: struct_size is none that this
 * library knows. */
SLAB_API int dirsrv_entry_cache_stats_read(struct dirsrv_entry_cache *cache,
					   struct dirsrv_entry_cache_stats *stats);

/* dirsrv_entry_cache_stat_name: the name of number i, as the members above are called; NULL
 * behind the last. dirsrv_entry_cache_stat_read: one number by its name; 0 and *value, or
 * -ENOENT. For servers that show the numbers in a monitor of their own, as
 * slab_stat_read() is. */
SLAB_API const char *dirsrv_entry_cache_stat_name(unsigned i);
SLAB_API int dirsrv_entry_cache_stat_read(struct dirsrv_entry_cache *cache, const char *name,
					  uint64_t *value);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_ENTRY_CACHE_H */
