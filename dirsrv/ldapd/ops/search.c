/* SPDX-License-Identifier: MIT */
/*
 * Searches of the directory.
 *
 * A search whose client does not read stops after an entry and is parked: its connection keeps
 * it until output was sent, and its thread serves other clients. Then it goes on behind the
 * last entry.
 */
#include "ops/internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "schema/schema.h"

/* --- what a search asks for: how many entries, and which attributes ------------------------- */

unsigned long select_limit(const struct operation *operation)
{
	unsigned long wanted = operation->request->search.size_limit;
	unsigned long allowed = operation->settings->size_limit;

	return !wanted || (allowed && allowed < wanted) ? allowed : wanted;
}

/* What the list of attributes has besides names (RFC 4511, 4.5.1.8; RFC 3673). */
struct wanted {
	bool user, operational;
};

static struct wanted wanted_all(const struct search_request *search)
{
	struct wanted wanted = {.user = !search->attribute_count};

	for (size_t i = 0; i < search->attribute_count; i++) {
		wanted.user |= request_bytes_equal(search->attributes[i], LDAP_ALL_USER_ATTRIBUTES);
		wanted.operational |=
			request_bytes_equal(search->attributes[i], LDAP_ALL_OPERATIONAL_ATTRIBUTES);
	}
	return wanted;
}

static bool named(const struct search_request *search, struct dirsrv_bytes base)
{
	for (size_t i = 0; i < search->attribute_count; i++) {
		struct dirsrv_bytes asked;
		bool valid;

		schema_split(search->attributes[i], &asked, &valid);
		if (bytes_equal_folded(asked, base))
			return true;
	}
	return false;
}

/* Everything in the server's own entries is operational except objectClass and cn. */
static bool is_operational(const struct schema_type *type, bool stored, struct dirsrv_bytes base)
{
	if (stored)
		return schema_flags_of(type) & SCHEMA_OPERATIONAL;
	return !request_bytes_equal(base, "objectClass") && !request_bytes_equal(base, "cn");
}

static bool is_wanted(const struct search_request *search, struct wanted wanted,
		      struct dirsrv_bytes description, bool stored)
{
	struct dirsrv_bytes base;
	bool valid, operational;
	const struct schema_type *type = schema_split(description, &base, &valid);

	operational = is_operational(type, stored, base);
	if (operational ? wanted.operational : wanted.user)
		return true;
	return named(search, base);
}

static void put_values(const struct dirsrv_attribute *attribute)
{
	const struct dirsrv_value *value;

	for (value = dirsrv_attribute_first(attribute); value; value = dirsrv_value_next(value))
		response_value(dirsrv_value_data(value));
}

static void put_attribute(const struct operation *operation,
			  const struct dirsrv_attribute *attribute, struct wanted wanted,
			  bool stored)
{
	const struct search_request *search = &operation->request->search;
	struct dirsrv_bytes type;

	type.data = dirsrv_attribute_type(attribute, &type.length);
	if (!is_wanted(search, wanted, type, stored) || access_is_password(type))
		return;
	response_attribute_begin(type.data, type.length);
	if (!search->types_only)
		put_values(attribute);
	response_attribute_end();
}

struct dirsrv_bytes select_entry(const struct operation *operation, struct dirsrv_entry *entry,
				 const char *made)
{
	const struct search_request *search = &operation->request->search;
	struct wanted wanted = wanted_all(search);
	const struct dirsrv_attribute *attribute;
	size_t length = made ? strlen(made) : 0;
	const char *dn = made ? made : dirsrv_dn_text(dirsrv_entry_dn(entry), &length);

	response_entry_begin(operation->request->message_id, dn, length);
	for (attribute = dirsrv_entry_first(entry); attribute;
	     attribute = dirsrv_attribute_next(attribute))
		put_attribute(operation, attribute, wanted, !made);
	return response_entry_end();
}

/* --- searching ------------------------------------------------------------------------------ */

#define SECOND_NS UINT64_C(1000000000)

static unsigned long least(unsigned long a, unsigned long b)
{
	if (!a || !b)
		return a | b;
	return a < b ? a : b;
}

/* --- entries --------------------------------------------------------------------------------- */

static bool is_abandoned(void *arg)
{
	const struct operation *operation = arg;

	return dirsrv_operation_abandoned(operation->self);
}

