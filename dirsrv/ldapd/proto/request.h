/* SPDX-License-Identifier: MIT */
/*
 * Requests of LDAP (RFC 4511) as structs, decoded from the bytes of a message.
 *
 * All bytes of a request point into the message, which must live as long as the request.
 * Requests come from the cache "ldapd.request", and their arrays from slab_malloc().
 */
#pragma once

#include "filter/filter.h"

#include <ldap.h>

#include <slab/dirsrv/entry.h>

/* The most that one request may have. */
#define REQUEST_CONTROLS_MAX 16
#define REQUEST_FILTER_DEPTH_MAX 64
#define REQUEST_FILTER_TERMS_MAX 4096
#define REQUEST_ATTRIBUTES_MAX                                                                     \
	1024 /* names that a search asks for: each is compared with each
				     * attribute of each entry */
#define REQUEST_ITEMS_MAX (1u << 18) /* values, or modifications */

struct bind_request {
	uint32_t version;
	bool simple;                    /* otherwise SASL */
	struct dirsrv_bytes dn;
	struct dirsrv_bytes credentials; /* the password */
};

struct search_request {
	struct dirsrv_bytes base;
	int scope; /* LDAP_SCOPE_* */
	uint32_t size_limit; /* 0: the client sets none */
	uint32_t time_limit; /* seconds; 0: the client sets none */
	bool types_only;
	struct filter *filter;
	struct dirsrv_bytes *attributes;
	size_t attribute_count;
};

struct compare_request {
	struct dirsrv_bytes dn, type, value;
};

struct add_request {
	struct dirsrv_bytes dn;
	struct dirsrv_pair *pairs;
	size_t count;
};

struct modify_item {
	int operation; /* LDAP_MOD_ADD, _DELETE, _REPLACE */
	struct dirsrv_bytes type;
	struct dirsrv_bytes *values; /* into `values` of the request */
	size_t count;
};

struct modify_request {
	struct dirsrv_bytes dn;
	struct modify_item *items;
	size_t count;
	struct dirsrv_bytes *values; /* of all items */
};

struct extended_request {
	struct dirsrv_bytes name, value;
};

struct request {
	uint32_t message_id;
	uint32_t tag; /* LDAP_REQ_* */
	/* LDAP_SUCCESS, or the result that refuses this request, and why. */
	int code;
	const char *message;
	union {
		struct bind_request bind;
		struct search_request search;
		struct compare_request compare;
		struct add_request add;
		struct dirsrv_bytes delete_dn;
		struct modify_request modify;
		struct dirsrv_bytes modrdn_dn;
		uint32_t abandon_id;
		struct extended_request extended;
	};
};

enum request_status {
	REQUEST_DECODED,   /* request->code says whether it can be executed */
	REQUEST_MALFORMED, /* no message of LDAP: the connection has to be closed */
	REQUEST_NO_MEMORY, /* *message_id and *tag are set, for an answer */
};

/* request_start: create the cache. Returns 0, or -errno. request_stop: destroy it; returns 0, or
 * -EBUSY: requests are still allocated. Not MT-safe. */
int request_start(void);
int request_stop(void);

/* request_thread_end: free what the thread decodes with. */
void request_thread_end(void);

/*
 * request_frame: the length in bytes of the message that starts at data.
 *
 * @available  bytes at data
 * @max        the longest message that is allowed
 * Returns the length; 0: more bytes are needed to know it; -1: this is no message of LDAP, or
 * a longer one than max. MT-safe.
 */
long request_frame(const void *data, size_t available, size_t max);

/*
 * request_decode: decode one message.
 *
 * @data        the message of request_frame(), with one writable byte after it
 * @message_id  the message's id, or 0 if it cannot be read
 * @tag         the operation's tag, or 0
 * A request whose envelope is intact and whose operation is not has the code
 * LDAP_PROTOCOL_ERROR. Each thread decodes with its own BerElement. MT-safe.
 */
enum request_status request_decode(void *data, size_t length, struct request **request,
				   uint32_t *message_id, uint32_t *tag);

/* request_free: free a request, its arrays and its filter. NULL is allowed. MT-safe. */
void request_free(struct request *request);

/* request_dn: the entry that the request names; empty for those that name none. */
struct dirsrv_bytes request_dn(const struct request *request);

/* request_bytes_equal: whether bytes are those of a string, ignoring case (ASCII). */
bool request_bytes_equal(struct dirsrv_bytes bytes, const char *text);
