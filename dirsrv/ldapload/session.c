/* SPDX-License-Identifier: MIT */
/* A connection: its states, the results of its operations; which can take one, which sleep. */
#include "load.h"

#define RETRY_NS (NS_PER_SECOND / 10)

bool session_has_room(const struct session *session)
{
	const struct args *args = session->worker->load->args;

	return session->state == SESSION_OPEN && session->flying < args->depth &&
	       (args->per_connection == 0 || session->started < args->per_connection);
}

void session_ready(struct session *session)
{
	struct worker *worker = session->worker;

	if (session->listed || !session_has_room(session))
		return;
	session->listed = true;
	session->next = NULL;
	*worker->ready_end = session;
	worker->ready_end = &session->next;
}

struct session *session_take_ready(struct worker *worker)
{
	struct session *session;

	while ((session = worker->ready)) {
		worker->ready = session->next;
		if (!worker->ready)
			worker->ready_end = &worker->ready;
		session->listed = false;
		if (session_has_room(session))
			return session;
	}
	return NULL;
}

static void session_sleep(struct session *session, uint64_t ns)
{
	struct worker *worker = session->worker;

	session->wake_ns = load_now_ns() + ns;
	if (session->sleeps)
		return;
	session->sleeps = true;
	worker->sleeping[worker->sleepers++] = session;
}

static void watch(struct session *session, int how, bool wants_out)
{
	struct epoll_event event = {.events = EPOLLIN | (wants_out ? EPOLLOUT : 0),
				    .data.ptr = session};

	session->wants_out = wants_out;
	if (epoll_ctl(session->worker->epoll, how, session->fd, &event) != 0)
		load_fail("epoll_ctl: %s", strerror(errno));
}

static void close_session(struct session *session)
{
	if (session->fd >= 0)
		close(session->fd);
	session->fd = -1;
	session->state = SESSION_CLOSED;
	session->worker->flying -= session->flying;
	session->flying = 0;
	session->out.length = session->in.length = 0;
}

/* Count its operations with that code, close it, and connect again later. */
static void session_lost(struct session *session, int code, const char *text, size_t length)
{
	struct tally *tally = &session->worker->tally;

	for (unsigned i = 0; i < session->flying; i++)
		tally_outcome(tally, session->flights[i].kind, code, true, 1, text, length);
	if (session->flying == 0)
		tally_outcome(tally, KIND_CONNECT, code, true, 1, text, length);
	close_session(session);
	session_sleep(session, RETRY_NS);
}

