/* SPDX-License-Identifier: MIT */
/* The tables of entries: rows by id, ids by DN, children by parent. */
#include <errno.h>
#include <slab/malloc.h>
#include <string.h>

#include "base/bytes.h"
#include "store/internal.h"
#include "store/store.h"

/* --- rows: a header, two texts, then for each type its values ------------------------------- */

struct header {
	uint64_t parent;
	uint32_t dn; /* lengths */
	uint32_t normal;
	uint32_t attributes;
	uint32_t pairs;
};

/* Before each type. Before each value stands its length in 32 bits. */
struct attribute {
	uint32_t values;
	uint32_t type; /* length */
};

/* Bytes that are being read. */
struct reading {
	const char *at;
	size_t left;
};

static const char *take(struct reading *r, size_t length)
{
	const char *at = r->at;

	if (r->left < length)
		return NULL;
	r->at += length;
	r->left -= length;
	return at;
}

static bool take_copy(struct reading *r, void *to, size_t length)
{
	const char *from = take(r, length);

	if (from)
		memcpy(to, from, length);
	return from != NULL;
}

static bool take_bytes(struct reading *r, size_t length, struct dirsrv_bytes *bytes)
{
	bytes->data = take(r, length);
	bytes->length = length;
	return bytes->data != NULL;
}

bool row_read(struct dirsrv_bytes data, struct row *row)
{
	struct reading r = {.at = data.data, .left = data.length};
	struct header header;

	if (!take_copy(&r, &header, sizeof(header)))
		return false;
	row->parent = header.parent;
	row->pairs = header.pairs;
	return take_bytes(&r, header.dn, &row->dn) && take_bytes(&r, header.normal, &row->normal) &&
	       take_bytes(&r, header.attributes, &row->attributes) && !r.left;
}

static struct dirsrv_pair *reserve_pairs(struct pairs *pairs, size_t more)
{
	struct dirsrv_pair *grown = pairs->failed ? NULL
						  : array_grow(pairs->pair, &pairs->capacity,
							       pairs->count + more, sizeof(*grown));

	if (!grown) {
		pairs->failed = true;
		return NULL;
	}
	pairs->pair = grown;
	return grown + pairs->count;
}

static bool read_attribute(struct reading *r, struct pairs *pairs)
{
	struct attribute attribute;
	struct dirsrv_pair pair;
	uint32_t length;

	if (!take_copy(r, &attribute, sizeof(attribute)) ||
	    !take_bytes(r, attribute.type, &pair.type))
		return false;
	for (; attribute.values; attribute.values--) {
		if (!take_copy(r, &length, sizeof(length)) || !take_bytes(r, length, &pair.value) ||
		    pairs->count == pairs->capacity)
			return false;
		pairs->pair[pairs->count++] = pair;
	}
	return true;
}

bool row_pairs(const struct row *row, struct pairs *pairs)
{
	struct reading r = {.at = row->attributes.data, .left = row->attributes.length};

	/* A value takes at least the four bytes of its length. */
	if (row->pairs > row->attributes.length / 4 || !reserve_pairs(pairs, row->pairs))
		return false;
	while (r.left)
		if (!read_attribute(&r, pairs))
			return false;
	return true;
}

static void write_attribute(const struct dirsrv_pair *pairs, size_t n, struct buffer *out)
{
	struct attribute attribute = {.values = (uint32_t)n, .type = (uint32_t)pairs->type.length};

	buffer_append(out, &attribute, sizeof(attribute));
	buffer_append(out, pairs->type.data, pairs->type.length);
	for (size_t i = 0; i < n; i++) {
		uint32_t length = (uint32_t)pairs[i].value.length;

		buffer_append(out, &length, sizeof(length));
		buffer_append(out, pairs[i].value.data, length);
	}
}

/* Append a row; row->attributes and row->pairs are not read. Pairs of the same type are
 * next to each other. */
static void row_write(const struct row *row, const struct dirsrv_pair *pairs, size_t n,
		      struct buffer *out)
{
	struct header header = {.parent = row->parent,
				.dn = (uint32_t)row->dn.length,
				.normal = (uint32_t)row->normal.length,
				.pairs = (uint32_t)n};
	size_t start = out->length, from;

	buffer_append(out, &header, sizeof(header));
	buffer_append(out, row->dn.data, row->dn.length);
	buffer_append(out, row->normal.data, row->normal.length);
	from = out->length;
	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && bytes_equal_folded(pairs[i].type, pairs[end].type))
			end++;
		write_attribute(pairs + i, end - i, out);
	}
	header.attributes = (uint32_t)(out->length - from);
	if (!out->failed)
		memcpy(out->data + start, &header, sizeof(header));
}

void pairs_insert(struct pairs *pairs, size_t at, struct dirsrv_bytes type,
		  struct dirsrv_bytes value)
{
	if (!reserve_pairs(pairs, 1))
		return;
	memmove(pairs->pair + at + 1, pairs->pair + at, (pairs->count - at) * sizeof(*pairs->pair));
	pairs->pair[at].type = type;
	pairs->pair[at].value = value;
	pairs->count++;
}

void pairs_remove(struct pairs *pairs, size_t at, size_t n)
{
	pairs->count -= n;
	memmove(pairs->pair + at, pairs->pair + at + n, (pairs->count - at) * sizeof(*pairs->pair));
}

void pairs_free(struct pairs *pairs)
{
	slab_mfree(pairs->pair);
	memset(pairs, 0, sizeof(*pairs));
}

/* --- tables --------------------------------------------------------------------------------- */

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
