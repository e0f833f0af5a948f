/* SPDX-License-Identifier: MIT */
/*
 * Responses of LDAP (RFC 4511) as bytes.
 *
 * Each thread encodes with its own BerElement, whose memory comes from slab_malloc(). The
 * bytes that a function returns are valid until the same thread encodes again; without memory
 * their data is NULL. All functions are MT-safe.
 */
#pragma once

#include "posix.h"

#include <ldap.h>

#include <slab/dirsrv/entry.h>

struct response {
	uint32_t message_id; /* 0: an unsolicited notification */
	uint32_t tag;        /* LDAP_RES_* */
	int code;
	const char *matched; /* a DN; NULL: none */
	const char *message; /* diagnostic message; NULL: none */
	const char *name;    /* extended response: the OID, or NULL */
	struct dirsrv_bytes value; /* of an extended response, if data is not NULL */
};

/* response_start: set up encoding for the process, before the first thread encodes. */
void response_start(void);

/* response_thread_end: free what the thread encodes with. */
void response_thread_end(void);

/* response_encode: an LDAPResult. */
struct dirsrv_bytes response_encode(const struct response *response);

/* response_tag: the response's tag for that of a request; 0: it has no response. */
uint32_t response_tag(uint32_t request_tag);

/*
 * A search entry, in parts:
 *	response_entry_begin(id, dn), then for each attribute
 *	response_attribute_begin(type), response_value(value) …, response_attribute_end(),
 *	then response_entry_end().
 * A failure of any part shows in response_entry_end().
 */
void response_entry_begin(uint32_t message_id, const char *dn, size_t length);
void response_attribute_begin(const char *type, size_t length);
void response_value(struct dirsrv_bytes value);
void response_attribute_end(void);
struct dirsrv_bytes response_entry_end(void);

/*
 * response_refusal: an LDAPResult without matched DN, encoded without liblber and without
 * memory, for a server that has none.
 *
 * @to  at least RESPONSE_REFUSAL_MAX bytes
 * Returns its length; 0: the message is too long. Tags of RFC 4511 have one byte.
 */
#define RESPONSE_REFUSAL_MAX 120
size_t response_refusal(void *to, uint32_t message_id, uint32_t tag, int code, const char *message);

/* response_notice: the notice of disconnection (RFC 4511, 4.4.1), in the same way. */
size_t response_notice(void *to, int code, const char *message);
