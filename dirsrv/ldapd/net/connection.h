/* SPDX-License-Identifier: MIT */
/*
 * A connection, from the cache "ldapd.connection". The cache is type-safe: a thread that gets
 * a connection's number from epoll may find the object freed, or in its next life, and sees
 * that by the count of references and the generation.
 *
 * An idle connection has this object and nothing else: buffers exist only while they hold
 * bytes.
 */
#pragma once

#include "net/net.h"

#include <stdatomic.h>
#include <sys/types.h>

struct chunk;
struct identity;
struct operation;

struct connection {
	/* Constructed: valid in all lives of the object. */
	pthread_mutex_t lock;
	_Atomic uint32_t references; /* 0: free */
	uint32_t generation;

	int fd;
	int epoll; /* the instance that watches it */
	struct net *net;
	uint64_t id;

	_Atomic uint32_t active_at;  /* seconds: the last message */
	_Atomic uint32_t
		partial_at; /* seconds, odd: an incomplete message began; 0: there is none */

	/* Under the lock. */
	unsigned closing : 1;
	unsigned handling : 1;   /* a thread handles an event of it */
	unsigned want_write : 1; /* output waits for the client */
	unsigned end_of_input : 1;
	uint32_t mask; /* events that epoll reports; 0: it does not watch the connection yet */
	uint32_t ready; /* events that were reported, for the handling thread */
	uint32_t blocked_at; /* the client has not read since */
	struct chunk *output, *output_last;
	size_t output_bytes;
	struct work event; /* for the queue of workers */

	/* Of the thread that handles an event. */
	bool unread; /* bytes may be left in the socket */
	struct pdu *partial; /* `length` is its capacity */
	size_t partial_used;
	size_t partial_total; /* 0: not known yet */

	/* Of ops/, under the lock. */
	struct identity *identity; /* NULL: anonymous */
	struct operation *operations;
	struct operation *parked; /* searches that wait until output was sent */
	unsigned in_flight; /* operations */
	unsigned answering; /* operations that are over, and whose response is being sent */
};

/* connection_get, connection_put: take and drop a reference; the last one frees the connection.
 * The caller of connection_get() has one. MT-safe. */
void connection_get(struct connection *connection);
void connection_put(struct connection *connection);

/* connection_lock, connection_unlock: for the members above. No lock is taken with it held. */
void connection_lock(struct connection *connection);
void connection_unlock(struct connection *connection);

enum connection_sent {
	CONNECTION_SENT, /* or waits to be sent */
	CONNECTION_FULL, /* the same, and more waits than the limit allows */
	CONNECTION_CLOSED, /* or closed by this call: no memory, or an error of the socket */
};

/*
 * connection_send: send bytes, in the order of the calls, without waiting for the client.
 *
 * @more  more bytes will follow soon: the function may keep these until they come
 * MT-safe. The caller does not hold the lock.
 */
enum connection_sent connection_send(struct connection *connection, const void *data, size_t length,
				     bool more);

/* connection_full: whether more output waits than the limit allows. The caller holds the lock. */
bool connection_full(const struct connection *connection);

/* connection_close: close the connection, with the reason in the log. MT-safe. The caller has a
 * reference and does not hold the lock. connection_disconnect: the same, after a notice of
 * disconnection with an LDAP result code. */
void connection_close(struct connection *connection, const char *why);
void connection_disconnect(struct connection *connection, int code, const char *why);

/* connection_finished: an operation of the connection has ended. If the client sends nothing
 * more and this was the last operation, the connection is closed. MT-safe. */
void connection_finished(struct connection *connection);
