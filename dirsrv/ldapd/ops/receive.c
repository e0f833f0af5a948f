/* SPDX-License-Identifier: MIT */
/* The beginning of operations: what the network calls when a message has arrived. */
#include "ops/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <slab/malloc.h>

/* The network has no argument for its handler: a process has one server. */
static struct server *the_server;

_Static_assert(sizeof(struct operation) <= DIRSRV_OPERATION_ROOM_MAX, "the room is too small");

static void count(uint32_t tag)
{
	static const struct {
		uint32_t tag;
		enum counter counter;
	} counters[] = {
		{LDAP_REQ_SEARCH, COUNTER_SEARCH},   {LDAP_REQ_BIND, COUNTER_BIND},
		{LDAP_REQ_COMPARE, COUNTER_COMPARE}, {LDAP_REQ_ADD, COUNTER_ADD},
		{LDAP_REQ_DELETE, COUNTER_DELETE},   {LDAP_REQ_MODIFY, COUNTER_MODIFY},
		{LDAP_REQ_MODRDN, COUNTER_MODRDN},   {LDAP_REQ_EXTENDED, COUNTER_EXTENDED},
		{LDAP_REQ_ABANDON, COUNTER_ABANDON}, {LDAP_REQ_UNBIND, COUNTER_UNBIND},
	};

	for (unsigned i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (counters[i].tag == tag)
			counter_add(counters[i].counter, 1);
}

/* --- running -------------------------------------------------------------------------------- */

static void run_request(struct operation *operation)
{
	switch (operation->request->tag) {
	case LDAP_REQ_BIND:
		bind_run(operation);
		break;
	case LDAP_REQ_SEARCH:
		if (operation->search.started || !virtual_search(operation))
			search_run(operation);
		break;
	case LDAP_REQ_COMPARE:
		compare_run(operation);
		break;
	case LDAP_REQ_ADD:
		add_run(operation);
		break;
	case LDAP_REQ_DELETE:
		delete_run(operation);
		break;
	case LDAP_REQ_MODIFY:
		modify_run(operation);
		break;
	case LDAP_REQ_MODRDN:
		operation_result(operation, LDAP_UNWILLING_TO_PERFORM, "entries keep their names");
		break;
	default:
		extended_run(operation);
	}
}

static void run(struct work *work)
{
	struct operation *operation = (void *)((char *)work - offsetof(struct operation, work));

	dirsrv_operation_advance(operation->self, DIRSRV_OPERATION_EXECUTING);
	if (dirsrv_operation_abandoned(operation->self))
		operation_result(operation, LDAP_CANCELLED, NULL);
	else if (operation->request->code != LDAP_SUCCESS)
		operation_result(operation, operation->request->code, operation->request->message);
	else
		run_request(operation);
}

/* --- receiving ------------------------------------------------------------------------------- */

/* A bind ends the operations before it (RFC 4511, 4.2.1), and the client is anonymous until the
 * bind has succeeded. */
static void begin_bind(struct connection *connection)
{
	for (struct operation *operation = connection->operations; operation;
	     operation = operation->next)
		dirsrv_operation_abandon(operation->self);
	identity_put(connection->identity);
	connection->identity = NULL;
}

/* Put an operation on the connection's list. Returns NULL, or why it is refused. */
static const char *enter(struct operation *operation)
{
	const struct settings *settings = operation->settings;
	struct connection *connection = operation->connection;
	struct server *server = operation->server;
	const char *refusal = NULL;

	if (atomic_fetch_add(&server->in_flight, 1) >= settings->operations_in_all)
		refusal = "the server has its most operations";
	connection_lock(connection);
	if (!refusal && connection->in_flight >= settings->operations_per_connection)
		refusal = "the connection has its most operations";
	if (!refusal && connection->closing)
		refusal = "closed";
	if (!refusal) {
		if (operation->request->tag == LDAP_REQ_BIND)
			begin_bind(connection);
		operation->identity = identity_get(connection->identity);
		operation->next = connection->operations;
		connection->operations = operation;
		connection->in_flight++;
	}
	connection_unlock(connection);
	if (refusal)
		atomic_fetch_sub(&server->in_flight, 1);
	return refusal;
}

/* What an operation's pblock has from the start. */
static void fill_pblock(const struct operation *operation)
{
	const struct request *request = operation->request;
	uint64_t id = operation->connection->id;
	int tag = (int)request->tag;

	slapi_pblock_set(operation->pb, SLAPI_CONNECTION, operation->connection);
	slapi_pblock_set(operation->pb, SLAPI_OPERATION, operation->self);
	slapi_pblock_set(operation->pb, SLAPI_BACKEND, operation->server->backend);
	slapi_pblock_set(operation->pb, SLAPI_CONN_ID, &id);
	slapi_pblock_set(operation->pb, SLAPI_OPERATION_TYPE, &tag);
	if (request->tag == LDAP_REQ_SEARCH)
		slapi_pblock_set(operation->pb, SLAPI_SEARCH_FILTER, request->search.filter);
}

/* An operation for a request. NULL: no memory, and the request is untouched. */
static struct operation *operation_new(struct connection *connection, struct request *request,
				       struct pdu *pdu)
{
	const struct dirsrv_operation_request received = {
		.connection = connection,
		.connection_id = connection->id,
		.message_id = request->message_id,
		.tag = request->tag,
	};
	struct dirsrv_operation *self = dirsrv_operation_new(the_server->operations, &received);
	Slapi_PBlock *pb = self ? slapi_pblock_new() : NULL;
	struct operation *operation;

	if (!pb) {
		dirsrv_operation_put(self);
		return NULL;
	}
	dirsrv_operation_set_pblock(self, pb);
	operation = dirsrv_operation_room(self);
	*operation = (struct operation){
		.work.run = run,
		.self = self,
		.server = the_server,
		.settings = the_server->settings,
		.connection = connection,
		.pdu = pdu,
		.request = request,
		.pb = pb,
	};
	connection_get(connection);
	fill_pblock(operation);
	return operation;
}

static void busy(struct connection *connection, uint32_t message_id, uint32_t tag,
		 const char *message)
{
	counter_add(COUNTER_BUSY, 1);
	operation_refuse(connection, message_id, tag, LDAP_BUSY, message);
}

static struct work *begin(struct connection *connection, struct request *request, struct pdu *pdu)
{
	struct operation *operation = operation_new(connection, request, pdu);
	const char *refusal;

	if (!operation) {
		busy(connection, request->message_id, request->tag, "the server has no memory");
		request_free(request);
		pdu_free(pdu);
		return NULL;
	}
	refusal = enter(operation);
	if (!refusal)
		return &operation->work;
	busy(connection, request->message_id, request->tag, refusal);
	operation_free(operation);
	return NULL;
}

/* Requests that must not wait behind the operation that they are about. Returns true if this is
 * one, and done. */
static bool at_once(struct connection *connection, const struct request *request)
{
	switch (request->tag) {
	case LDAP_REQ_UNBIND:
		connection_close(connection, "unbind");
		return true;
	case LDAP_REQ_ABANDON:
		if (request->code == LDAP_SUCCESS)
			operation_abandon(connection, request->abandon_id);
		return true;
	default:
		return false;
	}
}

static struct work *receive(struct connection *connection, struct pdu *pdu)
{
	struct request *request;
	uint32_t message_id, tag;

	switch (request_decode(pdu->data, pdu->length, &request, &message_id, &tag)) {
	case REQUEST_MALFORMED:
		pdu_free(pdu);
		counter_add(COUNTER_MALFORMED, 1);
		connection_disconnect(connection, LDAP_PROTOCOL_ERROR, "a malformed message");
		return NULL;
	case REQUEST_NO_MEMORY:
		pdu_free(pdu);
		busy(connection, message_id, tag, "the server has no memory");
		return NULL;
	default:
		break;
	}
	count(tag);
	if (!at_once(connection, request))
		return begin(connection, request, pdu);
	request_free(request);
	pdu_free(pdu);
	return NULL;
}

/* The message is decoded where it is, so far as memory allows: the client learns which of its
 * requests was refused, and keeps its connection. */
static void refuse_message(struct connection *connection, void *data, size_t length)
{
	struct request *request = NULL;
	uint32_t message_id, tag;

	if (request_decode(data, length, &request, &message_id, &tag) == REQUEST_MALFORMED) {
		connection_disconnect(connection, LDAP_PROTOCOL_ERROR, "a malformed message");
		return;
	}
	if (!request || !at_once(connection, request))
		busy(connection, message_id, tag, "the server has no memory");
	request_free(request);
}

/* --- other events ---------------------------------------------------------------------------- */

static struct operation *take_parked(struct connection *connection)
{
	struct operation *parked;

	connection_lock(connection);
	parked = connection->parked;
	connection->parked = NULL;
	connection_unlock(connection);
	return parked;
}

static struct work *drained(struct connection *connection)
{
	struct work *works = NULL, **end = &works;

	for (struct operation *operation = take_parked(connection); operation;
	     operation = operation->next_parked) {
		operation->work.next = NULL;
		*end = &operation->work;
		end = &operation->work.next;
	}
	return works;
}

/* Nothing more is sent: the operations end when their threads see it, and parked ones here. */
static void closed(struct connection *connection)
{
	struct operation *parked, *next;
	struct identity *identity;

	connection_lock(connection);
	for (struct operation *operation = connection->operations; operation;
	     operation = operation->next)
		dirsrv_operation_abandon(operation->self);
	identity = connection->identity;
	connection->identity = NULL;
	connection_unlock(connection);
	identity_put(identity);
	for (parked = take_parked(connection); parked; parked = next) {
		next = parked->next_parked;
		operation_result(parked, LDAP_CANCELLED, NULL);
	}
}

static void thread_end(void)
{
	request_thread_end();
	response_thread_end();
}

struct net_handler server_handler(struct server *server)
{
	the_server = server;
	return (struct net_handler){
		.receive = receive,
		.refuse = refuse_message,
		.drained = drained,
		.closed = closed,
		.thread_end = thread_end,
	};
}
