/* SPDX-License-Identifier: MIT */
/* What writing operations have in common. */
#include "backend/write.h"

#include <errno.h>
#include <ldap.h>
#include <lmdb.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/dn.h"

struct dirsrv_bytes write_normal(const struct write *write)
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

int write_find(struct write *write, struct store_txn *txn)
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

int write_stale(struct write *write, const struct row *row)
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

int write_check_dn(struct write *write, struct dirsrv_bytes text)
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

void write_run(struct write *write, store_change_fn *change)
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
