/* SPDX-License-Identifier: MIT */
/* What indexes know: ids by presence, equality, order, substrings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "store/keys.h"

/* With no more ids than this, an index is not asked for a further part of a value. */
#define FEW_IDS 32

/* The most parts of three bytes that are looked up for one value. */
#define GRAMS_MAX 24

static const struct index *find_index(const struct store *store, struct dirsrv_bytes type,
				      unsigned kind)
{
	for (unsigned i = 0; i < store->indexes; i++)
		if (store->index[i].kinds & kind &&
		    bytes_equal_folded(bytes_of(store->index[i].name), type))
			return &store->index[i];
	return NULL;
}

/* --- lists of ids ------------------------------------------------------------------------- */

/* Append all ids under the key at which the cursor stands; `value` is the first. */
static int read_here(MDB_cursor *cursor, MDB_val key, MDB_val value, struct ids *ids)
{
	size_t count;
	int error = mdb_cursor_count(cursor, &count);
	uint64_t *to = error ? NULL : ids_reserve(ids, count);

	if (!to)
		return error ? error : ENOMEM;
	if (count == 1) {
		memcpy(to, value.mv_data, sizeof(*to));
		ids->count++;
		return 0;
	}
	error = mdb_cursor_get(cursor, &key, &value, MDB_GET_MULTIPLE);
	while (!error) {
		memcpy(to, value.mv_data, value.mv_size);
		to += value.mv_size / sizeof(*to);
		ids->count += value.mv_size / sizeof(*to);
		error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_MULTIPLE);
	}
	return error == MDB_NOTFOUND ? 0 : error;
}

int store_read_ids(struct store_txn *txn, MDB_dbi table, MDB_val key, struct ids *ids)
{
	MDB_cursor *cursor;
	MDB_val value;
	int error = mdb_cursor_open(txn->txn, table, &cursor);

	if (error)
		return error;
	error = mdb_cursor_get(cursor, &key, &value, MDB_SET_KEY);
	if (!error)
		error = read_here(cursor, key, value, ids);
	mdb_cursor_close(cursor);
	return error == MDB_NOTFOUND ? 0 : error;
}

int store_count_ids(struct store_txn *txn, MDB_dbi table, MDB_val key, size_t *count)
{
	MDB_cursor *cursor;
	MDB_val first;
	size_t counted = 0;
	int error = mdb_cursor_open(txn->txn, table, &cursor);

	*count = 0;
	if (error)
		return error;
	/* LMDB counts only behind a cursor that has read the first. */
	error = mdb_cursor_get(cursor, &key, &first, MDB_SET);
	if (!error)
		error = mdb_cursor_count(cursor, &counted);
	*count = counted;
	mdb_cursor_close(cursor);
	return error == MDB_NOTFOUND ? 0 : error;
}

/* --- order -------------------------------------------------------------------------------- */

static struct dirsrv_bytes begin_of(struct dirsrv_bytes text)
{
	text.length = text.length < KEY_TEXT ? text.length : KEY_TEXT;
	return text;
}

/* Does a key belong to the range? Long values are known by their beginnings. */
static bool in_range(const struct store_question *question, MDB_val key)
{
	struct dirsrv_bytes text = store_bytes(key);

	if (!text.length || *(const char *)text.data != KEY_EQUALITY)
		return false;
	text.data = (const char *)text.data + 1;
	text.length--;
	return question->query == STORE_GREATER ||
	       bytes_compare(begin_of(text), begin_of(question->value)) <= 0;
}

static int ask_range(struct store_txn *txn, const struct index *index,
		     const struct store_question *question, struct ids *ids)
{
	struct dirsrv_bytes begin = begin_of(question->value);
	char from[1 + KEY_TEXT] = {KEY_EQUALITY};
	MDB_val key = store_val(from, 1), value;
	MDB_cursor *cursor;
	int error = mdb_cursor_open(txn->txn, index->table, &cursor);

	if (error)
		return error;
	if (question->query == STORE_GREATER && begin.length) {
		memcpy(from + 1, begin.data, begin.length);
		key.mv_size += begin.length;
	}
	error = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	while (!error && in_range(question, key)) {
		error = read_here(cursor, key, value, ids);
		if (!error)
			error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_NODUP);
	}
	mdb_cursor_close(cursor);
	ids_sort(ids);
	return error == MDB_NOTFOUND ? 0 : error;
}

