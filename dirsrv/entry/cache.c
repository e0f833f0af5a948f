/* SPDX-License-Identifier: MIT */
/* The entry cache: creating and destroying it; adding, finding and removing entries; numbers. */
#include "entry_cache_internal.h"

#include <slab/malloc.h>

#include <errno.h>
#include <unistd.h>

#define BUCKETS_MIN ((size_t)1 << 10)
#define BUCKETS_MAX ((size_t)1 << 24)
#define BYTES_PER_BUCKET ((size_t)2048)
/* Without a limit the number of entries cannot be estimated, and the tables never grow. */
#define BUCKETS_UNLIMITED ((size_t)1 << 16)

/* When more bytes than this wait for readers, a thread that adds an entry waits, too. */
#define PENDING_MIN ((size_t)1 << 20)

/* --- making and destroying ---------------------------------------------------------------- */

size_t cache_buckets(size_t limit, size_t expected)
{
	size_t buckets = BUCKETS_MIN;

	if (!expected && (!limit || limit == DIRSRV_ENTRY_CACHE_UNLIMITED))
		expected = BUCKETS_UNLIMITED;
	else if (!expected)
		expected = limit / BYTES_PER_BUCKET;
	while (buckets < expected && buckets < BUCKETS_MAX)
		buckets *= 2;
	return buckets;
}

static void cache_free(struct dirsrv_entry_cache *cache)
{
	tables_free(cache);
	policy_free(&cache->policy);
	slab_mfree(cache->lookups);
	slab_mfree(cache);
}

static bool cache_init(struct dirsrv_entry_cache *cache, size_t buckets)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes;

	cache->cpus = cpus > 0 ? (unsigned)cpus : 1;
	bytes = cache->cpus * sizeof(*cache->lookups);
	cache->lookups = slab_memalign(_Alignof(struct lookups), bytes);
	if (!policy_init(&cache->policy, buckets) || !cache->lookups)
		return false;
	memset(cache->lookups, 0, bytes);
	return tables_init(cache, buckets);
}

/* Give the cache to its pool; false: the pool has another cache. */
static bool take_pool(struct dirsrv_entry_cache *cache)
{
	struct dirsrv_entry_pool *pool = cache->pool;
	bool is_free;

	pthread_mutex_lock(&pool->lock);
	is_free = !pool->cache;
	if (is_free)
		pool->cache = cache;
	pthread_mutex_unlock(&pool->lock);
	return is_free;
}

static void leave_pool(struct dirsrv_entry_cache *cache)
{
	pthread_mutex_lock(&cache->pool->lock);
	cache->pool->cache = NULL;
	pthread_mutex_unlock(&cache->pool->lock);
}

struct dirsrv_entry_cache *dirsrv_entry_cache_create(struct dirsrv_entry_pool *pool, size_t limit,
						     size_t expected)
{
	struct dirsrv_entry_cache *cache = slab_calloc(1, sizeof(*cache));
	int error;

	if (!cache)
		return NULL;
	cache->pool = pool;
	cache->limit = limit;
	error = cache_init(cache, cache_buckets(limit, expected)) ? 0 : ENOMEM;
	if (!error && !take_pool(cache))
		error = EBUSY;
	if (error) {
		cache_free(cache);
		errno = error;
		return NULL;
	}
	return cache;
}

/* Remove all entries of a queue that have no other references. */
static void empty_queue(struct dirsrv_entry_cache *cache, struct queue *queue,
			struct victims *victims)
{
	struct link *link = queue->ends.next, *next;

	for (; link != &queue->ends; link = next) {
		struct dirsrv_entry *entry = entry_of_link(link);

		next = link->next;
		if (!entry_take(entry))
			continue;
		policy_remove(entry);
		cache_forget(cache, entry, victims);
	}
}

/* Under the lock: link all entries of a queue in front of `first`, and get a reference to each. */
static struct dirsrv_entry *hold_queue(const struct queue *queue, struct dirsrv_entry *first)
{
	for (struct link *link = queue->ends.next; link != &queue->ends; link = link->next) {
		struct dirsrv_entry *entry = entry_of_link(link);

		dirsrv_entry_get(entry);
		entry->next_held = first;
		first = entry;
	}
	return first;
}

/* Report entries that are in use, without the lock. Other threads may drop their references; the
 * references of this thread keep the entries. */
