/* SPDX-License-Identifier: MIT */
/*
 * Transactions; single tables. Reading transactions are kept for reuse. The map grows when none is
 * in use: then readers wait at the gate, and LMDB maps the file again.
 */
#include <slab/malloc.h>

#include "store/internal.h"

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* --- reading ------------------------------------------------------------------------------ */

/* Pass the gate with a transaction that is not in use, or NULL: there is none. */
static struct store_txn *enter(struct store *store)
{
	struct store_txn *txn;

	pthread_mutex_lock(&store->gate);
	while (store->growing || store->readers == STORE_READERS_MAX)
		pthread_cond_wait(&store->moved, &store->gate);
	store->readers++;
	txn = store->idle;
	if (txn)
		store->idle = txn->next;
	pthread_mutex_unlock(&store->gate);
	return txn;
}

static void leave(struct store *store, struct store_txn *txn)
{
	pthread_mutex_lock(&store->gate);
	if (txn) {
		txn->next = store->idle;
		store->idle = txn;
	}
	if (store->readers-- == STORE_READERS_MAX || store->growing)
		pthread_cond_broadcast(&store->moved);
	pthread_mutex_unlock(&store->gate);
}

static int make(struct store *store, struct store_txn **ret)
{
	struct store_txn *txn = slab_calloc(1, sizeof(*txn));
	int error = txn ? mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn->txn) : ENOMEM;

	if (error) {
		slab_mfree(txn);
		return error;
	}
	txn->store = store;
	*ret = txn;
	return 0;
}

int store_read_begin(struct store *store, struct store_txn **ret)
{
	struct store_txn *txn = enter(store);
	int error;

	if (!txn) {
		error = make(store, &txn);
	} else {
		error = mdb_txn_renew(txn->txn);
		if (!error && txn->scan)
			error = mdb_cursor_renew(txn->txn, txn->scan);
	}
	if (error)
		leave(store, txn);
	*ret = error ? NULL : txn;
	return error;
}

void store_read_end(struct store_txn *txn)
{
	if (!txn)
		return;
	mdb_txn_reset(txn->txn);
	leave(txn->store, txn);
}

uint64_t store_txn_id(const struct store_txn *txn)
{
	return mdb_txn_id(txn->txn);
}

/* --- writing ------------------------------------------------------------------------------ */

/* Double the map. The caller is the writer, and has no transaction. */
static int grow(struct store *store)
{
	MDB_envinfo info;
	size_t wanted;
	int error;

	pthread_mutex_lock(&store->gate);
	mdb_env_info(store->env, &info);
	wanted = info.me_mapsize * 2 < store->map_limit ? info.me_mapsize * 2 : store->map_limit;
	if (wanted <= info.me_mapsize) {
		pthread_mutex_unlock(&store->gate);
		return MDB_MAP_FULL;
	}
	store->growing = true;
	while (store->readers)
		pthread_cond_wait(&store->moved, &store->gate);
	error = mdb_env_set_mapsize(store->env, wanted);
	store->growing = false;
	pthread_cond_broadcast(&store->moved);
	pthread_mutex_unlock(&store->gate);
	if (!error)
		count(&store->map_growths);
	return error;
}

/* One attempt. */
static int attempt(struct store *store, store_change_fn *change, void *arg, uint64_t *ret_id)
{
	struct store_txn txn = {.store = store};
	int error = mdb_txn_begin(store->env, NULL, 0, &txn.txn);

	if (error)
		return error;
	*ret_id = mdb_txn_id(txn.txn);
	error = change(&txn, arg);
	if (txn.scan)
		mdb_cursor_close(txn.scan);
	if (!error)
		return mdb_txn_commit(txn.txn);
	mdb_txn_abort(txn.txn);
	return error;
}

int store_write(struct store *store, store_change_fn *change,
		void (*committed)(uint64_t txn_id, void *arg), void *arg)
{
	uint64_t id = 0;
	int error;

	pthread_mutex_lock(&store->writer);
	do {
		error = attempt(store, change, arg, &id);
		if (error == MDB_MAP_FULL)
			error = grow(store) ? MDB_MAP_FULL : EAGAIN;
	} while (error == EAGAIN);
	if (!error && committed)
		committed(id, arg);
	pthread_mutex_unlock(&store->writer);
	if (error != STORE_UNDO)
		count(error ? &store->write_failures : &store->writes);
	return error;
}

/* --- single tables: the rows in turn, short texts, errors ----------------------------------- */

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
