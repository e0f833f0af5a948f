/* SPDX-License-Identifier: MIT */
/*
 * Entries through dirsrv's entry cache; reading single entries: by DN, compare.
 */
#include <lmdb.h>
#include <slab/memory.h>
#include <urcu/flavor.h>

#include "backend/internal.h"
#include "base/bytes.h"
#include "schema/dn.h"
#include "schema/schema.h"

/* --- the entry cache ------------------------------------------------------------------------ */

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

/* --- single entries ------------------------------------------------------------------------- */

struct dirsrv_entry *backend_get(struct backend *backend, const char *dn, size_t length)
{
	struct backend_result result;
	struct dirsrv_entry *entry;

	cache_find(backend, (struct dirsrv_bytes){dn, length}, &entry, &result);
	return entry;
}

/* The result of a prepared node for equality. */
static void compare(struct filter *filter, struct dirsrv_entry *entry,
		    struct backend_result *result)
{
	enum filter_result matches;

	filter->kind = FILTER_PRESENT;
	matches = filter_matches(filter, entry);
	if (schema_rule_of(filter->schema) == SCHEMA_NO_MATCH)
		result_set(result, LDAP_INAPPROPRIATE_MATCHING,
			   "the attribute has no equality matching rule");
	else if (filter->invalid)
		result_set(result, LDAP_INVALID_SYNTAX,
			   "the value is not of the attribute's syntax");
	else if (matches != FILTER_TRUE)
		result_set(result, LDAP_NO_SUCH_ATTRIBUTE, "%s", "");
	else {
		filter->kind = FILTER_EQUAL;
		matches = filter_matches(filter, entry);
		result_set(result, matches == FILTER_TRUE ? LDAP_COMPARE_TRUE : LDAP_COMPARE_FALSE,
			   "%s", "");
	}
}

void backend_compare(struct backend *backend, struct dirsrv_bytes dn, struct dirsrv_bytes type,
		     struct dirsrv_bytes value, struct backend_result *result)
{
	struct dirsrv_entry *entry;
	struct filter *filter;

	if (cache_find(backend, dn, &entry, result))
		return;
	filter = filter_new(FILTER_EQUAL);
	if (filter) {
		filter->type = type;
		filter->value = value;
	}
	if (!filter || filter_prepare(filter))
		result_store(result, ENOMEM);
	else
		compare(filter, entry, result);
	filter_free(filter);
	dirsrv_entry_put(entry);
}