static void report(struct dirsrv_entry *first,
		   void (*fn)(const struct dirsrv_entry *entry, unsigned references, void *arg),
		   void *arg)
{
	for (struct dirsrv_entry *entry = first, *next; entry; entry = next) {
		unsigned references = dirsrv_entry_references(entry);

		next = entry->next_held;
		/* Do not count the references of this thread and of the cache. */
		if (references > 2)
			fn(entry, references - 2, arg);
		dirsrv_entry_put(entry);
	}
}

int dirsrv_entry_cache_destroy(struct dirsrv_entry_cache *cache,
			       void (*fn)(const struct dirsrv_entry *entry, unsigned references,
					  void *arg),
			       void *arg)
{
	struct victims victims = {NULL};
	struct dirsrv_entry *held = NULL;
	struct policy *policy;
	bool empty;

	if (!cache)
		return 0;
	if (pool_in_section(cache->pool))
		return -EDEADLK;
	policy = &cache->policy;
	cache_lock(cache);
	empty_queue(cache, &policy->small, &victims);
	empty_queue(cache, &policy->main, &victims);
	empty = !cache_entries(cache);
	if (!empty && fn)
		held = hold_queue(&policy->main, hold_queue(&policy->small, NULL));
	cache_unlock(cache);
	victims_retire(&victims);
	if (empty) {
		leave_pool(cache);
		cache_free(cache);
		return 0;
	}
	report(held, fn, arg);
	return -EBUSY;
}

/* --- coming and going ---------------------------------------------------------------------- */

static void wait_for_readers(struct dirsrv_entry_cache *cache, size_t limit)
{
	size_t most = limit / 8;

	if (!limit || most > PENDING_MAX)
		most = PENDING_MAX;
	pool_wait_for_readers(cache->pool, most < PENDING_MIN ? PENDING_MIN : most);
}

/* Unlock after an insertion, and wait for readers if too many bytes wait. */
static void end_change(struct dirsrv_entry_cache *cache, struct victims *victims)
{
	size_t limit = cache->limit;

	cache_unlock(cache);
	victims_retire(victims);
	wait_for_readers(cache, limit);
}

/* Under the lock: get a reference for the cache, and set what the entry counts for. */
static void enter(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry)
{
	__atomic_fetch_add(&entry->references, 1, __ATOMIC_RELAXED);
	entry->cache = cache;
	entry->charged = entry_bytes(entry);
}

/* Under the lock: can the cache take this entry? Returns 0 or -errno. */
static int check(const struct dirsrv_entry_cache *cache, const struct dirsrv_entry *entry)
{
	if (entry->pool != cache->pool || entry->published)
		return -EINVAL;
	return cache->limit && entry_bytes(entry) > cache->limit ? -E2BIG : 0;
}

static int add(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry,
	       struct victims *victims)
{
	int error = check(cache, entry);

	if (error)
		return error;
	if (table_find(cache, entry->dn))
		return -EEXIST;
	cache_make_room(cache, entry_bytes(entry), VAIN_MAX, victims);
	enter(cache, entry);
	cache->returns += policy_insert(&cache->policy, entry);
	cache->inserts++;
	tables_add(cache, entry);
	return 0;
}

int dirsrv_entry_cache_add(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry)
{
	struct victims victims = {NULL};
	int error;

	cache_lock(cache);
	error = add(cache, entry, &victims);
	end_change(cache, &victims);
	return error;
}

struct dirsrv_entry *dirsrv_entry_cache_remove(struct dirsrv_entry_cache *cache,
					       const struct dirsrv_dn *dn)
{
	struct dirsrv_entry *entry;

	cache_lock(cache);
	entry = table_find(cache, dn);
	if (entry) {
		policy_remove(entry);
		tables_remove(cache, entry);
		entry->cache = NULL;
		entry->charged = 0;
		cache->removes++;
	}
	cache_unlock(cache);
	return entry;
}

/* --- changing an entry: replacing an attribute, and the entry's bytes in the cache ---------- */

/* Create the new attribute; *ret_made is NULL if there are no values. */
static int make_change(struct dirsrv_entry_pool *pool, const char *type, size_t type_length,
		       const struct dirsrv_bytes *values, size_t n,
		       struct dirsrv_attribute **ret_made)
{
	struct source source;
	bool made;
	int error;

