/* SPDX-License-Identifier: MIT */
/* The structures of the backend, for the files of this room. */
#ifndef LDAPD_BACKEND_INTERNAL_H
#define LDAPD_BACKEND_INTERNAL_H

#include <pthread.h>

#include "backend/backend.h"
#include "store/store.h"

/* Locks of the entry cache, by the hash of the DN. */
#define STRIPES 256

/*
 * A reader must not put an entry into the cache that a write has replaced meanwhile. So each write
 * records its number for the DNs that it changes, and a reader fills the cache only if its
 * transaction has seen that write.
 */
struct stripe {
	pthread_mutex_t
		lock; /* protects `changed`, and adding and removing entries of this stripe */
	uint64_t changed; /* number of the last write to an entry of this stripe */
};

struct backend {
	struct store *store;
	struct dirsrv_entry_pool *pool;
	struct dirsrv_entry_cache *cache;
	const struct rcu_flavor_struct *rcu;
	struct stripe stripe[STRIPES];

	char *suffix; /* set once, behind its normal form; NULL: none yet */
	struct buffer suffix_normal;

	uint64_t searches, candidates, scans; /* counted without a lock */
};

/* A text of the database: how far the last load got. */
#define LOAD_STATE "load"
#define LOAD_BEGUN "begun"
#define LOAD_COMPLETE "complete"

/* --- results ------------------------------------------------------------------------------ */

/* result_set: the code and the message, formatted as by printf(). */
void result_set(struct backend_result *result, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* result_store: the result for what a store function returned; STORE_UNDO leaves it as it is. */
void result_store(struct backend_result *result, int error);

/* result_no_such_object: LDAP_NO_SUCH_OBJECT with the nearest entry above that exists. */
void result_no_such_object(struct store_txn *txn, struct dirsrv_bytes normal,
			   struct backend_result *result);

/* --- the naming context --------------------------------------------------------------------- */

/* suffix_holds: whether a DN in normal form is the naming context or below it. suffix_set: set it
 * where there is none; 0, -ENOMEM, -EINVAL: no DN. suffix_save: write it to the database. */
bool suffix_holds(struct backend *backend, struct dirsrv_bytes normal);
int suffix_set(struct backend *backend, struct dirsrv_bytes dn);
int suffix_save(struct backend *backend, struct store_txn *txn);

/* --- the entry cache ------------------------------------------------------------------------ */

/* cache_entry: the entry of a row, from the cache or made and put there, with a reference. NULL and
 * *error: ENOMEM, STORE_CORRUPT. */
struct dirsrv_entry *cache_entry(struct backend *backend, struct store_txn *txn, uint64_t id,
				 const struct row *row, int *error);

/* cache_give_back: evict entries, and wait until their memory is free. The caller has no transaction,
 * no lock, and is in no section. */
void cache_give_back(struct backend *backend);

/* cache_drop: write number txn_id has changed the entry with this DN. */
void cache_drop(struct backend *backend, uint64_t txn_id, uint64_t hash,
		const struct dirsrv_dn *dn);

/* cache_find: the entry with a DN, with a reference. Returns 0, MDB_NOTFOUND with a result that says
 * so, or another code. */
int cache_find(struct backend *backend, struct dirsrv_bytes dn, struct dirsrv_entry **entry,
	       struct backend_result *result);

/* --- candidates ----------------------------------------------------------------------------- */

/* candidates_find: the ids that may match a prepared filter; *all: the indexes cannot tell. */
int candidates_find(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all);

/* backend_value: filter_computed_fn for the entries of a backend. */
filter_computed_fn backend_value;

#endif /* LDAPD_BACKEND_INTERNAL_H */
