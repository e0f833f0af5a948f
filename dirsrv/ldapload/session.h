/* SPDX-License-Identifier: MIT */
/* A connection: connecting, its bind, requests and answers. One thread uses it. */
#ifndef LDAPLOAD_SESSION_H
#define LDAPLOAD_SESSION_H

#include "kind.h"
#include "message.h"

#include <stdbool.h>

/* An operation under way. */
struct flight {
	int id;
	enum kind kind;
	bool measured;
	uint64_t started_ns; /* its latency counts from here */
	uint64_t sent_ns;
	uint64_t number; /* of the entry that an add or a delete names */
	unsigned entries;
};

enum session_state { SESSION_CLOSED, SESSION_CONNECTING, SESSION_BINDING, SESSION_OPEN };

struct worker;

struct session {
	struct worker *worker;
	unsigned number; /* of the connection */
	int fd;
	enum session_state state;
	int last_id;
	bool wants_out;   /* epoll waits until it can send */
	bool listed;   /* among the worker's ready ones */
	bool sleeps;   /* among the worker's sleeping ones */
	uint64_t wake_ns;
	uint64_t connect_ns; /* when it began to connect */
	unsigned started;    /* operations of this connection */
	unsigned flying;
	struct flight *flights; /* as many as the depth */
	struct buffer out, in;
	struct session *next; /* ready one */
};

/* session_connect: open the connection; it becomes ready after its bind. */
void session_connect(struct session *session);

/* session_event: what epoll has seen. session_wake: its wake_ns has come. */
void session_event(struct session *session, uint32_t events);
void session_wake(struct session *session);

/* session_flush: send what can be sent. */
void session_flush(struct session *session);

/* session_lost: count its operations with that code, close it, and connect again later. */
void session_lost(struct session *session, int code, const char *text, size_t length);

/* session_expire: lose it if an answer is later than timeout_ns. */
void session_expire(struct session *session, uint64_t now_ns, uint64_t timeout_ns);

/* session_end: an unbind request, and the end of the connection. */
void session_end(struct session *session);

#endif /* LDAPLOAD_SESSION_H */
