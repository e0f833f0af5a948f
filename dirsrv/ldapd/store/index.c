/* SPDX-License-Identifier: MIT */
/* Indexes: opening and building their tables, and keeping them in step with entries. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/schema.h"
#include "store/keys.h"

#define TABLE_FLAGS (MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP)

/* Under this name the database has the indexes that are in it. */
#define INDEXES "indexes"

/* --- changes ------------------------------------------------------------------------------ */

static int put(struct store_txn *txn, MDB_dbi table, struct dirsrv_bytes key, uint64_t id)
{
	MDB_val k = store_val(key.data, key.length), v = store_val(&id, sizeof(id));
	int error = mdb_put(txn->txn, table, &k, &v, MDB_NODUPDATA);

	return error == MDB_KEYEXIST ? 0 : error;
}

static int drop(struct store_txn *txn, MDB_dbi table, struct dirsrv_bytes key, uint64_t id)
{
	MDB_val k = store_val(key.data, key.length), v = store_val(&id, sizeof(id));
	int error = mdb_del(txn->txn, table, &k, &v);

	return error == MDB_NOTFOUND ? 0 : error;
}

/* Step through both in order: what only `old` has goes, what only `now` has comes. */
static int change(struct store_txn *txn, MDB_dbi table, uint64_t id, const struct keys *old,
		  const struct keys *now)
{
	size_t i = 0, j = 0;
	int error = 0;

	while (!error && (i < old->starts.count || j < now->starts.count)) {
		int order = i == old->starts.count ? 1
			    : j == now->starts.count
				    ? -1
				    : bytes_compare(keys_at(old, i), keys_at(now, j));

		if (order < 0)
			error = drop(txn, table, keys_at(old, i), id);
		else if (order > 0)
			error = put(txn, table, keys_at(now, j), id);
		i += order <= 0;
		j += order >= 0;
	}
	return error;
}

static int change_index(struct store_txn *txn, const struct index *index, uint64_t id,
			const struct dirsrv_pair *old, size_t old_count,
			const struct dirsrv_pair *pairs, size_t n)
{
	struct keys before = {0}, after = {0};
	int error = ENOMEM;

	keys_make(index, old, old_count, &before);
	keys_make(index, pairs, n, &after);
	if (!keys_failed(&before) && !keys_failed(&after))
		error = change(txn, index->table, id, &before, &after);
	keys_free(&before);
	keys_free(&after);
	return error;
}

int store_index_change(struct store_txn *txn, uint64_t id, const struct dirsrv_pair *old,
		       size_t old_count, const struct dirsrv_pair *pairs, size_t n)
{
	const struct store *store = txn->store;
	int error = 0;

	for (unsigned i = 0; i < store->indexes && !error; i++)
		error = change_index(txn, &store->index[i], id, old, old_count, pairs, n);
	return error;
}

/* --- opening ------------------------------------------------------------------------------ */

/* "cn:6 sn:2 …" */
static void describe(const struct store *store, struct buffer *out)
{
	char word[96];

	for (unsigned i = 0; i < store->indexes; i++) {
		snprintf(word, sizeof(word), "%s:%u ", store->index[i].name, store->index[i].kinds);
		buffer_text(out, word);
	}
}

static int open_table(struct store_txn *txn, const char *name, unsigned flags, MDB_dbi *table)
{
	char full[96];

	snprintf(full, sizeof(full), "index.%s", name);
	return mdb_dbi_open(txn->txn, full, TABLE_FLAGS | flags, table);
}

/* Remove the tables of the indexes that the database has. */
static int drop_tables(struct store_txn *txn, const char *described)
{
	char name[64];
	unsigned kinds;
	int used, error = 0;

	while (!error && sscanf(described, "%63[^:]:%u %n", name, &kinds, &used) == 2) {
		MDB_dbi table;

		described += used;
		error = open_table(txn, name, 0, &table);
		if (!error)
			error = mdb_drop(txn->txn, table, 1);
		if (error == MDB_NOTFOUND)
			error = 0;
	}
	return error;
}

static int build(struct store_txn *txn)
{
	uint64_t id = 0;
	struct row row;
	int error;

	while (!(error = store_next(txn, &id, &row))) {
		struct pairs pairs = {0};

		/* The row stays where it is: only other tables change. Its page does not. */
		error = row_pairs(&row, &pairs)
				? store_index_change(txn, id, NULL, 0, pairs.pair, pairs.count)
				: (pairs.failed ? ENOMEM : STORE_CORRUPT);
		pairs_free(&pairs);
		if (error)
			return error;
	}
	return error == MDB_NOTFOUND ? 0 : error;
}

static int open_tables(struct store_txn *txn, unsigned flags)
{
	struct store *store = txn->store;
	int error = 0;

	for (unsigned i = 0; i < store->indexes && !error; i++)
		error = open_table(txn, store->index[i].name, flags, &store->index[i].table);
	return error;
}

/* Open the tables; if the database has other indexes, make them anew. */
static int open_or_build(struct store_txn *txn, void *arg)
{
	struct buffer has = {0}, wanted = {0};
	int error = store_get_text(txn, INDEXES, &has);

	(void)arg;
	describe(txn->store, &wanted);
	buffer_byte(&has, '\0');
	buffer_byte(&wanted, '\0');
	if (error == MDB_NOTFOUND)
		error = 0;
	if (has.failed || wanted.failed)
		error = ENOMEM;
	if (!error && strcmp(has.data, wanted.data) == 0) {
		error = open_tables(txn, MDB_CREATE);
	} else if (!error) {
		error = drop_tables(txn, has.data);
		if (!error)
			error = open_tables(txn, MDB_CREATE);
		if (!error)
			error = build(txn);
		if (!error)
			error = store_put_text(txn, INDEXES, wanted.data, wanted.length - 1);
	}
	buffer_free(&has);
	buffer_free(&wanted);
	return error;
}

static bool add_index(struct store *store, const struct backend_index *wanted, char *error,
		      size_t size)
{
	struct index *index = &store->index[store->indexes];
	struct dirsrv_bytes base, options;
	bool valid;

	index->schema = schema_split(bytes_of(wanted->type), &base, &options, &valid);
	if (!valid || options.length || base.length >= sizeof(index->name)) {
		snprintf(error, size, "index '%s': this is no attribute type", wanted->type);
		return false;
	}
	if (store->indexes == BACKEND_INDEXES_MAX) {
		snprintf(error, size, "more than %d indexes", BACKEND_INDEXES_MAX);
		return false;
	}
	memcpy(index->name, base.data, base.length);
	index->name[base.length] = '\0';
	index->kinds = wanted->kinds;
	for (unsigned i = 0; i < store->indexes; i++)
		if (strcasecmp(store->index[i].name, index->name) == 0) {
			snprintf(error, size, "index '%s' is configured twice", index->name);
			return false;
		}
	store->indexes++;
	return true;
}

bool store_index_open(struct store *store, const struct store_config *config, char *error,
		      size_t size)
{
	int failed;

	for (const struct backend_index *wanted = config->indexes; wanted->type; wanted++)
		if (!add_index(store, wanted, error, size))
			return false;
	failed = store_write(store, open_or_build, NULL, NULL);
	if (failed)
		snprintf(error, size, "%s: cannot build the indexes: %s", config->db,
			 store_strerror(failed));
	return !failed;
}
