/* SPDX-License-Identifier: MIT */
/*
 * The database: LMDB with one table of entries by id, one of ids by DN, one of children by
 * parent, and one for each indexed attribute type.
 *
 * Reading is in transactions, each of which sees the database of one moment. A thread must not
 * keep one while it waits for a client: the map cannot grow meanwhile. Writing is one
 * function call for each transaction; when the map is full, it grows and the call is repeated.
 *
 * Functions return 0, a code of LMDB (MDB_NOTFOUND, …) or of errno; store_strerror() has
 * the text. MT-safe; a transaction belongs to one thread.
 */
#pragma once

#include <slab/dirsrv/entry.h>

#include "base/memory.h"

/* --- sets of entry ids, in order -------------------------------------------------------------- */

struct ids {
	uint64_t *id;
	size_t count;
	size_t capacity;
	bool failed; /* no memory: the set is not complete */
};

/* ids_reserve: room for `more` ids behind the last, or NULL. */
uint64_t *ids_reserve(struct ids *ids, size_t more);
void ids_append(struct ids *ids, uint64_t id);

/* ids_sort: put them in order, each once. */
void ids_sort(struct ids *ids);

/* ids_intersect: keep those that are in `other`, too. ids_unite: add those of `other`. Both sets
 * are in order. */
void ids_intersect(struct ids *ids, const struct ids *other);
void ids_unite(struct ids *ids, const struct ids *other);

/* ids_after: the position of the first id that is greater. */
size_t ids_after(const struct ids *ids, uint64_t id);

void ids_free(struct ids *ids);

/* --- rows ---------------------------------------------------------------------------------- */

/* What the database has for an entry. Numbers are in the byte order of the machine. */

/* The parent of the naming context. */
#define ROW_ROOT UINT64_C(0)

/* What a row has; bytes point into it. */
struct row {
	uint64_t parent;
	struct dirsrv_bytes dn;
	struct dirsrv_bytes normal; /* of dn_normalize() */
	struct dirsrv_bytes attributes;
	size_t pairs; /* the number of values */
};

/* Types and values that grow, from slab_malloc(); all zero: none. */
struct pairs {
	struct dirsrv_pair *pair;
	size_t count;
	size_t capacity;
	bool failed;
};

/* row_read: take a row apart. False: the bytes are no row. */
bool row_read(struct dirsrv_bytes data, struct row *row);

/* row_pairs: append the values of a row, which point into it. False: the bytes are no row, or
 * (pairs->failed) there is no memory. */
bool row_pairs(const struct row *row, struct pairs *pairs);

/* row_write: append a row; row->attributes and row->pairs are not read. Pairs of the same type are
 * next to each other. */
void row_write(const struct row *row, const struct dirsrv_pair *pairs, size_t n,
	       struct buffer *out);

/* pairs_insert: put a pair at a position, and move the others. */
void pairs_insert(struct pairs *pairs, size_t at, struct dirsrv_bytes type,
		  struct dirsrv_bytes value);
void pairs_remove(struct pairs *pairs, size_t at, size_t n);
void pairs_free(struct pairs *pairs);

/* --- the database ------------------------------------------------------------------------ */

struct schema_type;
struct store;
struct store_txn;

/* The most types with indexes. */
#define STORE_INDEXES_MAX 64

struct store_config {
	const char *db; /* NULL: a temporary directory */
	bool fsync;
	size_t map_bytes;
	size_t map_limit;
	const char *const *indexes; /* attribute types, ending with NULL */
};

/* A code of store functions: the database has bytes that no version of this program wrote. */
#define STORE_CORRUPT (-40001)

/* --- opening, closing ------------------------------------------------------------------- */

/* store_open: NULL, and one message in error[size]. store_close: no thread uses it any more. */
struct store *store_open(const struct store_config *config, char *error, size_t size);
void store_close(struct store *store);

const char *store_strerror(int code);

struct store_numbers {
	uint64_t entries;
	uint64_t map_bytes;
	uint64_t map_used;
	uint64_t writes;
	uint64_t write_failures;
	uint64_t map_growths;
};

void store_numbers_read(struct store *store, struct store_numbers *numbers);

/* --- transactions ------------------------------------------------------------------------- */

/* store_read_begin: start reading. Waits while the map grows. store_read_end: NULL is allowed. */
int store_read_begin(struct store *store, struct store_txn **txn);
void store_read_end(struct store_txn *txn);

/* store_txn_id: the number of the last write that a reading transaction sees; of a writing one, its
 * own. */
uint64_t store_txn_id(const struct store_txn *txn);

/* What a change returns to undo everything without an error of the database. */
#define STORE_UNDO (-40000)

/* A change: returns 0, STORE_UNDO, or the code of a store function that failed. It may be called
 * again after the map has grown, and must then start anew. */
typedef int store_change_fn(struct store_txn *txn, void *arg);

/*
 * store_write: call a change in a transaction and commit it. One thread writes at a time.
 *
 * @committed  called after the commit and before the next thread writes, with the number of the
 *             transaction; or NULL
 *
 * Returns 0: it is committed; STORE_UNDO; or a code: MDB_MAP_FULL: the map has reached its
 * limit. Then nothing has changed.
 */
int store_write(struct store *store, store_change_fn *change,
		void (*committed)(uint64_t txn_id, void *arg), void *arg);

/* --- entries ------------------------------------------------------------------------------ */

/* store_get: the row of an id, valid until the transaction ends or writes; MDB_NOTFOUND. */
int store_get(struct store_txn *txn, uint64_t id, struct row *row);

/* store_next: the first row with an id greater than *id, which is set; MDB_NOTFOUND. */
int store_next(struct store_txn *txn, uint64_t *id, struct row *row);

/* store_find: the id of a DN in normal form; MDB_NOTFOUND. "" is ROW_ROOT. */
int store_find(struct store_txn *txn, struct dirsrv_bytes normal, uint64_t *id);

/* store_has_children; store_children: append the ids of the children, in order;
 * store_descendants: of all entries below, parents first. */
int store_has_children(struct store_txn *txn, uint64_t id, bool *has);
int store_children(struct store_txn *txn, uint64_t id, struct ids *ids);
int store_descendants(struct store_txn *txn, uint64_t id, struct ids *ids);

/* store_add: add an entry with a new id. store_put: replace a row; `old` are its values until now,
 * which point to memory of the caller; the same array: no value changes.
 * store_delete: remove a leaf. */
int store_add(struct store_txn *txn, const struct row *row, const struct dirsrv_pair *pairs,
	      size_t n, uint64_t *id);
int store_put(struct store_txn *txn, uint64_t id, const struct row *row, const struct pairs *old,
	      const struct dirsrv_pair *pairs, size_t n);
int store_delete(struct store_txn *txn, uint64_t id, const struct row *row,
		 const struct pairs *old);

/* A short text of the server under a name, such as its naming context. MDB_NOTFOUND. */
int store_get_text(struct store_txn *txn, const char *name, struct buffer *out);
int store_put_text(struct store_txn *txn, const char *name, const char *text, size_t length);

/* --- indexes ------------------------------------------------------------------------------ */

/*
 * store_ask: the ids of all entries that have a value of a type, and perhaps of others; in order.
 * The type has its canonical name, and the value is normalized.
 *
 * Returns 0; ENOENT: there is no index of the type; or a code.
 */
int store_ask(struct store_txn *txn, struct dirsrv_bytes type, struct dirsrv_bytes value,
	      struct ids *ids);
