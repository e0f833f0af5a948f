/* SPDX-License-Identifier: MIT */
/*
 * An entry that is being made or changed: types by their canonical names, values of a type next to
 * each other. A draft that is all zero is empty. Functions return a result code of LDAP and
 * set the result, if the change is not allowed.
 */
#ifndef LDAPD_BACKEND_DRAFT_H
#define LDAPD_BACKEND_DRAFT_H

#include "backend/internal.h"
#include "base/memory.h"

struct draft {
	struct pairs pairs;
	struct arena arena; /* of types and values that are not the caller's */
	struct backend_result *result;
	bool trusted; /* from LDIF: may set what clients cannot */
};

/* draft_failed: whether memory ran out at some time. draft_free: the caller's bytes stay. */
bool draft_failed(const struct draft *draft);
void draft_free(struct draft *draft);

/* draft_load: start with the values of an entry, which stay valid. */
void draft_load(struct draft *draft, const struct pairs *pairs);

/* draft_add_pairs: add the values of a new entry, and check each type. */
int draft_add_pairs(struct draft *draft, const struct dirsrv_pair *pairs, size_t n);

/* draft_check_values: the values of a modification by themselves; the draft is empty. */
int draft_check_values(struct draft *draft, const struct backend_modification *modification);

/* draft_modify: one modification, whose values were checked. */
int draft_modify(struct draft *draft, const struct backend_modification *modification);

/* draft_check: whether the entry has a class. */
int draft_check(struct draft *draft);

/* draft_rdn: check that the values of an RDN are there, or add them. */
enum draft_rdn {
	DRAFT_RDN_ADD, /* add what is missing */
	DRAFT_RDN_CHECK /* LDAP_NOT_ALLOWED_ON_RDN if a value is missing */
};

int draft_rdn(struct draft *draft, struct dirsrv_bytes dn, enum draft_rdn what);

/* draft_stamp: who changed the entry, and when; with `created` also entryUUID and so on, where the
 * draft has none. */
void draft_stamp(struct draft *draft, const char *actor, bool created);

#endif /* LDAPD_BACKEND_DRAFT_H */
