/* SPDX-License-Identifier: MIT */
/* The operations that write, and what they have in common. */
#include <lmdb.h>

#include "backend/internal.h"
#include "base/bytes.h"
#include "schema/dn.h"

/* --- what they have in common --------------------------------------------------------------- */

/* The DN in normal form. */
static struct dirsrv_bytes write_normal(const struct write *write)
{
	struct dirsrv_bytes normal = {write->normal.data, write->normal.length};

	return normal;
}

static void free_stale(struct write *write)
{
	for (size_t at = 0; at < write->stale.length; at += sizeof(struct stale)) {
		struct stale stale;

		memcpy(&stale, write->stale.data + at, sizeof(stale));
		dirsrv_dn_free(write->backend->pool, stale.dn);
	}
	buffer_clear(&write->stale);
}

void write_begin(struct write *write)
{
	free_stale(write);
	draft_free(&write->draft);
	memset(&write->draft, 0, sizeof(write->draft));
	write->draft.result = write->result;
	write->old.count = 0;
	buffer_clear(&write->image);
}

static int write_copy(struct write *write, struct store_txn *txn, uint64_t id)
{
	struct row row;
	int error = store_get(txn, id, &row);

	if (error)
		return error;
	buffer_clear(&write->image);
	write->old.count = 0;
	buffer_append(&write->image, row.dn.data, row.dn.length);
	buffer_append(&write->image, row.normal.data, row.normal.length);
	buffer_append(&write->image, row.attributes.data, row.attributes.length);
	if (write->image.failed)
		return ENOMEM;
	write->id = id;
	write->row = row;
	write->row.dn.data = write->image.data;
	write->row.normal.data = write->image.data + row.dn.length;
	write->row.attributes.data = write->image.data + row.dn.length + row.normal.length;
	if (row_pairs(&write->row, &write->old))
		return 0;
	return write->old.failed ? ENOMEM : STORE_CORRUPT;
}

/* Find the entry and copy its row. STORE_UNDO: there is none, and the result says so. */
static int write_find(struct write *write, struct store_txn *txn)
{
	struct dirsrv_bytes normal = write_normal(write);
	uint64_t id;
	int error = normal.length ? store_find(txn, normal, &id) : MDB_NOTFOUND;

	if (!error)
		return write_copy(write, txn, id);
	if (error != MDB_NOTFOUND)
		return error;
	result_no_such_object(txn, normal, write->result);
	return STORE_UNDO;
}

/* The entry of a row becomes stale. */
static int write_stale(struct write *write, const struct row *row)
{
	struct stale stale = {
		.hash = bytes_hash(row->normal.data, row->normal.length),
		.dn = dirsrv_dn_make(write->backend->pool, row->dn.data, row->dn.length)};

	if (!stale.dn)
		return errno == ENOMEM ? ENOMEM : STORE_CORRUPT;
	buffer_append(&write->stale, &stale, sizeof(stale));
	if (!write->stale.failed)
		return 0;
	dirsrv_dn_free(write->backend->pool, stale.dn);
	return ENOMEM;
}

/* Whether dirsrv can name an entry so, too. STORE_UNDO: no, and the result says so. */
static int write_check_dn(struct write *write, struct dirsrv_bytes text)
{
	struct dirsrv_dn *dn = dirsrv_dn_make(write->backend->pool, text.data, text.length);

	if (!dn && errno == ENOMEM)
		return ENOMEM;
	dirsrv_dn_free(write->backend->pool, dn);
	if (dn)
		return 0;
	result_set(write->result, LDAP_INVALID_DN_SYNTAX, "invalid DN");
	return STORE_UNDO;
}

static void committed(uint64_t txn_id, void *arg)
{
	struct write *write = arg;

	for (size_t at = 0; at < write->stale.length; at += sizeof(struct stale)) {
		struct stale stale;

		memcpy(&stale, write->stale.data + at, sizeof(stale));
		cache_drop(write->backend, txn_id, stale.hash, stale.dn);
	}
}

/* Normalize the DN, call the change in a transaction, drop what is stale, and set
 * the result. The change finds the write in `arg`, as the first member of its own. */
static void write_run(struct write *write, store_change_fn *change)
{
	write->draft.result = write->result;
	if (dn_normalize(write->dn, &write->normal))
		result_store(write->result,
			     store_write(write->backend->store, change, committed, write));
	else if (write->normal.failed)
		result_store(write->result, ENOMEM);
	else
		result_set(write->result, LDAP_INVALID_DN_SYNTAX, "invalid DN");
	free_stale(write);
	buffer_free(&write->stale);
	buffer_free(&write->normal);
	buffer_free(&write->image);
	pairs_free(&write->old);
	draft_free(&write->draft);
}

/* --- adding --------------------------------------------------------------------------------- */

struct add {
	struct write write; /* first */
	const struct dirsrv_pair *pairs;
	size_t n;
};

/* The id of the parent; the naming context has none. */
static int find_parent(struct write *write, struct store_txn *txn, uint64_t *parent)
{
	struct dirsrv_bytes normal = write_normal(write);
	int error;

	*parent = ROW_ROOT;
	if (!suffix_holds(write->backend, normal)) {
		result_set(write->result, LDAP_UNWILLING_TO_PERFORM,
			   "the DN is not below the naming context of this server");
		return STORE_UNDO;
	}
	if (write->backend->suffix_normal.length == normal.length)
		return 0;
	error = store_find(txn, dn_normal_parent(normal), parent);
	if (error != MDB_NOTFOUND)
		return error;
	result_no_such_object(txn, normal, write->result);
	return STORE_UNDO;
}

