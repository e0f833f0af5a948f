/* SPDX-License-Identifier: MIT */
/* Which operation comes next, and its request. */
#include "load.h"

#include <stdio.h>

static uint64_t random_number(struct worker *worker) /* xorshift64 */
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

/* Returns the base of the value's entry. */
static const char *random_value(struct worker *worker, char value[VALUE_MAX])
{
	const struct args *args = worker->load->args;
	const struct values *values = &args->values;
	const char *base = values_get(values, random_number(worker) % values->count, value);

	return base ? base : args->base;
}

/* The name of an entry to add: of no other entry, whatever else runs. */
static void new_name(const struct worker *worker, uint64_t number, char value[VALUE_MAX])
{
	snprintf(value, VALUE_MAX, "ldapload-%llx-%llu", (unsigned long long)worker->load->run_id,
		 (unsigned long long)number);
}

static void request_or(struct session *session, const struct args *args)
{
	char values[OR_VALUES][VALUE_MAX], *pointers[OR_VALUES];

	for (int i = 0; i < OR_VALUES; i++) {
		random_value(session->worker, values[i]);
		pointers[i] = values[i];
	}
	message_search(&session->out, session->last_id, args->base, args->attribute, pointers,
		       OR_VALUES);
}

static void request(struct session *session, const struct flight *flight)
{
	const struct args *args = session->worker->load->args;
	char value[VALUE_MAX], dn[DN_MAX], *values[] = {value};
	const char *base = args->base;
	struct buffer *out = &session->out;

	if (flight->kind == KIND_ADD || flight->kind == KIND_DELETE)
		new_name(session->worker, flight->number, value);
	else
		base = random_value(session->worker, value);
	dn_print(dn, args->attribute, value, base);
	if (flight->kind == KIND_SEARCH)
		message_search(out, flight->id, args->base, args->attribute, values, 1);
	else if (flight->kind == KIND_OR)
		request_or(session, args);
	else if (flight->kind == KIND_BASE)
		message_read(out, flight->id, dn);
	else if (flight->kind == KIND_COMPARE)
		message_compare(out, flight->id, dn, args->attribute, value);
	else if (flight->kind == KIND_MODIFY)
		message_modify(out, flight->id, dn, value);
	else if (flight->kind == KIND_ADD)
		message_add(out, flight->id, dn, args->attribute, value);
	else if (flight->kind == KIND_DELETE)
		message_delete(out, flight->id, dn);
	else
		message_bind(out, flight->id, args->bind_dn, args->password);
}

void operation_start(struct session *session, uint64_t due_ns, uint64_t now_ns)
{
	struct worker *worker = session->worker;
	struct flight *flight = &session->flights[session->flying++];

	*flight = (struct flight){
		.id = ++session->last_id,
		.started_ns = due_ns,
		.sent_ns = now_ns,
		.measured = !worker->draining && due_ns >= worker->load->measure_ns,
	};
	worker->flying++;
	session->started++;
	if (worker->owed_count > 0) {
		flight->kind = KIND_DELETE;
		flight->number = worker->owed[--worker->owed_count];
	} else {
		flight->kind = mix_choose(&worker->load->args->mix, random_number(worker));
		if (flight->kind == KIND_ADD)
			flight->number = worker->next_entry++;
	}
	request(session, flight);
}
