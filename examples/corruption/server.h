/* SPDX-License-Identifier: MIT */
/*
 * A small server that keeps names and a text for each. A listener thread reads
 * requests and parses them, a worker thread executes them, answers and releases
 * them. The entries are the worker's alone; everything else passes from one
 * thread to the other with the request.
 */
#pragma once

#include <slab/define.h>
#include <stdbool.h>
#include <stddef.h>

#define CLIENTS 12
#define ANSWER_MAX 8192

struct entry {
	struct entry *next; /* the one that was put before */
	unsigned long hits;
	char name[24];
	char text[48];
};

enum verb { GET, PUT, DEL, STAT, WATCH, AGAIN, NOTE, ECHO, UPLOAD, HELLO, COUNT, BYE, VERBS };

struct request {
	char line[104];
	struct connection *conn;
	char *argument, *text; /* in line: the words behind the verb */
	unsigned short length;
	unsigned char verb, spare[4];
	bool partial; /* the rest of the line is still to come */
};

_Static_assert(offsetof(struct request, partial) == sizeof(struct request) - 1,
	       "what lies before a request's line is another one's flag");

/* What a client uploads. */
struct buffer {
	char bytes[5400];
};

struct connection {
	int fd;
	unsigned requests; /* so far; the worker counts */
	struct request *request; /* being read; NULL: none */
	struct entry *watched;
	struct buffer *buffer;
};

SLAB_DEFINE_TYPED(entry, struct entry);
SLAB_DEFINE_TYPED(request, struct request);
SLAB_DEFINE_TYPED(buffer, struct buffer);
SLAB_DEFINE_TYPED(connection, struct connection);

struct server {
	struct slab_cache *entries, *requests, *buffers, *connections;
	struct connection *conn[CLIENTS];
	struct entry *newest;
};

/* state.c */
extern struct server server;
/* need: give up for want of memory. */
void *need(void *object);

/* connection.c: the listener thread. */
struct connection *conn_open(int fd);
void conn_close(struct connection *conn);
void *listener_run(void *unused);

/* request.c */
struct request *request_make(struct connection *conn);
void request_release(struct request *request);
/* parse_request: find the words of its line; false: it is no request. */
bool parse_request(struct request *request);

/* entry.c */
struct entry *entry_find(const char *name);
struct entry *entry_make(const char *name, const char *text);
void entry_set_text(struct entry *entry, const char *text);
bool entry_delete(const char *name);
void entry_delete_all(void);

/* worker.c: the worker thread. */
void worker_init(void);
void *worker_run(void *unused);
/* worker_do: hand a request over, and wait until it is done. */
void worker_do(struct request *request);
void worker_stop(void);