/* Returns what the connection said of the entry. An entry without memory is as a lost connection:
 * a search must not leave out entries silently. */
static enum connection_sent send_entry(struct operation *operation, struct dirsrv_entry *entry)
{
	struct dirsrv_bytes bytes = select_entry(operation, entry, NULL);

	if (!bytes.data) {
		connection_close(operation->connection, "no memory for an entry");
		return CONNECTION_CLOSED;
	}
	counter_add(COUNTER_ENTRIES, 1);
	return connection_send(operation->connection, bytes.data, bytes.length, true);
}

static enum backend_next take_entry(struct dirsrv_entry *entry, void *arg)
{
	struct operation *operation = arg;
	struct search_progress *progress = &operation->search;
	unsigned long limit = select_limit(operation);

	if (limit && progress->sent >= limit) {
		progress->size_exceeded = true;
		return BACKEND_STOP;
	}
	progress->after_id = dirsrv_entry_id(entry);
	progress->sent++;
	switch (send_entry(operation, entry)) {
	case CONNECTION_SENT:
		return BACKEND_CONTINUE;
	case CONNECTION_FULL:
		progress->parked = true;
		return BACKEND_STOP;
	default:
		dirsrv_operation_abandon(operation->self);
		return BACKEND_STOP;
	}
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Leave the operation with its connection until output was sent. Returns false if that has
 * happened meanwhile, or the connection is closed. */
static bool park(struct operation *operation)
{
	struct connection *connection = operation->connection;
	bool full;

	connection_lock(connection);
	full = connection_full(connection) && !connection->closing;
	if (full) {
		operation->next_parked = connection->parked;
		connection->parked = operation;
	}
	connection_unlock(connection);
	if (full)
		counter_add(COUNTER_PARKED, 1);
	return full;
}

static void finish(struct operation *operation, struct backend_result *result)
{
	struct response response = {
		.code = result->code,
		.matched = result->matched,
		.message = result->message,
	};

	operation_log_fault(operation, result);
	if (operation->search.size_exceeded)
		response.code = LDAP_SIZELIMIT_EXCEEDED;
	operation_answer(operation, &response);
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Returns false if the operation is over. */
static bool begin(struct operation *operation)
{
	const struct settings *settings = operation->settings;
	unsigned long seconds = least(operation->request->search.time_limit, settings->time_limit);

	if (!access_read(operation)) {
		access_refuse(operation);
		return false;
	}
	if (seconds)
		operation->search.deadline_ns = clock_ns() + seconds * SECOND_NS;
	access_hide(operation->request->search.filter);
	operation->search.started = true;
	return true;
}

static enum backend_scope scope_of(int scope)
{
	switch (scope) {
	case LDAP_SCOPE_BASE:
		return BACKEND_BASE;
	case LDAP_SCOPE_ONELEVEL:
		return BACKEND_ONE;
	case LDAP_SCOPE_SUBTREE:
		return BACKEND_SUBTREE;
	default:
		return BACKEND_CHILDREN;
	}
}

static void search_on(struct operation *operation, struct backend_result *result)
{
	const struct search_request *request = &operation->request->search;
	struct search_progress *progress = &operation->search;
	struct backend_search search = {
		.base = request->base,
		.scope = scope_of(request->scope),
		.filter = request->filter,
		.deadline_ns = progress->deadline_ns,
		.after_id = progress->after_id,
		.abandoned = is_abandoned,
		.lengthy = net_lengthy,
		.entry = take_entry,
		.arg = operation,
	};

	if (operation->settings->work_limit)
		search.work_limit = progress->candidates < operation->settings->work_limit
					    ? operation->settings->work_limit - progress->candidates
					    : 1;
	progress->parked = false;
	backend_search(operation->server->backend, &search, result);
	progress->candidates += search.candidates;
}

void search_run(struct operation *operation)
{
	struct backend_result result;

	if (!operation->search.started && !begin(operation))
		return;
	do {
		search_on(operation, &result);
		if (operation->search.parked && result.code == LDAP_SUCCESS && park(operation))
			return;
	} while (operation->search.parked && result.code == LDAP_SUCCESS &&
		 !dirsrv_operation_abandoned(operation->self));
	finish(operation, &result);
}
