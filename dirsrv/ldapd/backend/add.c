/* SPDX-License-Identifier: MIT */
/* Adding entries. */
#include "backend/add.h"

#include <errno.h>
#include <ldap.h>
#include <lmdb.h>

#include "schema/dn.h"

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

static int change(struct store_txn *txn, void *arg)
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
		write_run(&add.write, change);
	else
		result_set(result, LDAP_UNWILLING_TO_PERFORM, "the root DSE is not an entry");
}
