/* SPDX-License-Identifier: MIT */
/* The end of operations, the identities of clients, the server. */
#include "ops/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "ops/operation.h"

#include <slab/malloc.h>

struct identity *identity_new(const char *dn, size_t length, bool root)
{
	struct identity *identity = slab_malloc(sizeof(*identity) + length + 1);

	if (!identity)
		return NULL;
	atomic_init(&identity->references, 1);
	identity->root = root;
	identity->length = length;
	memcpy(identity->dn, dn, length);
	identity->dn[length] = '\0';
	return identity;
}

struct identity *identity_get(struct identity *identity)
{
	if (identity)
		atomic_fetch_add_explicit(&identity->references, 1, memory_order_relaxed);
	return identity;
}

void identity_put(struct identity *identity)
{
	if (identity && atomic_fetch_sub(&identity->references, 1) == 1)
		slab_mfree(identity);
}

const char *operation_actor(const struct operation *operation)
{
	return operation->identity ? operation->identity->dn : "";
}

static const char *tag_name(uint32_t tag)
{
	switch (tag) {
	case LDAP_REQ_BIND:
		return "bind";
	case LDAP_REQ_SEARCH:
		return "search";
	case LDAP_REQ_COMPARE:
		return "compare";
	case LDAP_REQ_ADD:
		return "add";
	case LDAP_REQ_DELETE:
		return "delete";
	case LDAP_REQ_MODIFY:
		return "modify";
	case LDAP_REQ_MODRDN:
		return "modrdn";
	default:
		return "extended";
	}
}

/* One line for each operation, from what its pblock and its dirsrv_operation know. */
static void log_operation(const struct operation *operation)
{
	struct dirsrv_bytes dn = request_dn(operation->request);
	uint64_t received = dirsrv_operation_time(operation->self, DIRSRV_OPERATION_RECEIVED);
	int code = 0, entries = 0;

	slapi_pblock_get(operation->pb, SLAPI_RESULT_CODE, &code);
	slapi_pblock_get(operation->pb, SLAPI_NENTRIES, &entries);
	log_write(LOG_LEVEL_INFO, "conn=%lu op=%u %s dn=\"%.*s\" code=%d entries=%d us=%lu",
		  (unsigned long)dirsrv_operation_connection_id(operation->self),
		  operation->request->message_id, tag_name(operation->request->tag), (int)dn.length,
		  (const char *)dn.data, code, entries,
		  (unsigned long)(clock_ns() - received) / 1000);
}

static void take_off_list(struct operation *operation)
{
	struct operation **place = &operation->connection->operations;

	while (*place != operation)
		place = &(*place)->next;
	*place = operation->next;
}

static void put_number(Slapi_PBlock *pb, int parameter, int number)
{
	slapi_pblock_set(pb, parameter, &number);
}

/* From here on the operation cannot be abandoned. Returns false if it was: there is nothing to
 * answer. */
static bool begin_answer(struct operation *operation)
{
	struct connection *connection = operation->connection;
	bool abandoned;

	connection_lock(connection);
	take_off_list(operation);
	connection->in_flight--;
	connection->answering++;
	abandoned = dirsrv_operation_abandoned(operation->self);
	dirsrv_operation_advance(operation->self, DIRSRV_OPERATION_ANSWERING);
	connection_unlock(connection);
	atomic_fetch_sub(&operation->server->in_flight, 1);
	return !abandoned;
}

void operation_refuse(struct connection *connection, uint32_t message_id, uint32_t tag, int code,
		      const char *message)
{
	char bytes[RESPONSE_REFUSAL_MAX];
	uint32_t response = response_tag(tag);

	if (response)
		connection_send(connection, bytes,
				response_refusal(bytes, message_id, response, code, message),
				false);
}

static void send_response(struct operation *operation, struct response *response)
{
	struct dirsrv_bytes bytes;

	response->message_id = operation->request->message_id;
	response->tag = response_tag(operation->request->tag);
	bytes = response_encode(response);
	if (bytes.data)
		connection_send(operation->connection, bytes.data, bytes.length, false);
	else
		operation_refuse(operation->connection, response->message_id,
				 operation->request->tag, response->code, "");
}

void operation_free(struct operation *operation)
{
	struct connection *connection = operation->connection;

	request_free(operation->request);
	pdu_free(operation->pdu);
	identity_put(operation->identity);
	slapi_pblock_destroy(operation->pb);
	dirsrv_operation_set_pblock(operation->self, NULL);
	dirsrv_operation_put(operation->self);
	connection_put(connection);
}

void operation_answer(struct operation *operation, struct response *response)
{
	struct connection *connection = operation->connection;

	put_number(operation->pb, SLAPI_RESULT_CODE, response->code);
	put_number(operation->pb, SLAPI_NENTRIES, (int)operation->search.sent);
	if (begin_answer(operation))
		send_response(operation, response);
	dirsrv_operation_advance(operation->self, DIRSRV_OPERATION_DONE);
	if (log_enabled(LOG_LEVEL_INFO))
		log_operation(operation);
	connection_lock(connection);
	connection->answering--;
	connection_unlock(connection);
	connection_finished(connection);
	operation_free(operation);
}

void operation_result(struct operation *operation, int code, const char *message)
{
	struct response response = {.code = code, .message = message};

	operation_answer(operation, &response);
}

void operation_log_fault(const struct operation *operation, const struct backend_result *result)
{
	if (result->fault)
		log_error("conn=%lu op=%u %s failed: %s", (unsigned long)operation->connection->id,
			  operation->request->message_id, tag_name(operation->request->tag),
			  result->message);
}

void operation_answer_result(struct operation *operation, const struct backend_result *result)
{
	struct response response = {
		.code = result->code,
		.matched = result->matched,
		.message = result->message,
	};

	operation_log_fault(operation, result);
	operation_answer(operation, &response);
}

void operation_abandon(struct connection *connection, uint32_t message_id)
{
	struct operation *operation;

	connection_lock(connection);
	for (operation = connection->operations; operation; operation = operation->next)
		if (operation->request->message_id == message_id)
			break;
	if (operation && operation->request->tag != LDAP_REQ_BIND)
		dirsrv_operation_abandon(operation->self);
	connection_unlock(connection);
}

/* --- the server's caches and settings ------------------------------------------------------- */

int server_start(struct server *server, struct backend *backend, const struct settings *settings)
{
	*server =
		(struct server){.backend = backend, .settings = settings, .started_ns = clock_ns()};
	response_start();
	if (request_start())
		return -ENOMEM;
	server->operations =
		dirsrv_operation_pool_create("ldapd.operation", sizeof(struct operation), NULL);
	return server->operations ? 0 : -errno;
}

int server_stop(struct server *server)
{
	int error = dirsrv_operation_pool_destroy(server->operations);

	return error ? error : request_stop();
}
