/* SPDX-License-Identifier: MIT */
/* Renaming and moving an entry, with all entries below it: each has its DN in its row. */
#include <errno.h>
#include <ldap.h>
#include <lmdb.h>
#include <string.h>

#include "backend/write.h"
#include "base/bytes.h"
#include "schema/dn.h"

struct modrdn {
	struct write write; /* first */
	struct dirsrv_bytes new_rdn;
	bool delete_old;
	struct dirsrv_bytes new_superior; /* data NULL: the same */
	/* Set anew by each attempt. */
	uint64_t parent;
	struct buffer dn; /* the new DN */
	struct buffer normal; /* in normal form */
	struct buffer old_normal;
};

static struct dirsrv_bytes bytes_in(const struct buffer *buffer)
{
	struct dirsrv_bytes bytes = {buffer->data, buffer->length};

	return bytes;
}

static int refuse(struct modrdn *modrdn, int code, const char *why)
{
	result_set(modrdn->write.result, code, "%s", why);
	return STORE_UNDO;
}

/* --- the new DN ------------------------------------------------------------------------------ */

/* The new parent's id, and its DN behind a comma in modrdn->dn. */
static int find_superior(struct modrdn *modrdn, struct store_txn *txn)
{
	struct buffer normal = {0};
	struct row row;
	int error;

	if (!dn_normalize(modrdn->new_superior, &normal))
		error = normal.failed
				? ENOMEM
				: refuse(modrdn, LDAP_INVALID_DN_SYNTAX, "invalid new superior");
	else
		error = normal.length ? store_find(txn, bytes_in(&normal), &modrdn->parent)
				      : MDB_NOTFOUND;
	if (error == MDB_NOTFOUND && suffix_of(modrdn->write.backend, bytes_in(&normal)) < 0)
		error = refuse(modrdn, LDAP_AFFECTS_MULTIPLE_DSAS,
			       "the new superior is below no naming context of this server");
	else if (error == MDB_NOTFOUND)
		error = refuse(modrdn, LDAP_NO_SUCH_OBJECT, "new superior not found");
	if (!error)
		error = store_get(txn, modrdn->parent, &row);
	if (!error &&
	    (modrdn->parent == modrdn->write.id || dn_under(row.normal, modrdn->write.row.normal)))
		error = refuse(modrdn, LDAP_UNWILLING_TO_PERFORM,
			       "the new superior is below the entry itself");
	if (!error) {
		buffer_byte(&modrdn->dn, ',');
		buffer_append(&modrdn->dn, row.dn.data, row.dn.length);
	}
	buffer_free(&normal);
	return error;
}

static int check_rdn(struct modrdn *modrdn)
{
	struct dirsrv_bytes rdn = modrdn->new_rdn;
	struct buffer normal = {0};
	bool valid = dn_normalize(rdn, &normal) && normal.length &&
		     !memchr(normal.data, DN_SEPARATOR, normal.length);
	bool failed = normal.failed;

	buffer_free(&normal);
	if (failed)
		return ENOMEM;
	return valid ? 0 : refuse(modrdn, LDAP_INVALID_DN_SYNTAX, "invalid new RDN");
}

static int make_dn(struct modrdn *modrdn, struct store_txn *txn)
{
	struct write *write = &modrdn->write;
	struct dirsrv_bytes parent = dn_parent(write->row.dn);
	int error = 0;

	modrdn->parent = write->row.parent;
	if (modrdn->parent == ROW_ROOT)
		return refuse(modrdn, LDAP_UNWILLING_TO_PERFORM,
			      "a naming context cannot be renamed");
	buffer_append(&modrdn->dn, modrdn->new_rdn.data, modrdn->new_rdn.length);
	if (modrdn->new_superior.data) {
		error = find_superior(modrdn, txn);
	} else {
		buffer_byte(&modrdn->dn, ',');
		buffer_append(&modrdn->dn, parent.data, parent.length);
	}
	if (!error && !dn_normalize(bytes_in(&modrdn->dn), &modrdn->normal))
		error = modrdn->normal.failed
				? ENOMEM
				: refuse(modrdn, LDAP_INVALID_DN_SYNTAX, "invalid new RDN");
	if (!error && modrdn->dn.failed)
		error = ENOMEM;
	return error ? error : write_check_dn(write, bytes_in(&modrdn->dn));
}

/* No other entry has the new DN. */
static int check_free(struct modrdn *modrdn, struct store_txn *txn)
{
	uint64_t id;
	int error = store_find(txn, bytes_in(&modrdn->normal), &id);

	if (error)
		return error == MDB_NOTFOUND ? 0 : error;
	return id == modrdn->write.id ? 0 : refuse(modrdn, LDAP_ALREADY_EXISTS, "");
}

/* --- the entry ------------------------------------------------------------------------------- */

static int edit(struct modrdn *modrdn)
{
	struct draft *draft = &modrdn->write.draft;
	int code = LDAP_SUCCESS;

	draft_load(draft, &modrdn->write.old);
	if (modrdn->delete_old)
		code = draft_rdn(draft, modrdn->write.row.dn, DRAFT_RDN_DELETE);
	if (!code)
		code = draft_rdn(draft, bytes_in(&modrdn->dn), DRAFT_RDN_ADD);
	if (!code)
		code = draft_check(draft);
	if (!code)
		draft_stamp(draft, modrdn->write.actor, false);
	if (draft_failed(draft))
		return ENOMEM;
	return code ? STORE_UNDO : 0;
}

