/* SPDX-License-Identifier: MIT */
/* What the files of ops/ share. */
#pragma once

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
 * access_refuse: the result for a client that may not. */
bool access_read(const struct operation *operation);
bool access_write(const struct operation *operation);
void access_refuse(struct operation *operation);

/* access_is_password: whether an attribute description is that of userPassword. */
bool access_is_password(struct dirsrv_bytes type);

/* access_hide: make the parts of a filter undefined that ask for userPassword, which no client
 * sees. */
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
