/* SPDX-License-Identifier: MIT */
/*
 * The network of the server: listening sockets, connections, and the threads that serve them,
 * in one of four forms:
 *
 *   inline         one listener thread accepts, reads and parses; workers execute
 *   handoff        the listener thread only passes readiness to workers (EPOLLONESHOT), which
 *                  accept, read, parse and execute
 *   accept-thread  handoff, and a thread that does nothing but accept
 *   multi          several threads wait on one or more epoll instances, and each serves the
 *                  connection that it gets from there, from reading to the response
 *
 * What a message means is not known here: struct net_handler has it.
 */
#pragma once

#include "posix.h"

#include <ldap.h>

struct connection;
struct net;

#define NET_THREADS_MAX 256
#define NET_LISTENERS_MAX 64
#define NET_ADDRESSES_MAX 16

enum net_form {
	NET_INLINE,
	NET_HANDOFF,
	NET_ACCEPT_THREAD,
	NET_MULTI,
};

/* Something for a worker to do. It is part of a larger object, and belongs to the network until
 * it runs. */
struct work {
	struct work *next;
	void (*run)(struct work *work);
};

/* A message as received. One more byte follows `data`. */
struct pdu {
	size_t length;
	unsigned char data[];
};

/* pdu_free: free a message; it may have a password, so nothing of it stays in memory. NULL is
 * allowed. */
void pdu_free(struct pdu *pdu);

struct net_limits {
	unsigned connections;
	size_t pdu_max;           /* bytes of one message */
	size_t output_max;        /* bytes that wait to be sent, before searches wait for them */
	unsigned idle_seconds;    /* without a message; 0: no limit */
	unsigned request_seconds; /* from the first byte of a message to its last */
	unsigned write_seconds;   /* in which the client has to read something */
};

struct net_handler {
	/* receive: a message has arrived; the handler owns it and frees it by pdu_free(). It
	 * returns what a worker has to do, one piece or several linked by `next`, or NULL. */
	struct work *(*receive)(struct connection *connection, struct pdu *pdu);
	/* refuse: a message has arrived, and there is no memory for it: the handler answers that
	 * the server is busy. The bytes stay the network's; one more may be written behind them. */
	void (*refuse)(struct connection *connection, void *data, size_t length);
	/* drained: output was sent. Returns what waited for that, as receive(). */
	struct work *(*drained)(struct connection *connection);
	/* closed: the connection is closed; nothing more is received or sent. */
	void (*closed)(struct connection *connection);
	/* thread_end: a thread that called the handler ends. */
	void (*thread_end)(void);
};

struct net_config {
	enum net_form form;
	unsigned threads; /* workers; multi: all threads */
	unsigned listeners; /* multi: epoll instances */
	unsigned pollers; /* multi: threads that wait for events at a time */
	const char *const *addresses; /* ldap://HOST:PORT, ldapi://PATH */
	unsigned address_count;
	struct net_limits limits;
	struct net_handler handler;
	/* Every accept_delay_every-th connection is delayed before it is served, as by a slow
	 * name server; 0: none. For benchmarks of the forms. */
	unsigned accept_delay_every, accept_delay_ms;
};

/*
 * net_start: open the addresses and start the threads.
 *
 * @error  on failure, why
 * Returns the network, or NULL. The caller is registered with urcu-memb. There is one network
 * in a process at a time.
 */
struct net *net_start(const struct net_config *config, char *error, size_t size);

/* net_address: address number i as text that clients can use, with the real port where the
 * configuration has port 0; NULL after the last. Valid until net_stop(). */
const char *net_address(const struct net *net, unsigned i);

/* net_connections: the number of open connections. MT-safe. */
unsigned net_connections(const struct net *net);

/* net_tick: close the connections that have reached a time limit. To be called each second. */
void net_tick(struct net *net);

/* net_lengthy: the calling thread will be busy for longer than a short request takes. With multi, a
 * spare thread, if there is one, waits for events in its place. MT-safe. */
void net_lengthy(void);

/* net_pause: accept and read nothing any more. What was read is executed and answered. */
void net_pause(struct net *net);

/* net_stop: close all connections with a notice of disconnection, end the threads, and free
 * everything. The caller, which is registered with urcu-memb, runs the work that is left. */
void net_stop(struct net *net);
