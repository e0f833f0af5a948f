/* SPDX-License-Identifier: MIT */
/* A thread: the requests of its operations, the events of its connections, the rate, the end. */
#include "load.h"

/* --- which operation comes next, and its request -------------------------------------------- */

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

/* Choose an operation and append its request. `due_ns`: when it should have
 * started, which its latency counts from. */
static void operation_start(struct session *session, uint64_t due_ns, uint64_t now_ns)
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

/* --- the thread ----------------------------------------------------------------------------- */

#define EVENTS 64
#define ENTRY_NUMBERS_BITS 40 /* of a thread */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static void wake(struct worker *worker, uint64_t now_ns)
{
	for (unsigned i = 0; i < worker->sleepers;) {
		struct session *session = worker->sleeping[i];

		if (session->wake_ns > now_ns) {
			i++;
			continue;
		}
		session->sleeps = false;
		worker->sleeping[i] = worker->sleeping[--worker->sleepers];
		session_wake(session);
	}
}

/* ---- the end ---- */

static void drain(struct worker *worker, uint64_t now_ns)
{
	worker->draining = true;
	worker->drain_ns = now_ns;
}

static bool has_ended(const struct worker *worker, uint64_t now_ns)
{
	uint64_t patience_ns = (uint64_t)(2 * worker->load->args->timeout * (double)NS_PER_SECOND);

	return worker->draining && ((worker->flying == 0 && worker->owed_count == 0) ||
				    now_ns > worker->drain_ns + patience_ns);
}

/* One of the operations whose number ends the run. */
static bool take_budget(struct load *load)
{
	unsigned long left = atomic_load_explicit(&load->budget, memory_order_relaxed);

	while (left > 0)
		if (atomic_compare_exchange_weak_explicit(&load->budget, &left, left - 1,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	return false;
}

/* Can an operation start? *due_ns: when it should have. */
static bool take_turn(struct worker *worker, uint64_t now_ns, uint64_t *due_ns)
{
	struct load *load = worker->load;

	if (!worker->draining && worker->interval_ns != 0 && worker->due_ns > now_ns)
		return false;
	if (!worker->draining && load->args->operations != 0 && now_ns >= load->measure_ns &&
	    !take_budget(load))
		drain(worker, now_ns);
	if (worker->draining) {
		*due_ns = now_ns;
		return worker->owed_count > 0;
	}
	*due_ns = worker->interval_ns ? worker->due_ns : now_ns;
	worker->due_ns += worker->interval_ns;
	return true;
}

/* ---- the loop ---- */

/* Operations on the connections that can take some: one each at a rate, otherwise as many as fit
 * into one send(). */
static void start_operations(struct worker *worker, uint64_t now_ns)
{
	struct session *session;
	uint64_t due_ns;

	while ((session = session_take_ready(worker))) {
		bool turn = take_turn(worker, now_ns, &due_ns);

		for (bool more = turn; more;) {
			operation_start(session, due_ns, now_ns);
			more = worker->interval_ns == 0 && session_has_room(session) &&
			       take_turn(worker, now_ns, &due_ns);
		}
		if (turn)
			session_flush(session);
		session_ready(session);
		if (!turn)
			return;
	}
}

static uint64_t next_event_ns(const struct worker *worker, uint64_t now_ns)
{
	uint64_t next_ns = now_ns + NS_PER_SECOND / 10;

	if (!worker->draining && worker->load->end_ns < next_ns)
		next_ns = worker->load->end_ns;
	if (!worker->draining && worker->interval_ns && worker->ready && worker->due_ns < next_ns)
		next_ns = worker->due_ns;
	for (unsigned i = 0; i < worker->sleepers; i++)
		if (worker->sleeping[i]->wake_ns < next_ns)
			next_ns = worker->sleeping[i]->wake_ns;
	return next_ns > now_ns ? next_ns : now_ns;
}

static void wait_for_events(struct worker *worker, uint64_t now_ns)
{
	uint64_t wait_ns = next_event_ns(worker, now_ns) - now_ns;
	struct timespec timeout = {(time_t)(wait_ns / NS_PER_SECOND),
				   (long)(wait_ns % NS_PER_SECOND)};
	struct epoll_event events[EVENTS];
	int n = epoll_pwait2(worker->epoll, events, EVENTS, &timeout, NULL);

	if (n < 0 && errno != EINTR)
		load_fail("epoll_pwait2: %s", strerror(errno));
	for (int i = 0; i < n; i++)
		session_event(events[i].data.ptr, events[i].events);
}

static void expire(struct worker *worker, uint64_t now_ns)
{
	uint64_t timeout_ns = (uint64_t)(worker->load->args->timeout * (double)NS_PER_SECOND);

	for (unsigned i = 0; i < worker->count; i++)
		if (worker->sessions[i].state != SESSION_CLOSED)
			session_expire(&worker->sessions[i], now_ns, timeout_ns);
}

static void finish(struct worker *worker)
{
	for (unsigned i = 0; i < worker->count; i++) {
		session_end(&worker->sessions[i]);
		free(worker->sessions[i].flights);
		buffer_free(&worker->sessions[i].in);
		buffer_free(&worker->sessions[i].out);
	}
	free(worker->sessions);
	free(worker->sleeping);
	free(worker->owed);
	free(worker->scratch);
	ber_free(worker->ber, 0);
	close(worker->epoll);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct load *load = worker->load;
	uint64_t now_ns = load_now_ns(), expire_ns = now_ns;

	worker->due_ns = now_ns;
	for (unsigned i = 0; i < worker->count; i++)
		session_connect(&worker->sessions[i]);
	while (!has_ended(worker, now_ns)) {
		wait_for_events(worker, now_ns);
		now_ns = load_now_ns();
		if (!worker->draining && (now_ns >= load->end_ns ||
					  atomic_load_explicit(&load->stop, memory_order_relaxed)))
			drain(worker, now_ns);
		wake(worker, now_ns);
		start_operations(worker, now_ns);
		if (now_ns > expire_ns + NS_PER_SECOND / 4) {
			expire(worker, now_ns);
			expire_ns = now_ns;
		}
	}
	finish(worker);
	return NULL;
}

static void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		load_fail("there is no memory for %zu connections", count);
	return memory;
}

void worker_start(struct worker *worker, struct load *load, unsigned first, unsigned connections)
{
	const struct args *args = load->args;
	int error;

	worker->load = load;
	worker->count = connections;
	worker->sessions = zeroed(connections, sizeof(*worker->sessions));
	worker->sleeping = zeroed(connections, sizeof(struct session *));
	worker->scratch = zeroed(1, RECEIVE_BYTES + 1);
	worker->ready_end = &worker->ready;
	worker->random = (first + 1) * GOLDEN | 1;
	worker->next_entry = (uint64_t)first << ENTRY_NUMBERS_BITS;
	if (args->rate > 0)
		worker->interval_ns =
			(uint64_t)((double)NS_PER_SECOND * args->threads / args->rate);
	for (unsigned i = 0; i < connections; i++) {
		struct session *session = &worker->sessions[i];

		session->worker = worker;
		session->number = first + i;
		session->fd = -1;
		session->flights = zeroed(args->depth, sizeof(*session->flights));
	}
	worker->ber = ber_alloc_t(LBER_USE_DER);
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!worker->ber || worker->epoll < 0)
		load_fail("a thread cannot start: %s", strerror(errno));
	error = pthread_create(&worker->thread, NULL, work, worker);
	if (error != 0)
		load_fail("a thread cannot start: %s", strerror(error));
}

void worker_join(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
}