static int move(struct modrdn *modrdn, struct store_txn *txn, const struct row *to,
		const struct dirsrv_pair *pairs, size_t n)
{
	struct write *write = &modrdn->write;
	int error = write_stale(write, &write->row);

	if (!error)
		error = store_put(txn, write->id, to, &write->old, pairs, n);
	return error ? error : store_rename(txn, write->id, &write->row, to);
}

static int move_entry(struct modrdn *modrdn, struct store_txn *txn)
{
	struct row to = {.parent = modrdn->parent,
			 .dn = bytes_in(&modrdn->dn),
			 .normal = bytes_in(&modrdn->normal)};
	struct draft *draft = &modrdn->write.draft;
	struct dirsrv_bytes normal = modrdn->write.row.normal;
	int error = edit(modrdn);

	buffer_append(&modrdn->old_normal, normal.data, normal.length);
	if (!error && modrdn->old_normal.failed)
		error = ENOMEM;
	return error ? error : move(modrdn, txn, &to, draft->pairs.pair, draft->pairs.count);
}

/* --- entries below ---------------------------------------------------------------------------- */

/* The text of the RDNs before the end that all entries below have in common. */
static struct dirsrv_bytes own_part(struct dirsrv_bytes dn, struct dirsrv_bytes normal)
{
	struct dirsrv_bytes rest = dn;
	const char *end = (const char *)dn.data;

	for (size_t i = 0; i <= normal.length; i++) {
		if (i < normal.length && ((const char *)normal.data)[i] != DN_SEPARATOR)
			continue;
		struct dirsrv_bytes rdn = dn_rdn(rest);

		end = (const char *)rdn.data + rdn.length;
		rest = dn_parent(rest);
	}
	dn.length = (size_t)(end - (const char *)dn.data);
	return dn;
}

static int move_below(struct modrdn *modrdn, struct store_txn *txn, uint64_t id)
{
	struct write *write = &modrdn->write;
	struct buffer dn = {0}, normal = {0};
	struct dirsrv_bytes own, own_normal;
	struct row to;
	int error = write_copy(write, txn, id);

	if (error)
		return error;
	own_normal = write->row.normal;
	own_normal.length -= modrdn->old_normal.length + 1;
	own = own_part(write->row.dn, own_normal);
	buffer_append(&dn, own.data, own.length);
	buffer_byte(&dn, ',');
	buffer_append(&dn, modrdn->dn.data, modrdn->dn.length);
	buffer_append(&normal, own_normal.data, own_normal.length);
	buffer_byte(&normal, DN_SEPARATOR);
	buffer_append(&normal, modrdn->normal.data, modrdn->normal.length);
	to = (struct row){
		.parent = write->row.parent, .dn = bytes_in(&dn), .normal = bytes_in(&normal)};
	error = dn.failed || normal.failed ? ENOMEM : 0;
	if (!error && (dn.length > DIRSRV_DN_MAX || !dn_normal_fits(to.normal)))
		error = refuse(modrdn, LDAP_UNWILLING_TO_PERFORM, "a DN below would be too long");
	if (!error)
		error = move(modrdn, txn, &to, write->old.pair, write->old.count);
	buffer_free(&dn);
	buffer_free(&normal);
	return error;
}

static int move_all(struct modrdn *modrdn, struct store_txn *txn)
{
	struct ids below = {0};
	int error = store_descendants(txn, modrdn->write.id, 0, &below);

	if (!error && below.failed)
		error = ENOMEM;
	for (size_t i = 0; i < below.count && !error; i++)
		error = move_below(modrdn, txn, below.id[i]);
	ids_free(&below);
	return error;
}

static int change(struct store_txn *txn, void *arg)
{
	struct modrdn *modrdn = arg;
	int error;

	write_begin(&modrdn->write);
	buffer_clear(&modrdn->dn);
	buffer_clear(&modrdn->normal);
	buffer_clear(&modrdn->old_normal);
	error = write_find(&modrdn->write, txn);
	if (!error)
		error = make_dn(modrdn, txn);
	if (!error)
		error = check_free(modrdn, txn);
	if (!error)
		error = move_entry(modrdn, txn);
	return error ? error : move_all(modrdn, txn);
}

void backend_modrdn(struct backend *backend, const char *actor, struct dirsrv_bytes dn,
		    struct dirsrv_bytes new_rdn, bool delete_old_rdn,
		    struct dirsrv_bytes new_superior, struct backend_result *result)
{
	struct modrdn modrdn = {
		.write = {.backend = backend, .result = result, .actor = actor, .dn = dn},
		.new_rdn = new_rdn,
		.delete_old = delete_old_rdn,
		.new_superior = new_superior};
	int error;

	error = check_rdn(&modrdn);
	if (error)
		result_store(result, error);
	else
		write_run(&modrdn.write, change);
	buffer_free(&modrdn.dn);
	buffer_free(&modrdn.normal);
	buffer_free(&modrdn.old_normal);
}
