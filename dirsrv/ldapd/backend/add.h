/* SPDX-License-Identifier: MIT */
/* Adding an entry within a transaction, for the operation and for LDIF. */
#ifndef LDAPD_BACKEND_ADD_H
#define LDAPD_BACKEND_ADD_H

#include "backend/write.h"

/* add_entry: write->dn and write->normal are set. STORE_UNDO: the result says why not. */
int add_entry(struct write *write, struct store_txn *txn, const struct dirsrv_pair *pairs, size_t n,
	      bool trusted);

#endif /* LDAPD_BACKEND_ADD_H */
