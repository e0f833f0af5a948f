/* SPDX-License-Identifier: MIT */
/*
 * Operations: a request from its arrival to its response.
 *
 * struct operation is the room of a dirsrv_operation, from the cache "ldapd.operation". An
 * operation has one owner at a time: the thread that received it, a worker, or its connection
 * while it is parked. The connection's list lets other threads find it, to abandon it.
 */
#pragma once

#include "net/connection.h"
#include "ops/server.h"
#include "proto/request.h"
#include "proto/response.h"

#include <slab/dirsrv/operation.h>
#include <slab/dirsrv/pblock.h>

/* Whom a connection is bound as. Counted by references, since operations use it while the
 * connection binds again. NULL: anonymous. */
struct identity {
	_Atomic unsigned references;
	bool root;
	size_t length;
	char dn[]; /* with a zero byte */
};

struct identity *identity_new(const char *dn, size_t length, bool root);
struct identity *identity_get(struct identity *identity); /* NULL is allowed */
void identity_put(struct identity *identity);

/* What a search has done so far, so that it can be parked and go on. */
struct search_progress {
	uint64_t after_id;
	uint64_t deadline_ns;
	unsigned long sent; /* entries */
	unsigned long candidates;
	bool parked, size_exceeded;
	bool started;
	/* Of the entries that the server makes up: whether the base is one, and whether one of them
	 * had no memory. */
	bool base_exists, failed;
};

struct operation {
	struct work work;
	struct operation *next; /* of the connection */
	struct operation *next_parked;
	struct dirsrv_operation *self;
	struct server *server;
	const struct settings *settings;
	struct connection *connection;
	struct pdu *pdu;
	struct request *request;
	struct identity *identity; /* of the connection when the request arrived */
	Slapi_PBlock *pb;
	struct search_progress search;
};

/* operation_answer: send the response and end the operation. The response's id and tag are set
 * here. The caller does not use the operation afterwards. */
void operation_answer(struct operation *operation, struct response *response);

/* operation_result: the same for a code and a message, which may be NULL. operation_answer_result:
 * the same for a result of the backend. */
void operation_result(struct operation *operation, int code, const char *message);
void operation_answer_result(struct operation *operation, const struct backend_result *result);

/* operation_actor: the DN that the client is bound as, "" for anonymous. */
const char *operation_actor(const struct operation *operation);

/* operation_abandon: mark an operation of a connection as abandoned, by its message id: it is not
 * answered, and a search ends. A bind cannot be abandoned. */
void operation_abandon(struct connection *connection, uint32_t message_id);

/* What each kind of operation does: it ends by operation_answer(), operation_result() or
 * operation_answer_result(). */
void bind_run(struct operation *operation);
void search_run(struct operation *operation);
void compare_run(struct operation *operation);
void add_run(struct operation *operation);
void delete_run(struct operation *operation);
void modify_run(struct operation *operation);
void extended_run(struct operation *operation);
