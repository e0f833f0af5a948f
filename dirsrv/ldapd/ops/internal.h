/* SPDX-License-Identifier: MIT */
/* What the files of ops/ share. */
#ifndef LDAPD_OPS_INTERNAL_H
#define LDAPD_OPS_INTERNAL_H

#include "ops/operation.h"

/* --- operation.c --------------------------------------------------------------------------- */

/* operation_refuse: answer a request without memory; one that has no response is dropped. */
void operation_refuse(struct connection *connection, uint32_t message_id, uint32_t tag, int code,
		      const char *message);

/* operation_log_fault: log a result that is a failure of the database. */
void operation_log_fault(const struct operation *operation, const struct backend_result *result);

/* operation_free: free an operation and what belongs to it. */
void operation_free(struct operation *operation);

/* --- bind.c: access ------------------------------------------------------------------------- */

/* access_read: whether the client may read entries. access_write: whether it may change them.
 * access_write_password: whether it may change the password of the entry with a DN: only the root DN
 * and the entry itself may, since a change of single values tells whether a guess is right.
 * access_refuse: the result for a client that may not. */
bool access_read(const struct operation *operation);
bool access_write(const struct operation *operation);
bool access_write_password(const struct operation *operation, struct dirsrv_bytes dn);
void access_refuse(struct operation *operation);

/* access_is_password: whether an attribute description is that of userPassword. */
bool access_is_password(struct dirsrv_bytes type);

/* access_hide: make the parts of a filter undefined that ask for userPassword, which no client sees. */
void access_hide(struct filter *filter);

/* --- search.c ------------------------------------------------------------------------------- */

/* select_limit: the most entries that a search may return; 0: there is no limit. */
unsigned long select_limit(const struct operation *operation);

/* select_entry: encode an entry with the attributes that a search asks for. Returns bytes as
 * response_entry_end().
 * @made  NULL; for an entry that the server makes up, the DN to send */
struct dirsrv_bytes select_entry(const struct operation *operation, struct dirsrv_entry *entry,
				 const char *made);

/* --- virtual.c: entries that the server makes up ---------------------------------- */

/* virtual_search: answer a search for the root DSE or cn=monitor. Returns
 * false if the base is none of them. */
bool virtual_search(struct operation *operation);

/* virtual_entry: whether an operation is about one of these entries, or one below it. */
bool virtual_entry(struct operation *operation);

/* An entry while it is made. */
struct draft {
	struct operation *operation;
	char dn[256];
	struct dirsrv_pair *pairs;
	size_t count, capacity;
	bool failed;
};

/* draft_begin: an entry with a DN. draft_add: add a value; it is copied. draft_send: send the entry
 * if it is in the scope of the search and matches its filter, note in the operation's progress
 * whether it is the base, and free the draft. */
void draft_begin(struct draft *draft, struct operation *operation, const char *dn);
void draft_add(struct draft *draft, const char *type, const void *value, size_t length);
void draft_text(struct draft *draft, const char *type, const char *value);
void draft_number(struct draft *draft, const char *type, uint64_t value);
void draft_send(struct draft *draft);

/* dirsrv has no entry without a DN: the root DSE is made under this one, and sent without. */
#define ROOT_DSE_DN "cn=root DSE"
#define MONITOR_DN "cn=monitor"

/* monitor_each: send the entries of cn=monitor that a search asks for. */
void monitor_each(struct operation *operation);

/* --- bind.c: passwords ---------------------------------------------------------------------- */

/* password_matches: whether a password is the one that a stored value stands for: {CRYPT}…, or
 * the password itself. */
bool password_matches(struct dirsrv_bytes stored, struct dirsrv_bytes password);

/* password_entry_matches: whether it is a password of an entry. */
bool password_entry_matches(const struct dirsrv_entry *entry, struct dirsrv_bytes password);

/* password_entry_unsupported: whether an entry has a password of a scheme other than {CRYPT}. */
bool password_entry_unsupported(const struct dirsrv_entry *entry);

/* dn_same: whether two texts are the same DN. */
bool dn_same(const struct operation *operation, struct dirsrv_bytes a, const char *b);

#endif /* LDAPD_OPS_INTERNAL_H */
