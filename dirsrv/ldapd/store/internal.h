/* SPDX-License-Identifier: MIT */
/* The structures of the database, for the files of this room. */
#pragma once

#include <lmdb.h>

#include "store/store.h"

struct schema_type;

/* An indexed type and its table. */
struct index {
	char name[64]; /* of the type, canonical */
	const struct schema_type *schema;
	MDB_dbi table;
};

struct store_txn {
	struct store *store;
	MDB_txn *txn;
	MDB_cursor *scan; /* of a reading transaction: over the entries; or NULL */
	struct store_txn *next; /* in store->idle */
};

struct store {
	MDB_env *env;
	int lock; /* the descriptor whose lock says that a process writes here; or -1 */
	bool temporary;
	size_t map_limit;
	MDB_dbi entries; /* id: row */
	MDB_dbi names; /* hash of a normal DN: ids */
	MDB_dbi children; /* id: ids */
	MDB_dbi texts; /* name: text */
	struct index index[STORE_INDEXES_MAX];
	unsigned indexes;

	pthread_mutex_t writer; /* one write at a time, with what follows its commit */

	pthread_mutex_t gate; /* protects what follows */
	pthread_cond_t moved; /* a reader has left, or the map has grown */
	struct store_txn *idle;
	unsigned readers; /* transactions in use */
	bool growing; /* no transaction may begin */

	/* Counted without a lock. */
	uint64_t writes, write_failures, map_growths;
};

/* The most reading transactions at a time. */
#define STORE_READERS_MAX 1022

static inline MDB_val store_val(const void *data, size_t length)
{
	MDB_val val = {.mv_size = length, .mv_data = (void *)data};

	return val;
}

static inline struct dirsrv_bytes store_bytes(MDB_val val)
{
	struct dirsrv_bytes bytes = {.data = val.mv_data, .length = val.mv_size};

	return bytes;
}

/* store_read_ids: append the ids that a table of ids has under a key; 0 also without any. */
int store_read_ids(struct store_txn *txn, MDB_dbi table, MDB_val key, struct ids *ids);

/* store_index_change: bring all indexes from the old values of an entry to the new ones. */
int store_index_change(struct store_txn *txn, uint64_t id, const struct dirsrv_pair *old,
		       size_t old_count, const struct dirsrv_pair *pairs, size_t n);

/* store_index_open: open the tables of the indexes that the configuration has, and build them if
 * the database has others. Sets error[size] when it fails. */
bool store_index_open(struct store *store, const struct store_config *config, char *error,
		      size_t size);
