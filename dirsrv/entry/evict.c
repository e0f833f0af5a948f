/* SPDX-License-Identifier: MIT */
/*
 * Evicting and moving entries, and libslab's callbacks reclaim, isolate and migrate.
 *
 * A caller that evicts many entries needs their memory. liburcu's thread frees the entries, so its
 * CPU would keep the empty slabs, up to a MiB per cache, while other CPUs fill the cache with
 * fresh slabs. So libslab trims memory when the last victim is free.
 */
#include "entry_cache_internal.h"

/* A reclaim evicts 1/RECLAIM_PART of the entries, and one more. */
#define RECLAIM_PART 8

/* Evictions of fewer bytes only make room in the cache, and do not trim. */
#define TRIM_BYTES ((size_t)1 << 20)

void cache_forget(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry,
		  struct victims *victims)
{
	tables_remove(cache, entry);
	entry->cache = NULL;
	entry->charged = 0;
	entry->link.next = victims->first;
	victims->first = &entry->link;
}

void victims_retire(struct victims *victims)
{
	struct link *link = victims->first, *next;

	for (; link; link = next) {
		next = link->next;
		entry_retire(entry_of_link(link));
	}
}

/* Evict one entry; returns its bytes, or 0: no entry can be evicted. */
static size_t evict_one(struct dirsrv_entry_cache *cache, unsigned vain, struct victims *victims)
{
	struct dirsrv_entry *entry =
		cache->limit ? policy_victim(&cache->policy, cache->limit, vain) : NULL;
	size_t bytes;

	if (!entry)
		return 0;
	bytes = entry->charged;
	cache_forget(cache, entry, victims);
	cache->evicts++;
	return bytes;
}

void cache_make_room(struct dirsrv_entry_cache *cache, size_t bytes, unsigned vain,
		     struct victims *victims)
{
	while (cache->limit && cache_bytes(cache) > cache->limit - bytes)
		if (!evict_one(cache, vain, victims))
			return;
}

static void victims_free(struct dirsrv_entry_cache *cache, struct victims *victims, size_t bytes)
{
	victims_retire(victims);
	if (bytes >= TRIM_BYTES)
		pool_trim_later(cache->pool);
}

size_t dirsrv_entry_cache_evict(struct dirsrv_entry_cache *cache, size_t bytes)
{
	struct victims victims = {NULL};
	size_t gone = 0, one, entries = 0;

	cache_lock(cache);
	while (gone < bytes && (one = evict_one(cache, VAIN_ALL, &victims)) != 0) {
		gone += one;
		entries++;
	}
	cache_unlock(cache);
	victims_free(cache, &victims, gone);
	return entries;
}

void dirsrv_entry_cache_set_limit(struct dirsrv_entry_cache *cache, size_t limit)
{
	struct victims victims = {NULL};
	size_t gone;

	cache_lock(cache);
	cache->limit = limit;
	gone = cache_bytes(cache);
	cache_make_room(cache, 0, VAIN_ALL, &victims);
	gone -= cache_bytes(cache);
	cache_unlock(cache);
	victims_free(cache, &victims, gone);
}

/* --- libslab's callbacks ---------------------------------------------------------------- */

/* The entries' memory is free after a grace period. The callback does not wait for it: the
 * allocating thread may hold locks that readers wait for. */
size_t cache_reclaim(struct slab_cache *slabs, void *arg)
{
	struct dirsrv_entry_pool *pool = arg;
	struct dirsrv_entry_cache *cache;
	struct victims victims = {NULL};
	uint64_t wanted, entries = 0;

	(void)slabs;
	/* This thread may hold the lock already, and have called libslab to allocate. */
	if (pthread_mutex_trylock(&pool->lock) != 0)
		return 0;
	cache = pool->cache;
	pool->rcu->read_lock();
	wanted = cache ? cache_entries(cache) / RECLAIM_PART + 1 : 0;
	while (entries < wanted && evict_one(cache, VAIN_ALL, &victims))
		entries++;
	if (cache)
		cache->reclaims += entries;
	pool->rcu->read_unlock();
	pthread_mutex_unlock(&pool->lock);
	victims_retire(&victims);
	return entries;
}

/* An entry can move while the cache's reference is the only one. isolate() takes that
 * reference away until the entry is in its new place, and keeps the lock. */
int cache_isolate(void *object, void *arg)
{
	struct dirsrv_entry_pool *pool = arg;
	struct dirsrv_entry *entry = object;

	/* The entry is free, or in use. */
	if (__atomic_load_n(&entry->references, __ATOMIC_RELAXED) != 1)
		return 1;
	pthread_mutex_lock(&pool->lock);
	if (entry->cache && entry_take(entry))
		return 0;
	pthread_mutex_unlock(&pool->lock);
	return 1;
}

int cache_migrate(void *object, void *new_object, void *arg)
{
	struct dirsrv_entry *from = object, *to = new_object;
	struct dirsrv_entry_pool *pool = arg;

	to->dn = from->dn;
	to->first = from->first;
	to->attributes = from->attributes;
	to->values = from->values;
	to->id = dirsrv_entry_id(from);
	to->bytes = from->bytes;
	to->cache = from->cache;
	to->charged = from->charged;
	policy_exchange(from, to);
	from->cache = NULL;
	from->charged = 0;
	pool->rcu->read_lock();
	tables_exchange(to->cache, from, to);
	pool->rcu->read_unlock();
	to->cache->moves++;
	__atomic_store_n(&to->references, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}
