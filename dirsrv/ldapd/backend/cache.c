/* SPDX-License-Identifier: MIT */
/* Entries through dirsrv's entry cache. */
#include <errno.h>
#include <ldap.h>
#include <lmdb.h>
#include <slab/memory.h>
#include <urcu/flavor.h>

#include "backend/internal.h"
#include "base/bytes.h"
#include "schema/dn.h"

/* What the caches shall give back when there is no memory for an entry. */
#define RECLAIM_BYTES ((size_t)1 << 20)

static uint64_t hash_of(struct dirsrv_bytes normal)
{
	return bytes_hash(normal.data, normal.length);
}

static void fill(struct backend *backend, uint64_t seen, uint64_t hash, struct dirsrv_entry *entry)
{
	struct stripe *stripe = &backend->stripe[hash % STRIPES];

	pthread_mutex_lock(&stripe->lock);
	/* An entry that is too large, or in the cache already, is used without it. */
	if (stripe->changed <= seen)
		(void)dirsrv_entry_cache_add(backend->cache, entry);
	pthread_mutex_unlock(&stripe->lock);
}

void cache_drop(struct backend *backend, uint64_t txn_id, uint64_t hash, const struct dirsrv_dn *dn)
{
	struct stripe *stripe = &backend->stripe[hash % STRIPES];
	struct dirsrv_entry *dropped;

	pthread_mutex_lock(&stripe->lock);
	stripe->changed = txn_id;
	dropped = dirsrv_entry_cache_remove(backend->cache, dn);
	pthread_mutex_unlock(&stripe->lock);
	dirsrv_entry_put(dropped);
}

void cache_give_back(struct backend *backend)
{
	slab_reclaim(RECLAIM_BYTES);
	/* Evicted entries are free after a grace period. */
	backend->rcu->barrier();
}

static struct dirsrv_entry *find_cached(struct backend *backend, struct dirsrv_bytes text)
{
	struct dirsrv_dn *dn = dirsrv_dn_make(backend->pool, text.data, text.length);
	struct dirsrv_entry *entry = dn ? dirsrv_entry_cache_get(backend->cache, dn) : NULL;

	dirsrv_dn_free(backend->pool, dn);
	return entry;
}

static struct dirsrv_entry *make(struct backend *backend, uint64_t id, const struct row *row,
				 int *error)
{
	struct pairs pairs = {0};
	struct dirsrv_entry *entry = NULL;

	*error = STORE_CORRUPT;
	if (row_pairs(row, &pairs)) {
		entry = dirsrv_entry_make(backend->pool, row->dn.data, row->dn.length, pairs.pair,
					  pairs.count);
		*error = entry ? 0 : errno == ENOMEM ? ENOMEM : STORE_CORRUPT;
	} else if (pairs.failed) {
		*error = ENOMEM;
	}
	pairs_free(&pairs);
	if (entry)
		dirsrv_entry_set_id(entry, id);
	return entry;
}

struct dirsrv_entry *cache_entry(struct backend *backend, struct store_txn *txn, uint64_t id,
				 const struct row *row, int *error)
{
	struct dirsrv_entry *entry = find_cached(backend, row->dn);

	*error = 0;
	if (entry && dirsrv_entry_id(entry) == id)
		return entry;
	dirsrv_entry_put(entry);
	entry = make(backend, id, row, error);
	if (entry)
		fill(backend, store_txn_id(txn), hash_of(row->normal), entry);
	return entry;
}

static int read_entry(struct backend *backend, struct dirsrv_bytes normal,
		      struct dirsrv_entry **entry, struct backend_result *result)
{
	struct store_txn *txn;
	struct row row;
	uint64_t id;
	int error = store_read_begin(backend->store, &txn);

	if (error)
		return error;
	error = normal.length ? store_find(txn, normal, &id) : MDB_NOTFOUND;
	if (!error)
		error = store_get(txn, id, &row);
	else if (error == MDB_NOTFOUND)
		result_no_such_object(txn, normal, result);
	if (!error)
		*entry = cache_entry(backend, txn, id, &row, &error);
	store_read_end(txn);
	return error;
}

int cache_find(struct backend *backend, struct dirsrv_bytes dn, struct dirsrv_entry **entry,
	       struct backend_result *result)
{
	struct buffer normal = {0};
	int error;

	*entry = find_cached(backend, dn);
	if (*entry)
		return 0;
	if (!dn_normalize(dn, &normal)) {
		error = normal.failed ? ENOMEM : STORE_UNDO;
		result_set(result, LDAP_INVALID_DN_SYNTAX, "invalid DN");
	} else {
		struct dirsrv_bytes name = {normal.data, normal.length};

		error = read_entry(backend, name, entry, result);
		if (error == ENOMEM) {
			cache_give_back(backend);
			error = read_entry(backend, name, entry, result);
		}
	}
	buffer_free(&normal);
	if (error && error != MDB_NOTFOUND)
		result_store(result, error);
	return error;
}