void session_end(struct session *session)
{
	if (session->state == SESSION_OPEN) {
		message_unbind(&session->out, ++session->last_id);
		/* A server that does not take it sees the end of the connection. */
		(void)send(session->fd, session->out.bytes, session->out.length,
			   MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	close_session(session);
}

/* ---- connecting ---- */

static void opened(struct session *session, uint64_t now_ns)
{
	struct worker *worker = session->worker;
	struct load *load = worker->load;

	session->state = SESSION_OPEN;
	atomic_store_explicit(&load->connected, true, memory_order_relaxed);
	tally_outcome(&worker->tally, KIND_CONNECT, LDAP_SUCCESS, false, 1, NULL, 0);
	if (session->connect_ns >= load->measure_ns && !worker->draining) {
		histogram_add(&worker->tally.latency[KIND_CONNECT], now_ns - session->connect_ns);
		worker->tally.in_time[KIND_CONNECT] += now_ns <= load->end_ns;
	}
	session_ready(session);
}

static void connected(struct session *session)
{
	const struct args *args = session->worker->load->args;

	if (!*args->bind_dn) {
		opened(session, load_now_ns());
		return;
	}
	session->state = SESSION_BINDING;
	message_bind(&session->out, ++session->last_id, args->bind_dn, args->password);
	session_flush(session);
}

static void connect_failed(struct session *session, int error)
{
	struct load *load = session->worker->load;
	const char *text = strerror(error);

	if (!atomic_load_explicit(&load->connected, memory_order_relaxed))
		load_fail("%s: %s", load->args->uri, text);
	session_lost(session, LDAP_CONNECT_ERROR, text, strlen(text));
}

void session_connect(struct session *session)
{
	struct worker *worker = session->worker;

	session->connect_ns = load_now_ns();
	session->started = 0;
	session->last_id = 0;
	session->fd = server_connect(&worker->load->server, worker->opened + session->number);
	if (session->fd < 0 && errno == EAGAIN) {
		session_sleep(session, RETRY_NS / 100);
		return;
	}
	worker->opened++;
	if (session->fd < 0) {
		connect_failed(session, errno);
		return;
	}
	session->state = SESSION_CONNECTING;
	watch(session, EPOLL_CTL_ADD, true);
}

static void finish_connecting(struct session *session)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(session->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
		connect_failed(session, error ? error : errno);
		return;
	}
	watch(session, EPOLL_CTL_MOD, false);
	connected(session);
}

/* ---- sending ---- */

void session_flush(struct session *session)
{
	ssize_t sent = 0;

	if (session->out.length > 0)
		sent = send(session->fd, session->out.bytes, session->out.length, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		session_lost(session, LDAP_SERVER_DOWN, NULL, 0);
		return;
	}
	if (sent > 0)
		buffer_consume(&session->out, (size_t)sent);
	if ((session->out.length > 0) != session->wants_out)
		watch(session, EPOLL_CTL_MOD, session->out.length > 0);
}

static struct flight *find_flight(struct session *session, int id)
{
	for (unsigned i = 0; i < session->flying; i++)
		if (session->flights[i].id == id)
			return &session->flights[i];
	return NULL;
}

void session_wake(struct session *session)
{
	if (session->state == SESSION_CLOSED)
		session_connect(session);
}

/* ---- the results of operations, and the deletes that successful adds owe ---- */

static void owe(struct worker *worker, uint64_t number)
{
	if (worker->owed_count == worker->owed_capacity) {
		size_t capacity = worker->owed_capacity * 2 + 16;
		uint64_t *owed = realloc(worker->owed, capacity * sizeof(*owed));

		if (!owed)
			load_fail("there is no memory for %zu numbers", capacity);
		worker->owed = owed;
		worker->owed_capacity = capacity;
	}
	worker->owed[worker->owed_count++] = number;
}

static bool is_search(enum kind kind)
{
	return kind == KIND_SEARCH || kind == KIND_OR || kind == KIND_BASE;
}

static void count(struct worker *worker, const struct flight *flight, uint64_t now_ns)
{
	struct tally *tally = &worker->tally;
	uint64_t took = now_ns > flight->started_ns ? now_ns - flight->started_ns : 0;

	histogram_add(&tally->latency[flight->kind], took);
	tally->in_time[flight->kind] += now_ns <= worker->load->end_ns;
	tally->entries[flight->kind] += flight->entries;
	tally->last_ns = now_ns;
}

static void operation_answered(struct session *session, struct flight *flight,
			       const struct answer *answer, uint64_t now_ns)
{
	struct worker *worker = session->worker;
	int code = answer->code;
	bool good;

	if (code == LDAP_SUCCESS && is_search(flight->kind) && flight->entries == 0)
		code = CODE_EMPTY;
	good = code == (flight->kind == KIND_COMPARE ? LDAP_COMPARE_TRUE : LDAP_SUCCESS);
	tally_outcome(&worker->tally, flight->kind, code, !good, 1, answer->text.bv_val,
		      answer->text.bv_len);
	if (flight->kind == KIND_ADD && code == LDAP_SUCCESS)
		owe(worker, flight->number);
	if (good && flight->measured)
		count(worker, flight, now_ns);
	*flight = session->flights[--session->flying];
	worker->flying--;
}

/* ---- answers ---- */

/* Since when does it wait for the oldest answer? now_ns: it waits for none. */
static uint64_t waits_since(const struct session *session, uint64_t now_ns)
{
	uint64_t since = now_ns;

	if (session->state == SESSION_CONNECTING || session->state == SESSION_BINDING)
		return session->connect_ns;
	for (unsigned i = 0; i < session->flying; i++)
		if (session->flights[i].sent_ns < since)
			since = session->flights[i].sent_ns;
	return since;
}

void session_expire(struct session *session, uint64_t now_ns, uint64_t timeout_ns)
{
	const struct load *load = session->worker->load;

	if (waits_since(session, now_ns) + timeout_ns > now_ns)
		return;
	if (!atomic_load_explicit(&load->connected, memory_order_relaxed))
		load_fail("%s: no answer for %.1f seconds", load->args->uri, load->args->timeout);
	session_lost(session, LDAP_TIMEOUT, NULL, 0);
}

/* 0; or -1: the connection was lost. */
static int bound(struct session *session, const struct answer *answer, uint64_t now_ns)
{
	struct load *load = session->worker->load;

	if (answer->tag == LDAP_RES_BIND && answer->code == LDAP_SUCCESS) {
		opened(session, now_ns);
		return 0;
	}
	if (!atomic_load_explicit(&load->connected, memory_order_relaxed))
		load_fail("bind as '%s': %s (%d)%s%.*s", load->args->bind_dn,
			  tally_code_name(answer->code), answer->code,
			  answer->text.bv_len ? ": " : "", (int)answer->text.bv_len,
			  answer->text.bv_val ? answer->text.bv_val : "");
	session_lost(session, answer->code, answer->text.bv_val, answer->text.bv_len);
	return -1;
}

static int answered(struct session *session, const struct answer *answer, uint64_t now_ns)
{
	struct flight *flight;

	if (answer->id == 0) { /* Notice of Disconnection */
		session_lost(session, answer->code, answer->text.bv_val, answer->text.bv_len);
		return -1;
	}
	if (session->state == SESSION_BINDING)
		return bound(session, answer, now_ns);
	flight = find_flight(session, answer->id);
	if (!flight) {
		session_lost(session, LDAP_DECODING_ERROR, NULL, 0);
		return -1;
	}
	if (answer->tag == LDAP_RES_SEARCH_ENTRY)
		flight->entries++;
	else if (answer->tag != LDAP_RES_SEARCH_REFERENCE && answer->tag != LDAP_RES_INTERMEDIATE)
		operation_answered(session, flight, answer, now_ns);
	return 0;
}

/* The bytes of complete messages, or -1: the connection was lost. */
static ssize_t parse(struct session *session, char *bytes, size_t length)
{
	uint64_t now_ns = load_now_ns();
	size_t used = 0;

	for (;;) {
		ssize_t message = message_length(bytes + used, length - used);
		struct answer answer;

		if (message == 0 || (message > 0 && (size_t)message > length - used))
			return (ssize_t)used;
		if (message < 0 || message_read_answer(session->worker->ber, bytes + used,
						       (size_t)message, &answer)) {
			session_lost(session, LDAP_DECODING_ERROR, NULL, 0);
			return -1;
		}
		if (answered(session, &answer, now_ns))
			return -1;
		used += (size_t)message;
	}
}

static bool is_over(const struct worker *worker)
{
	return worker->draining && worker->owed_count == 0;
}

/* After answers: the next operations, or the next connection. */
static void go_on(struct session *session)
{
	const struct args *args = session->worker->load->args;

	if (args->per_connection != 0 && session->started == args->per_connection &&
	    session->flying == 0 && session->state == SESSION_OPEN && !is_over(session->worker)) {
		session_end(session);
		session_connect(session);
	} else {
		session_ready(session);
	}
}

static void receive(struct session *session)
{
	char *bytes = session->worker->scratch;
	ssize_t n = recv(session->fd, bytes, RECEIVE_BYTES, 0), used;
	size_t length = (size_t)n;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		session_lost(session, LDAP_SERVER_DOWN, NULL, 0);
		return;
	}
	if (session->in.length > 0) {
		buffer_append(&session->in, bytes, length);
		buffer_reserve(&session->in, 1); /* message_read_answer() */
		bytes = session->in.bytes;
		length = session->in.length;
	}
	used = parse(session, bytes, length);
	if (used < 0)
		return;
	if (session->in.length > 0)
		buffer_consume(&session->in, (size_t)used);
	else
		buffer_append(&session->in, bytes + used, length - (size_t)used);
	go_on(session);
}

void session_event(struct session *session, uint32_t events)
{
	if (session->state == SESSION_CONNECTING) {
		finish_connecting(session);
		return;
	}
	if (session->state != SESSION_CLOSED && events & EPOLLOUT)
		session_flush(session);
	if (session->state != SESSION_CLOSED && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive(session);
}
