/* SPDX-License-Identifier: MIT */
/* LDAP messages (RFC 4511): requests into a buffer, answers out of one. */
#pragma once

#include <ldap.h>
#include "posix.h"
#include <sys/types.h>

struct buffer {
	char *bytes;
	size_t length, capacity;
};

/* load_fail: print one line "ldapload: …" and end the program with status 1. */
void load_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* buffer_reserve: room for `more` bytes at the end. Ends the program if there is no memory. */
char *buffer_reserve(struct buffer *buffer, size_t more);

/* buffer_append: a copy at the end. */
void buffer_append(struct buffer *buffer, const char *bytes, size_t length);

/* buffer_consume: the first bytes go. */
void buffer_consume(struct buffer *buffer, size_t length);

void buffer_free(struct buffer *buffer);

/* Requests are appended to the buffer. Strings end with NUL. */
void message_bind(struct buffer *out, int id, const char *dn, const char *password);
void message_unbind(struct buffer *out, int id);
/* message_search: the subtree of base, (ATTRIBUTE=VALUE), or (|(…)…) for several values. */
void message_search(struct buffer *out, int id, const char *base, const char *attribute,
		    char *const values[], unsigned count);
/* message_read: a base search of an entry. */
void message_read(struct buffer *out, int id, const char *dn);
void message_compare(struct buffer *out, int id, const char *dn, const char *attribute,
		     const char *value);
/* message_modify: replaces the description. */
void message_modify(struct buffer *out, int id, const char *dn, const char *description);
/* message_add: an inetOrgPerson with that name. */
void message_add(struct buffer *out, int id, const char *dn, const char *attribute,
		 const char *name);
void message_delete(struct buffer *out, int id, const char *dn);

struct answer {
	int id;
	ber_tag_t tag; /* LDAP_RES_… */
	int code;      /* of a result, not of LDAP_RES_SEARCH_ENTRY and _REFERENCE */
	struct berval text; /* its diagnostic message, in the answer's bytes */
};

/* message_length: of the first message; 0: more bytes are needed to know; -1: it is none. */
ssize_t message_length(const char *bytes, size_t length);

/* message_read_answer: `ber` is scratch memory. The byte after the answer must be writable: liblber
 * puts a NUL there, and this function the old byte. Returns 0, or -1 for a malformed answer. */
int message_read_answer(BerElement *ber, char *bytes, size_t length, struct answer *answer);
