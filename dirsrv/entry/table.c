/* SPDX-License-Identifier: MIT */
/*
 * The two hash tables over the entries of a cache: by DN, and by the value of the first
 * RDN, where several entries may have the same. The nodes are members of the entries.
 *
 * `published` orders writers and readers for the compiler's memory model: the writer stores
 * it with release before the entry enters a table, and a reader loads it with acquire before
 * any other member of an entry that it found.
 */
#include "entry_cache_internal.h"

#include <sched.h>

/* The first RDN's value in a lookup. */
struct name {
	const char *text;
	size_t length;
};

static const struct dirsrv_dn *dn_of(const struct dirsrv_entry *entry)
{
	(void)__atomic_load_n(&entry->published, __ATOMIC_ACQUIRE);
	return entry->dn;
}

static struct dirsrv_entry *entry_by_dn(struct cds_lfht_node *node)
{
	return caa_container_of(node, struct dirsrv_entry, by_dn);
}

static struct dirsrv_entry *entry_by_name(struct cds_lfht_node *node)
{
	return caa_container_of(node, struct dirsrv_entry, by_name);
}

static int has_dn(struct cds_lfht_node *node, const void *key)
{
	return dirsrv_dn_equal(dn_of(entry_by_dn(node)), key);
}

static int has_name(struct cds_lfht_node *node, const void *key)
{
	const struct dirsrv_dn *dn = dn_of(entry_by_name(node));
	const struct name *name = key;

	return dn->name_length == name->length &&
	       text_equal_folded(dn->name, name->text, name->length);
}

static unsigned long name_hash(const struct dirsrv_dn *dn)
{
	return text_hash_folded(dn->name, dn->name_length);
}

/* --- finding ---------------------------------------------------------------------------- */

struct dirsrv_entry *table_find(struct dirsrv_entry_cache *cache, const struct dirsrv_dn *dn)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(cache->by_dn, dn->hash, has_dn, dn, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? entry_by_dn(node) : NULL;
}

/* Count a lookup on this CPU. */
static void count(struct dirsrv_entry_cache *cache, bool hit)
{
	struct lookups *lookups = &cache->lookups[(unsigned)sched_getcpu() % cache->cpus];

	__atomic_fetch_add(hit ? &lookups->hits : &lookups->misses, 1, __ATOMIC_RELAXED);
}

struct dirsrv_entry *dirsrv_entry_cache_lookup(struct dirsrv_entry_cache *cache,
					       const struct dirsrv_dn *dn)
{
	struct dirsrv_entry *entry = table_find(cache, dn);

	count(cache, entry != NULL);
	if (entry)
		policy_use(entry);
	return entry;
}

/* Find an entry under the lock, where every entry in the table has a reference. */
static struct dirsrv_entry *get_with_lock(struct dirsrv_entry_cache *cache,
					  const struct dirsrv_dn *dn)
{
	struct dirsrv_entry *entry;

	pthread_mutex_lock(&cache->pool->lock);
	entry = table_find(cache, dn);
	if (entry)
		dirsrv_entry_get(entry);
	pthread_mutex_unlock(&cache->pool->lock);
	return entry;
}

struct dirsrv_entry *dirsrv_entry_cache_get(struct dirsrv_entry_cache *cache,
					    const struct dirsrv_dn *dn)
{
	struct dirsrv_entry *entry;

	cache->pool->rcu->read_lock();
	entry = dirsrv_entry_cache_lookup(cache, dn);
	/* The entry is being evicted or moved: look it up under the lock. */
	if (entry && !dirsrv_entry_get(entry))
		entry = get_with_lock(cache, dn);
	cache->pool->rcu->read_unlock();
	return entry;
}

size_t dirsrv_entry_cache_named(struct dirsrv_entry_cache *cache, const char *name, size_t length,
				bool (*fn)(struct dirsrv_entry *entry, void *arg), void *arg)
{
	const struct name key = {.text = name, .length = length};
	struct cds_lfht_node *node;
	struct cds_lfht_iter iter;
	size_t found = 0;

	cds_lfht_lookup(cache->by_name, text_hash_folded(name, length), has_name, &key, &iter);
	for (; (node = cds_lfht_iter_get_node(&iter)) != NULL;
	     cds_lfht_next_duplicate(cache->by_name, has_name, &key, &iter)) {
		found++;
		policy_use(entry_by_name(node));
		if (!fn(entry_by_name(node), arg))
			break;
	}
	count(cache, found != 0);
	return found;
}

void dirsrv_entry_cache_each(struct dirsrv_entry_cache *cache,
			     bool (*fn)(struct dirsrv_entry *entry, void *arg), void *arg)
{
	struct cds_lfht_node *node;
	struct cds_lfht_iter iter;

	for (cds_lfht_first(cache->by_dn, &iter); (node = cds_lfht_iter_get_node(&iter)) != NULL;
	     cds_lfht_next(cache->by_dn, &iter)) {
		struct dirsrv_entry *entry = entry_by_dn(node);

		(void)dn_of(entry);
		if (!fn(entry, arg))
			return;
	}
}

/* --- changing ----------------------------------------------------------------------------- */

bool tables_init(struct dirsrv_entry_cache *cache, size_t buckets)
{
	const struct rcu_flavor_struct *rcu = cache->pool->rcu;

	cache->by_dn = cds_lfht_new_flavor(buckets, buckets, 0, 0, rcu, NULL);
	cache->by_name = cds_lfht_new_flavor(buckets, buckets, 0, 0, rcu, NULL);
	return cache->by_dn && cache->by_name;
}

void tables_free(struct dirsrv_entry_cache *cache)
{
	if (cache->by_dn)
		cds_lfht_destroy(cache->by_dn, NULL);
	if (cache->by_name)
		cds_lfht_destroy(cache->by_name, NULL);
}

void tables_add(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry)
{
	__atomic_store_n(&entry->published, 1, __ATOMIC_RELEASE);
	cds_lfht_add(cache->by_dn, entry->dn->hash, &entry->by_dn);
	cds_lfht_add(cache->by_name, name_hash(entry->dn), &entry->by_name);
}

void tables_remove(struct dirsrv_entry_cache *cache, struct dirsrv_entry *entry)
{
	cds_lfht_del(cache->by_dn, &entry->by_dn);
	cds_lfht_del(cache->by_name, &entry->by_name);
}

void tables_exchange(struct dirsrv_entry_cache *cache, struct dirsrv_entry *old,
		     struct dirsrv_entry *entry)
{
	const struct dirsrv_dn *dn = entry->dn;
	const struct name name = {.text = dn->name, .length = dn->name_length};
	unsigned long hash = name_hash(dn);
	struct cds_lfht_iter iter;

	__atomic_store_n(&entry->published, 1, __ATOMIC_RELEASE);
	cds_lfht_lookup(cache->by_dn, dn->hash, has_dn, dn, &iter);
	cds_lfht_replace(cache->by_dn, &iter, dn->hash, has_dn, dn, &entry->by_dn);
	cds_lfht_lookup(cache->by_name, hash, has_name, &name, &iter);
	while (cds_lfht_iter_get_node(&iter) != &old->by_name)
		cds_lfht_next_duplicate(cache->by_name, has_name, &name, &iter);
	cds_lfht_replace(cache->by_name, &iter, hash, has_name, &name, &entry->by_name);
}