/* --- substrings --------------------------------------------------------------------------- */

/* A part of three bytes, and how many ids it has. */
struct gram {
	char key[1 + KEY_GRAM];
	size_t count;
};

static int by_count(const void *a, const void *b)
{
	const struct gram *x = a, *y = b;

	return x->count < y->count ? -1 : x->count > y->count;
}

/* The parts of a value, the rarest first. */
static int find_grams(struct store_txn *txn, const struct index *index, struct dirsrv_bytes value,
		      struct gram grams[GRAMS_MAX], size_t *ret_n)
{
	size_t n = 0;
	int error = 0;

	for (size_t i = 0; i + KEY_GRAM <= value.length && n < GRAMS_MAX && !error; i++, n++) {
		grams[n].key[0] = KEY_SUBSTRING;
		memcpy(grams[n].key + 1, (const char *)value.data + i, KEY_GRAM);
		error = store_count_ids(txn, index->table,
					store_val(grams[n].key, sizeof(grams[n].key)),
					&grams[n].count);
	}
	qsort(grams, n, sizeof(*grams), by_count);
	*ret_n = n;
	return error ? error : n ? 0 : ENOENT;
}

static int ask_substring(struct store_txn *txn, const struct index *index,
			 struct dirsrv_bytes value, struct ids *ids)
{
	struct gram grams[GRAMS_MAX];
	size_t n;
	int error = find_grams(txn, index, value, grams, &n);

	for (size_t i = 0; i < n && !error && (!i || ids->count > FEW_IDS); i++) {
		struct ids more = {0};

		error = store_read_ids(txn, index->table,
				       store_val(grams[i].key, sizeof(grams[i].key)),
				       i ? &more : ids);
		if (i)
			ids_intersect(ids, &more);
		ids_free(&more);
	}
	return error;
}

/* --- questions ---------------------------------------------------------------------------- */

static const struct index *index_for(const struct store *store,
				     const struct store_question *question)
{
	static const unsigned kinds[] = {[STORE_PRESENT] = BACKEND_INDEX_PRESENCE,
					 [STORE_EQUAL] = BACKEND_INDEX_EQUALITY,
					 [STORE_GREATER] = BACKEND_INDEX_EQUALITY,
					 [STORE_LESS] = BACKEND_INDEX_EQUALITY,
					 [STORE_SUBSTRING] = BACKEND_INDEX_SUBSTRING};

	return find_index(store, question->type, kinds[question->query]);
}

/* The key of a question for presence or equality. */
static MDB_val key_of(const struct store_question *question, char key[KEY_MAX])
{
	if (question->query == STORE_EQUAL)
		return store_val(key, keys_equality(question->value, key));
	key[0] = KEY_PRESENCE;
	return store_val(key, 1);
}

int store_ask(struct store_txn *txn, const struct store_question *question, struct ids *ids)
{
	const struct index *index = index_for(txn->store, question);
	char key[KEY_MAX];

	if (!index)
		return ENOENT;
	if (question->query == STORE_SUBSTRING)
		return ask_substring(txn, index, question->value, ids);
	if (question->query == STORE_GREATER || question->query == STORE_LESS)
		return ask_range(txn, index, question, ids);
	return store_read_ids(txn, index->table, key_of(question, key), ids);
}

int store_estimate(struct store_txn *txn, const struct store_question *question, size_t *count)
{
	const struct index *index = index_for(txn->store, question);
	struct gram grams[GRAMS_MAX];
	char key[KEY_MAX];
	MDB_stat stat;
	size_t n;
	int error;

	if (!index)
		return ENOENT;
	if (question->query == STORE_SUBSTRING) {
		error = find_grams(txn, index, question->value, grams, &n);
		*count = error ? 0 : grams[0].count;
		return error;
	}
	if (question->query == STORE_PRESENT || question->query == STORE_EQUAL)
		return store_count_ids(txn, index->table, key_of(question, key), count);
	/* A range may have all values. */
	error = mdb_stat(txn->txn, index->table, &stat);
	*count = error ? 0 : stat.ms_entries;
	return error;
}
