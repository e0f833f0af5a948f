/* SPDX-License-Identifier: MIT */
/* Modifying an entry. */
#include <errno.h>
#include <ldap.h>

#include "backend/write.h"

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

static int change(struct store_txn *txn, void *arg)
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
		write_run(&modify.write, change);
}
