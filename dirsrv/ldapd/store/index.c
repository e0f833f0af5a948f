/* SPDX-License-Identifier: MIT */
/* Indexes: their keys, keeping them in step with entries, opening and building them, the ids that
 * they know. */

#include "base/bytes.h"
#include "schema/schema.h"
#include "store/internal.h"

#define TABLE_FLAGS (MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP)

/* Under this name the database has the indexes that are in it. */
#define INDEXES "indexes"

/* A key is the normalized value; of a long one the first bytes and a hash. */
#define KEY_TEXT ((size_t)192)
#define KEY_MAX (KEY_TEXT + sizeof(uint64_t))

/* --- keys --------------------------------------------------------------------------------- */

/* Keys in order, each once. All zero: none. */
struct keys {
	struct buffer bytes;
	struct ids starts; /* where each key starts in bytes; its first byte is its length */
};

/* Write the key of a normalized value to out; returns its length. LMDB has no empty keys. */
static size_t make_key(struct dirsrv_bytes normal, char out[KEY_MAX])
{
	uint64_t hash;

	if (!normal.length) {
		out[0] = '\0';
		return 1;
	}
	memcpy(out, normal.data, normal.length < KEY_TEXT ? normal.length : KEY_TEXT);
	if (normal.length <= KEY_TEXT)
		return normal.length;
	hash = bytes_hash(normal.data, normal.length);
	memcpy(out + KEY_TEXT, &hash, sizeof(hash));
	return KEY_MAX;
}

static void add_key(struct keys *keys, struct dirsrv_bytes normal)
{
	char key[KEY_MAX];
	size_t length = make_key(normal, key);

	ids_append(&keys->starts, keys->bytes.length);
	buffer_byte(&keys->bytes, (char)length);
	buffer_append(&keys->bytes, key, length);
}

/* A class is found as each of its superclasses, too. */
static void add_superclasses(struct keys *keys, struct dirsrv_bytes normal)
{
	const struct schema_class *cls = schema_class_find(normal.data, normal.length);
	struct buffer name = {0};

	while (cls && (cls = schema_class_sup(cls))) {
		buffer_clear(&name);
		schema_normalize(SCHEMA_OID, bytes_of(cls->name), &name);
		add_key(keys, (struct dirsrv_bytes){name.data, name.length});
	}
	keys->bytes.failed |= name.failed;
	buffer_free(&name);
}

static void add_value(struct keys *keys, const struct index *index, struct dirsrv_bytes value,
		      struct buffer *normal)
{
	enum schema_rule rule = schema_rule_of(index->schema);
	struct dirsrv_bytes text;

	buffer_clear(normal);
	if (!schema_normalize(rule, value, normal))
		return;
	text = (struct dirsrv_bytes){normal->data, normal->length};
	add_key(keys, text);
	if (rule == SCHEMA_OID)
		add_superclasses(keys, text);
}

static struct dirsrv_bytes keys_at(const struct keys *keys, size_t i)
{
	const char *at = keys->bytes.data + keys->starts.id[i];
	struct dirsrv_bytes key = {.data = at + 1, .length = (unsigned char)*at};

	return key;
}

static int compare(const void *a, const void *b, void *arg)
{
	const char *bytes = arg;
	const char *x = bytes + *(const uint64_t *)a, *y = bytes + *(const uint64_t *)b;

	return bytes_compare((struct dirsrv_bytes){x + 1, (unsigned char)*x},
			     (struct dirsrv_bytes){y + 1, (unsigned char)*y});
}

static void sort(struct keys *keys)
{
	size_t used = 0;

	qsort_r(keys->starts.id, keys->starts.count, sizeof(*keys->starts.id), compare,
		keys->bytes.data);
	for (size_t i = 0; i < keys->starts.count; i++)
		if (!used || !bytes_equal(keys_at(keys, used - 1), keys_at(keys, i)))
			keys->starts.id[used++] = keys->starts.id[i];
	keys->starts.count = used;
}

static bool keys_failed(const struct keys *keys)
{
	return keys->bytes.failed || keys->starts.failed;
}

/* The keys of an entry's values in an index; keys_failed(): no memory. */
static void keys_make(const struct index *index, const struct dirsrv_pair *pairs, size_t n,
		      struct keys *keys)
{
	struct buffer normal = {0};

	for (size_t i = 0; i < n; i++) {
		if (!bytes_equal_folded(pairs[i].type, bytes_of(index->name)))
			continue;
		add_value(keys, index, pairs[i].value, &normal);
		keys->bytes.failed |= normal.failed;
	}
	if (keys->starts.count && !keys_failed(keys))
		sort(keys);
	buffer_free(&normal);
}

static void keys_free(struct keys *keys)
{
	buffer_free(&keys->bytes);
	ids_free(&keys->starts);
}

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

/* "cn sn …" */
static void describe(const struct store *store, struct buffer *out)
{
	for (unsigned i = 0; i < store->indexes; i++) {
		buffer_text(out, store->index[i].name);
		buffer_byte(out, ' ');
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
	int used, error = 0;

	while (!error && sscanf(described, "%63s %n", name, &used) == 1) {
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

static bool add_index(struct store *store, const char *wanted, char *error, size_t size)
{
	struct index *index = &store->index[store->indexes];
	struct dirsrv_bytes base;
	bool valid;

	index->schema = schema_split(bytes_of(wanted), &base, &valid);
	if (!valid || base.length >= sizeof(index->name)) {
		snprintf(error, size, "index '%s': this is no attribute type", wanted);
		return false;
	}
	if (store->indexes == STORE_INDEXES_MAX) {
		snprintf(error, size, "more than %d indexes", STORE_INDEXES_MAX);
		return false;
	}
	memcpy(index->name, base.data, base.length);
	index->name[base.length] = '\0';
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

	for (const char *const *wanted = config->indexes; *wanted; wanted++)
		if (!add_index(store, *wanted, error, size))
			return false;
	failed = store_write(store, open_or_build, NULL, NULL);
	if (failed)
		snprintf(error, size, "%s: cannot build the indexes: %s", config->db,
			 store_strerror(failed));
	return !failed;
}

/* --- what they know ------------------------------------------------------------------------- */

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

static const struct index *find_index(const struct store *store, struct dirsrv_bytes type)
{
	for (unsigned i = 0; i < store->indexes; i++)
		if (bytes_equal_folded(bytes_of(store->index[i].name), type))
			return &store->index[i];
	return NULL;
}

int store_ask(struct store_txn *txn, struct dirsrv_bytes type, struct dirsrv_bytes value,
	      struct ids *ids)
{
	const struct index *index = find_index(txn->store, type);
	char key[KEY_MAX];

	if (!index)
		return ENOENT;
	return store_read_ids(txn, index->table, store_val(key, make_key(value, key)), ids);
}
