/* SPDX-License-Identifier: MIT */
/* The tables of entries: rows by id, ids by DN, children by parent. */

#include "base/bytes.h"
#include "store/internal.h"
#include "store/store.h"

/* The next id, as a text of the server. */
#define NEXT_ID "next-id"

/* --- reading ------------------------------------------------------------------------------ */

int store_get(struct store_txn *txn, uint64_t id, struct row *row)
{
	MDB_val key = store_val(&id, sizeof(id)), value;
	int error = mdb_get(txn->txn, txn->store->entries, &key, &value);

	if (error)
		return error;
	return row_read(store_bytes(value), row) ? 0 : STORE_CORRUPT;
}

int store_find(struct store_txn *txn, struct dirsrv_bytes normal, uint64_t *id)
{
	uint64_t hash = bytes_hash(normal.data, normal.length);
	struct ids ids = {0};
	struct row row;
	int error;

	*id = ROW_ROOT;
	if (!normal.length)
		return 0;
	error = store_read_ids(txn, txn->store->names, store_val(&hash, sizeof(hash)), &ids);
	for (size_t i = 0; i < ids.count && !error; i++) {
		error = store_get(txn, ids.id[i], &row);
		if (!error && bytes_equal(row.normal, normal)) {
			*id = ids.id[i];
			break;
		}
	}
	ids_free(&ids);
	return error ? error : *id ? 0 : MDB_NOTFOUND;
}

int store_has_children(struct store_txn *txn, uint64_t id, bool *has)
{
	MDB_val key = store_val(&id, sizeof(id)), value;
	int error = mdb_get(txn->txn, txn->store->children, &key, &value);

	*has = !error;
	return error == MDB_NOTFOUND ? 0 : error;
}

int store_children(struct store_txn *txn, uint64_t id, struct ids *ids)
{
	return store_read_ids(txn, txn->store->children, store_val(&id, sizeof(id)), ids);
}

int store_descendants(struct store_txn *txn, uint64_t id, struct ids *ids)
{
	size_t at = ids->count;
	int error = store_children(txn, id, ids);

	for (; at < ids->count && !error; at++)
		error = store_children(txn, ids->id[at], ids);
	return error;
}

/* --- writing ------------------------------------------------------------------------------ */

static int put_row(struct store_txn *txn, uint64_t id, const struct row *row,
		   const struct dirsrv_pair *pairs, size_t n)
{
	MDB_val key = store_val(&id, sizeof(id)), value;
	struct buffer bytes = {0};
	int error = ENOMEM;

	row_write(row, pairs, n, &bytes);
	value = store_val(bytes.data, bytes.length);
	if (!bytes.failed)
		error = mdb_put(txn->txn, txn->store->entries, &key, &value, 0);
	buffer_free(&bytes);
	return error;
}

static int link_id(struct store_txn *txn, MDB_dbi table, uint64_t from, uint64_t to)
{
	MDB_val key = store_val(&from, sizeof(from)), value = store_val(&to, sizeof(to));

	return mdb_put(txn->txn, table, &key, &value, 0);
}

static int unlink_id(struct store_txn *txn, MDB_dbi table, uint64_t from, uint64_t to)
{
	MDB_val key = store_val(&from, sizeof(from)), value = store_val(&to, sizeof(to));
	int error = mdb_del(txn->txn, table, &key, &value);

	return error == MDB_NOTFOUND ? STORE_CORRUPT : error;
}

static uint64_t hash_of(const struct row *row)
{
	return bytes_hash(row->normal.data, row->normal.length);
}

/* The next id: ids are never used again, so that a page of a search goes on where it ended. */
static int take_id(struct store_txn *txn, uint64_t *id)
{
	MDB_val key = store_val(NEXT_ID, strlen(NEXT_ID)), value;
	uint64_t next = 1;
	int error = mdb_get(txn->txn, txn->store->texts, &key, &value);

	if (!error && value.mv_size == sizeof(next))
		memcpy(&next, value.mv_data, sizeof(next));
	else if (error != MDB_NOTFOUND)
		return error ? error : STORE_CORRUPT;
	*id = next++;
	return store_put_text(txn, NEXT_ID, (const char *)&next, sizeof(next));
}

int store_add(struct store_txn *txn, const struct row *row, const struct dirsrv_pair *pairs,
	      size_t n, uint64_t *id)
{
	int error = take_id(txn, id);

	if (!error)
		error = put_row(txn, *id, row, pairs, n);
	if (!error)
		error = link_id(txn, txn->store->names, hash_of(row), *id);
	if (!error)
		error = link_id(txn, txn->store->children, row->parent, *id);
	return error ? error : store_index_change(txn, *id, NULL, 0, pairs, n);
}

int store_put(struct store_txn *txn, uint64_t id, const struct row *row, const struct pairs *old,
	      const struct dirsrv_pair *pairs, size_t n)
{
	int error = put_row(txn, id, row, pairs, n);

	if (error || pairs == old->pair)
		return error;
	return store_index_change(txn, id, old->pair, old->count, pairs, n);
}

int store_delete(struct store_txn *txn, uint64_t id, const struct row *row, const struct pairs *old)
{
	MDB_val key = store_val(&id, sizeof(id));
	int error = unlink_id(txn, txn->store->names, hash_of(row), id);

	if (!error)
		error = unlink_id(txn, txn->store->children, row->parent, id);
	if (!error)
		error = mdb_del(txn->txn, txn->store->entries, &key, NULL);
	return error ? error : store_index_change(txn, id, old->pair, old->count, NULL, 0);
}