static int check_new(struct write *write, struct store_txn *txn)
{
	uint64_t id;
	int error = store_find(txn, write_normal(write), &id);

	if (error)
		return error == MDB_NOTFOUND ? 0 : error;
	result_set(write->result, LDAP_ALREADY_EXISTS, "%s", "");
	return STORE_UNDO;
}

static int fill_draft(struct write *write, const struct dirsrv_pair *pairs, size_t n, bool trusted)
{
	struct draft *draft = &write->draft;
	int code;

	draft->trusted = trusted;
	code = draft_add_pairs(draft, pairs, n);
	if (!code)
		code = draft_rdn(draft, write->dn, DRAFT_RDN_ADD);
	if (!code)
		code = draft_check(draft);
	if (!code)
		draft_stamp(draft, write->actor, true);
	if (draft_failed(draft))
		return ENOMEM;
	return code ? STORE_UNDO : 0;
}

int add_entry(struct write *write, struct store_txn *txn, const struct dirsrv_pair *pairs, size_t n,
	      bool trusted)
{
	struct row row = {.dn = write->dn, .normal = write_normal(write)};
	uint64_t id;
	int error = write_check_dn(write, write->dn);

	/* The entry by itself comes first, as other servers check it. */
	if (!error)
		error = fill_draft(write, pairs, n, trusted);
	if (!error)
		error = find_parent(write, txn, &row.parent);
	if (!error)
		error = check_new(write, txn);
	if (!error)
		error = store_add(txn, &row, write->draft.pairs.pair, write->draft.pairs.count,
				  &id);
	return error;
}

static int add_change(struct store_txn *txn, void *arg)
{
	struct add *add = arg;

	write_begin(&add->write);
	return add_entry(&add->write, txn, add->pairs, add->n, false);
}

void backend_add(struct backend *backend, const char *actor, struct dirsrv_bytes dn,
		 const struct dirsrv_pair *pairs, size_t n, struct backend_result *result)
{
	struct add add = {.write = {.backend = backend, .result = result, .actor = actor, .dn = dn},
			  .pairs = pairs,
			  .n = n};

	if (dn.length)
		write_run(&add.write, add_change);
	else
		result_set(result, LDAP_UNWILLING_TO_PERFORM, "the root DSE is not an entry");
}

/* --- deleting ------------------------------------------------------------------------------- */

static int delete_change(struct store_txn *txn, void *arg)
{
	struct write *write = arg;
	bool has_children = false;
	int error;

	write_begin(write);
	error = write_find(write, txn);
	if (!error)
		error = store_has_children(txn, write->id, &has_children);
	if (!error && has_children) {
		result_set(write->result, LDAP_NOT_ALLOWED_ON_NONLEAF,
			   "subordinate objects must be deleted first");
		error = STORE_UNDO;
	}
	if (!error)
		error = write_stale(write, &write->row);
	return error ? error : store_delete(txn, write->id, &write->row, &write->old);
}

void backend_delete(struct backend *backend, const char *actor, struct dirsrv_bytes dn,
		    struct backend_result *result)
{
	struct write write = {.backend = backend, .result = result, .actor = actor, .dn = dn};

	write_run(&write, delete_change);
}

/* --- modifying ------------------------------------------------------------------------------ */

struct modify {
	struct write write; /* first */
	const struct backend_modification *modifications;
	size_t n;
};

static int edit(struct modify *modify)
{
	struct draft *draft = &modify->write.draft;
	int code = LDAP_SUCCESS;

	draft_load(draft, &modify->write.old);
	for (size_t i = 0; i < modify->n && !code; i++)
		code = draft_modify(draft, &modify->modifications[i]);
	if (!code)
		code = draft_rdn(draft, modify->write.row.dn, DRAFT_RDN_CHECK);
	if (!code)
		code = draft_check(draft);
	if (!code)
		draft_stamp(draft, modify->write.actor, false);
	if (draft_failed(draft))
		return ENOMEM;
	return code ? STORE_UNDO : 0;
}

/* The values by themselves, before the entry is looked up, as other servers check them. */
static bool check_values(const struct modify *modify)
{
	int code = LDAP_SUCCESS;

	for (size_t i = 0; i < modify->n && !code; i++) {
		struct draft alone = {.result = modify->write.result};

		code = draft_check_values(&alone, &modify->modifications[i]);
		if (!code && draft_failed(&alone)) {
			result_store(modify->write.result, ENOMEM);
			code = LDAP_OTHER;
		}
		draft_free(&alone);
	}
	return !code;
}

static int modify_change(struct store_txn *txn, void *arg)
{
	struct modify *modify = arg;
	struct write *write = &modify->write;
	int error;

	write_begin(write);
	error = write_find(write, txn);
	if (!error)
		error = edit(modify);
	if (!error)
		error = write_stale(write, &write->row);
	return error ? error
		     : store_put(txn, write->id, &write->row, &write->old, write->draft.pairs.pair,
				 write->draft.pairs.count);
}

void backend_modify(struct backend *backend, const char *actor, struct dirsrv_bytes dn,
		    const struct backend_modification *modifications, size_t n,
		    struct backend_result *result)
{
	struct modify modify = {
		.write = {.backend = backend, .result = result, .actor = actor, .dn = dn},
		.modifications = modifications,
		.n = n};

	if (check_values(&modify))
		write_run(&modify.write, modify_change);
}
