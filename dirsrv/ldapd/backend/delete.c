/* SPDX-License-Identifier: MIT */
/* Deleting an entry. */
#include <ldap.h>

#include "backend/write.h"

static int change(struct store_txn *txn, void *arg)
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

	write_run(&write, change);
}
