/* SPDX-License-Identifier: MIT */
/*
 * The interface between the client of the servers' benchmark and its protocols.
 *
 * One thread has all connections. Each has one request under way: the next one is sent when the
 * answer to the last one is complete.
 */
#ifndef SERVERS_LOAD_H
#define SERVERS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFER_BYTES ((size_t)2 << 20) /* the largest request or answer */
#define OPERATIONS_MAX 8

struct session {
	int fd;
	bool greeted;     /* what the protocol sends first was answered */
	unsigned operation; /* under way; an index of the protocol's names */
	uint64_t number;    /* of the entry that it creates or removes */
	uint64_t sent_ns;
	char *out, *in;
	size_t out_bytes, in_bytes;
};

/* One request of `bytes` is in session->out. */
struct protocol {
	const char *name;
	const char *operations[OPERATIONS_MAX];
	/* greet: the first request of a connection; NULL: none. */
	void (*greet)(struct session *session);
	void (*request)(struct session *session);
	/* answer: how many bytes of session->in were a message or its part that can go; 0: more
	 * are needed. *done: the request was answered. */
	size_t (*answer)(struct session *session, bool *done);
};

extern const struct protocol redis_protocol, ldap_protocol;

struct load {
	const char *phase; /* what the protocol's mix is called */
	size_t operations, sent, answered, errors;
	unsigned entries; /* that the server holds, or gets in the phase "fill" */
	uint64_t random;
	char error[256]; /* the first one */
};

extern struct load load;

/* load_error: the server said no. load_fail: print one line and leave. */
void load_error(const char *text, size_t bytes);
void load_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* load_random: xorshift64. load_below: less than n. */
uint64_t load_random(void);
unsigned load_below(unsigned n);

#endif /* SERVERS_LOAD_H */
