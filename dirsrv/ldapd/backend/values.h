/* SPDX-License-Identifier: MIT */
/* The values of one type of a draft. */
#ifndef LDAPD_BACKEND_VALUES_H
#define LDAPD_BACKEND_VALUES_H

#include "backend/draft.h"
#include "schema/schema.h"

/* A type, and where its values are in the draft. */
struct values {
	const struct schema_type *schema;
	struct dirsrv_bytes name; /* with options */
	size_t at; /* the first; without any, where they belong */
	size_t count;
};

/* values_find: look a type up in the draft; LDAP_UNDEFINED_TYPE: this is no type. */
int values_find(struct draft *draft, struct dirsrv_bytes type, struct values *values);

/* values_check: whether the values are of the syntax, each is there once, and there are no more than
 * the type allows. `what` begins the message. */
int values_check(struct draft *draft, const struct values *values, const char *what);

/* values_position: the position of a value that matches; -1: there is none. */
long values_position(struct draft *draft, const struct values *values, struct dirsrv_bytes value);

/* values_remove: remove n values, no two of which match; false: one of them is not there, and others
 * may be gone. The time is that of sorting. */
bool values_remove(struct draft *draft, struct values *values, const struct dirsrv_bytes *given,
		   size_t n);

/* values_append: one more value, behind the others. */
void values_append(struct draft *draft, struct values *values, struct dirsrv_bytes value);

#endif /* LDAPD_BACKEND_VALUES_H */
