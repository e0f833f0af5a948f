/* SPDX-License-Identifier: MIT */
/* What the files of this room need of single tables: the rows in turn, short texts, errors. */
#include <string.h>

#include "store/internal.h"

const char *store_strerror(int code)
{
	if (code == STORE_CORRUPT)
		return "the database is damaged: an entry has bytes that this program never writes";
	return mdb_strerror(code);
}

int store_next(struct store_txn *txn, uint64_t *id, struct row *row)
{
	uint64_t wanted = *id + 1;
	MDB_val key = store_val(&wanted, sizeof(wanted)), value;
	int error = 0;

	if (!txn->scan)
		error = mdb_cursor_open(txn->txn, txn->store->entries, &txn->scan);
	if (!error)
		error = mdb_cursor_get(txn->scan, &key, &value, MDB_SET_RANGE);
	if (error)
		return error;
	if (key.mv_size != sizeof(*id) || !row_read(store_bytes(value), row))
		return STORE_CORRUPT;
	memcpy(id, key.mv_data, sizeof(*id));
	return 0;
}

int store_get_text(struct store_txn *txn, const char *name, struct buffer *out)
{
	MDB_val key = store_val(name, strlen(name)), value;
	int error = mdb_get(txn->txn, txn->store->texts, &key, &value);

	if (!error)
		buffer_append(out, value.mv_data, value.mv_size);
	return error;
}

int store_put_text(struct store_txn *txn, const char *name, const char *text, size_t length)
{
	MDB_val key = store_val(name, strlen(name)), value = store_val(text, length);

	return mdb_put(txn->txn, txn->store->texts, &key, &value, 0);
}
