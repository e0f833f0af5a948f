/* SPDX-License-Identifier: MIT */
/* What writing operations have in common: finding the entry, the entries that become stale. */
#ifndef LDAPD_BACKEND_WRITE_H
#define LDAPD_BACKEND_WRITE_H

#include "backend/draft.h"

/* An entry that the cache must drop after the commit. */
struct stale {
	uint64_t hash; /* of its DN in normal form */
	struct dirsrv_dn *dn;
};

struct write {
	struct backend *backend;
	struct backend_result *result;
	const char *actor;
	struct dirsrv_bytes dn;
	struct buffer normal; /* of the DN */

	/* What follows is set anew whenever the transaction starts again. */
	uint64_t id;
	struct buffer image; /* a copy of the row, to which `row` and `old` point */
	struct row row;
	struct pairs old;
	struct draft draft;
	struct buffer stale; /* of struct stale */
};

/* write_run: normalize the DN, call the change in a transaction, drop what is stale, and set
 * the result. The change finds the write in `arg`, as the first member of its own. */
void write_run(struct write *write, store_change_fn *change);

/* write_begin: forget an earlier attempt. */
void write_begin(struct write *write);

/* write_find: find the entry and copy its row. STORE_UNDO: there is none, and the result says so. */
int write_find(struct write *write, struct store_txn *txn);

/* write_stale: the entry of a row becomes stale. */
int write_stale(struct write *write, const struct row *row);

/* write_check_dn: whether dirsrv can name an entry so, too. STORE_UNDO: no, and the result says so. */
int write_check_dn(struct write *write, struct dirsrv_bytes text);

/* write_normal: the DN in normal form. */
struct dirsrv_bytes write_normal(const struct write *write);

#endif /* LDAPD_BACKEND_WRITE_H */
