/* SPDX-License-Identifier: MIT */
/* The structures of the backend, for the files of this room. */
#pragma once

#include "backend/backend.h"
#include "base/memory.h"
#include "schema/schema.h"
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

/* cache_give_back: evict entries, and wait until their memory is free. The caller has no
 * transaction, no lock, and is in no section. */
void cache_give_back(struct backend *backend);

/* cache_drop: write number txn_id has changed the entry with this DN. */
void cache_drop(struct backend *backend, uint64_t txn_id, uint64_t hash,
		const struct dirsrv_dn *dn);

/* cache_find: the entry with a DN, with a reference. Returns 0, MDB_NOTFOUND with a result that
 * says so, or another code. */
int cache_find(struct backend *backend, struct dirsrv_bytes dn, struct dirsrv_entry **entry,
	       struct backend_result *result);

/* --- candidates ----------------------------------------------------------------------------- */

/* candidates_find: the ids that may match a prepared filter; *all: the indexes cannot tell. */
int candidates_find(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all);

/* --- drafts ------------------------------------------------------------------------------- */

/*
 * An entry that is being made or changed: types by their canonical names, values of a type next to
 * each other. A draft that is all zero is empty. Functions return a result code of LDAP and
 * set the result, if the change is not allowed.
 */
struct draft {
	struct pairs pairs;
	struct arena arena; /* of types and values that are not the caller's */
	struct backend_result *result;
	bool trusted; /* from LDIF: may set what clients cannot */
};

/* draft_failed: whether memory ran out at some time. draft_free: the caller's bytes stay. */
bool draft_failed(const struct draft *draft);
void draft_free(struct draft *draft);

/* draft_load: start with the values of an entry, which stay valid. */
void draft_load(struct draft *draft, const struct pairs *pairs);

/* draft_add_pairs: add the values of a new entry, and check each type. */
int draft_add_pairs(struct draft *draft, const struct dirsrv_pair *pairs, size_t n);

/* draft_check_values: the values of a modification by themselves; the draft is empty. */
int draft_check_values(struct draft *draft, const struct backend_modification *modification);

/* draft_modify: one modification, whose values were checked. */
int draft_modify(struct draft *draft, const struct backend_modification *modification);

/* draft_check: whether the entry has a class. */
int draft_check(struct draft *draft);

/* draft_rdn: check that the values of an RDN are there, or add them. */
enum draft_rdn {
	DRAFT_RDN_ADD, /* add what is missing */
	DRAFT_RDN_CHECK /* LDAP_NOT_ALLOWED_ON_RDN if a value is missing */
};

int draft_rdn(struct draft *draft, struct dirsrv_bytes dn, enum draft_rdn what);

/* draft_stamp: who changed the entry, and when; with `created` also entryUUID and so on, where the
 * draft has none. */
void draft_stamp(struct draft *draft, const char *actor, bool created);

/* --- the values of one type of a draft ------------------------------------------------------ */

/* A type, and where its values are in the draft. */
struct values {
	const struct schema_type *schema;
	struct dirsrv_bytes name;
	size_t at; /* the first; without any, where they belong */
	size_t count;
};

/* values_find: look a type up in the draft; LDAP_UNDEFINED_TYPE: this is no type. */
int values_find(struct draft *draft, struct dirsrv_bytes type, struct values *values);

/* values_check: whether the values are of the syntax, each is there once, and there are no more
 * than the type allows. `what` begins the message. */
int values_check(struct draft *draft, const struct values *values, const char *what);

/* values_position: the position of a value that matches; -1: there is none. */
long values_position(struct draft *draft, const struct values *values, struct dirsrv_bytes value);

/* values_remove: remove n values, no two of which match; false: one of them is not there, and
 * others may be gone. The time is that of sorting. */
bool values_remove(struct draft *draft, struct values *values, const struct dirsrv_bytes *given,
		   size_t n);

/* values_append: one more value, behind the others. */
void values_append(struct draft *draft, struct values *values, struct dirsrv_bytes value);

/* --- writes --------------------------------------------------------------------------------- */

/* An entry that the cache must drop after the commit. */
struct stale {
	uint64_t hash; /* of its DN in normal form */
	struct dirsrv_dn *dn;
};

struct write {
	struct backend *backend;
	struct backend_result *result;
	const char *actor;
	struct dirsrv_bytes dn;
	struct buffer normal; /* of the DN */

	/* What follows is set anew whenever the transaction starts again. */
	uint64_t id;
	struct buffer image; /* a copy of the row, to which `row` and `old` point */
	struct row row;
	struct pairs old;
	struct draft draft;
	struct buffer stale; /* of struct stale */
};

/* write_begin: forget an earlier attempt. */
void write_begin(struct write *write);

/* add_entry: add an entry within a transaction, for the operation and for LDIF; write->dn and
 * write->normal are set. STORE_UNDO: the result says why not. */
int add_entry(struct write *write, struct store_txn *txn, const struct dirsrv_pair *pairs, size_t n,
	      bool trusted);