	*ret_made = NULL;
	if (!n)
		return type_length ? 0 : -EINVAL;
	source_begin(&source, pool, 1, n);
	*ret_made = attribute_make(&source, type, type_length);
	made = *ret_made != NULL;
	for (size_t i = 0; made && i < n; i++)
		made = attribute_append(&source, *ret_made, values[i].data, values[i].length);
	error = made ? 0 : -errno;
	source_end(&source);
	if (error)
		attributes_free(pool, *ret_made);
	return error;
}

/* Replace the attribute in one store for readers. Returns the old one. */
static struct dirsrv_attribute *exchange(struct dirsrv_entry *entry, struct dirsrv_attribute **link,
					 struct dirsrv_attribute *made)
{
	struct dirsrv_attribute *old = *link, *next = old ? old->next : NULL;
	size_t bytes = entry->bytes;

	if (made)
		made->next = next;
	__atomic_store_n(link, made ? made : next, __ATOMIC_RELEASE);
	bytes += (made ? made->bytes : 0) - (old ? old->bytes : 0);
	__atomic_store_n(&entry->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->attributes, entry->attributes + !!made - !!old, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->values,
			 entry->values + (made ? made->count : 0) - (old ? old->count : 0),
			 __ATOMIC_RELAXED);
	return old;
}

/* The bytes of an entry have changed, which may evict other entries. The caller has a
 * reference, and does not hold the entry's lock. */
static void cache_recharge(struct dirsrv_entry *entry)
{
	struct dirsrv_entry_pool *pool = entry->pool;
	struct victims victims = {NULL};

	pthread_mutex_lock(&pool->lock);
	pool->rcu->read_lock();
	if (entry->cache) {
		policy_charge(entry, entry_bytes(entry));
		cache_make_room(entry->cache, 0, VAIN_MAX, &victims);
	}
	pool->rcu->read_unlock();
	pthread_mutex_unlock(&pool->lock);
	victims_retire(&victims);
}

int dirsrv_entry_replace(struct dirsrv_entry *entry, const char *type, size_t type_length,
			 const struct dirsrv_bytes *values, size_t n)
{
	struct dirsrv_attribute *made, *old;
	int error = make_change(entry->pool, type, type_length, values, n, &made);

	if (error)
		return error;
	pthread_rwlock_wrlock(&entry->lock);
	old = exchange(entry, entry_find_link(entry, type, type_length), made);
	pthread_rwlock_unlock(&entry->lock);
	cache_recharge(entry);
	if (old)
		attribute_retire(old);
	pool_wait_for_readers(entry->pool, PENDING_MAX);
	return 0;
}

/* --- numbers -------------------------------------------------------------------------------- */

/* Under the lock, which the counters of lookups do without. */
static void read_statistics(const struct dirsrv_entry_cache *cache,
			    struct dirsrv_entry_cache_stats *stats)
{
	*stats = (struct dirsrv_entry_cache_stats){
		.struct_size = sizeof(*stats),
		.limit = cache->limit,
		.entries = cache_entries(cache),
		.bytes = cache_bytes(cache),
		.small_entries = cache->policy.small.entries,
		.small_bytes = cache->policy.small.bytes,
		.inserts = cache->inserts,
		.returns = cache->returns,
		.removes = cache->removes,
		.evicts = cache->evicts,
		.reclaims = cache->reclaims,
		.moves = cache->moves,
		.pending = dirsrv_entry_pool_pending(cache->pool),
	};
	for (unsigned cpu = 0; cpu < cache->cpus; cpu++) {
		const struct lookups *lookups = &cache->lookups[cpu];

		stats->hits += __atomic_load_n(&lookups->hits, __ATOMIC_RELAXED);
		stats->misses += __atomic_load_n(&lookups->misses, __ATOMIC_RELAXED);
	}
}

int dirsrv_entry_cache_stats_read(struct dirsrv_entry_cache *cache,
				  struct dirsrv_entry_cache_stats *stats)
{
	if (stats->struct_size != sizeof(*stats))
		return -EINVAL;
	pthread_mutex_lock(&cache->pool->lock);
	read_statistics(cache, stats);
	pthread_mutex_unlock(&cache->pool->lock);
	return 0;
}
