/* SPDX-License-Identifier: MIT */
/*
 * Events, and reading messages. One thread at a time handles a connection; an event that is
 * reported meanwhile is left to that thread. Bytes arrive in a buffer of the thread, and each
 * complete message becomes a pdu of its own size. Only the beginning of an incomplete message stays
 * with the connection, in memory that grows with the bytes that did arrive: a client that announces
 * a large message and does not send it costs nothing.
 */
#include "net/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "proto/request.h"

#include <slab/malloc.h>

#include <sys/uio.h>

#define INPUT_BYTES 16384
#define PARTIAL_MIN 512
#define HEADER_MAX 6 /* of a message: tag and length */

static _Thread_local unsigned char input[INPUT_BYTES + 1];

/* input.c: a message of this length, which is not filled yet. NULL: there is no memory. */
static struct pdu *pdu_new(size_t length)
{
	struct pdu *pdu = slab_malloc(sizeof(*pdu) + length + 1);

	if (pdu)
		pdu->length = length;
	return pdu;
}

/* The work of an event: it runs in the order in which it was received. */
struct works {
	struct work *first, **end;
};

static void works_add(struct works *works, struct work *work)
{
	*works->end = work;
	while (*works->end)
		works->end = &(*works->end)->next;
}

static void receive(struct connection *connection, struct pdu *pdu, struct works *works)
{
	counter_add(COUNTER_PDUS, 1);
	atomic_store_explicit(&connection->active_at, clock_seconds(), memory_order_relaxed);
	works_add(works, connection->net->config.handler.receive(connection, pdu));
}

static bool no_memory(struct connection *connection)
{
	connection_disconnect(connection, LDAP_UNAVAILABLE, "no memory for a request");
	return false;
}

/* Keep the beginning of a message. */
static bool keep(struct connection *connection, const unsigned char *data, size_t length)
{
	size_t capacity = length * 2 < PARTIAL_MIN ? PARTIAL_MIN : length * 2;

	if (connection->partial_total && capacity > connection->partial_total)
		capacity = connection->partial_total;
	connection->partial = pdu_new(capacity);
	if (!connection->partial)
		return no_memory(connection);
	memcpy(connection->partial->data, data, length);
	connection->partial_used = length;
	atomic_store_explicit(&connection->partial_at, clock_seconds() | 1, memory_order_relaxed);
	return true;
}

static bool frame(struct connection *connection, const unsigned char *data, size_t available,
		  size_t *total)
{
	long length = request_frame(data, available, connection->net->config.limits.pdu_max);

	if (length < 0) {
		counter_add(COUNTER_MALFORMED, 1);
		connection_disconnect(connection, LDAP_PROTOCOL_ERROR,
				      "a message is malformed or too large");
		return false;
	}
	*total = (size_t)length;
	return true;
}

/* Cut bytes into messages. Returns false if the connection was closed. */
static bool cut(struct connection *connection, unsigned char *data, size_t length,
		struct works *works)
{
	while (length) {
		struct pdu *pdu;
		size_t total;

		if (!frame(connection, data, length, &total))
			return false;
		if (!total || total > length) {
			connection->partial_total = total;
			return keep(connection, data, length);
		}
		pdu = pdu_new(total);
		if (pdu) {
			memcpy(pdu->data, data, total);
			receive(connection, pdu, works);
		} else {
			connection->net->config.handler.refuse(connection, data, total);
		}
		data += total;
		length -= total;
	}
	return true;
}

/* Make room for more of the incomplete message. */
static bool grow(struct connection *connection)
{
	struct pdu *partial = connection->partial;
	size_t capacity = partial->length * 2;

	if (connection->partial_used < partial->length)
		return true;
	if (connection->partial_total && capacity > connection->partial_total)
		capacity = connection->partial_total;
	partial = slab_realloc(partial, sizeof(*partial) + capacity + 1);
	if (!partial)
		return no_memory(connection);
	partial->length = capacity;
	connection->partial = partial;
	return true;
}

/* Bytes were added to the incomplete message: it may have its length now, and be complete. */
static bool complete(struct connection *connection, struct works *works)
{
	struct pdu *partial = connection->partial;

	if (!connection->partial_total &&
	    !frame(connection, partial->data, connection->partial_used, &connection->partial_total))
		return false;
	if (!connection->partial_total || connection->partial_used < connection->partial_total)
		return true;
	connection->partial = NULL;
	atomic_store_explicit(&connection->partial_at, 0, memory_order_relaxed);
	partial->length = connection->partial_total;
	receive(connection, partial, works);
	return true;
}

/* The most bytes that may go into the incomplete message: it ends where the next begins, so
 * while its length is unknown, only the header is read. (The shortest message has 7 bytes.) */
static size_t partial_room(const struct connection *connection)
{
	size_t room = connection->partial->length - connection->partial_used;

	if (!connection->partial_total)
		return room < HEADER_MAX ? room : HEADER_MAX;
	if (room > connection->partial_total - connection->partial_used)
		room = connection->partial_total - connection->partial_used;
	return room;
}

static ssize_t read_some(struct connection *connection, size_t room)
{
	struct iovec vector[2] = {{0}, {.iov_base = input, .iov_len = INPUT_BYTES}};
	bool both;
	ssize_t bytes;

	if (room)
		vector[0] = (struct iovec){
			.iov_base = connection->partial->data + connection->partial_used,
			.iov_len = room,
		};
	/* What follows a complete message may go into the thread's buffer. */
	both = !room || (connection->partial_total &&
			 connection->partial_used + room == connection->partial_total);
	do
		bytes = room ? readv(connection->fd, vector, both ? 2 : 1)
			     : read(connection->fd, input, INPUT_BYTES);
	while (bytes < 0 && errno == EINTR);
	connection->unread = bytes == (ssize_t)(both ? room + INPUT_BYTES : room);
	return bytes;
}

/* Returns false if the connection was closed. */
static bool take(struct connection *connection, size_t room, size_t bytes, struct works *works)
{
	size_t rest = bytes > room ? bytes - room : 0;
	bool open;

	if (room) {
		connection->partial_used += bytes - rest;
		if (!complete(connection, works))
			return false;
	}
	open = !rest || cut(connection, input, rest, works);
	explicit_bzero(input, rest); /* as in pdu_free() */
	return open;
}

static void end_of_input(struct connection *connection)
{
	bool over;

	connection_lock(connection);
	connection->end_of_input = true;
	over = !connection_busy(connection);
	connection_unlock(connection);
	if (over)
		connection_close(connection, "end of input");
}

static struct work *connection_read(struct connection *connection)
{
	struct works works = {.first = NULL};
	size_t room = 0;
	ssize_t bytes;

	works.end = &works.first;
	if (connection->partial) {
		if (!grow(connection))
			return NULL;
		room = partial_room(connection);
	}
	bytes = read_some(connection, room);
	if (bytes > 0) {
		counter_add(COUNTER_BYTES_IN, (uint64_t)bytes);
		take(connection, room, (size_t)bytes, &works);
	} else if (bytes == 0) {
		end_of_input(connection);
	} else if (errno != EAGAIN && errno != EWOULDBLOCK) {
		connection_close(connection, strerror(errno));
	}
	return works.first;
}

/* --- events --------------------------------------------------------------------------------- */

bool event_begin(struct connection *connection, uint32_t events)
{
	bool first;

	connection_lock(connection);
	first = !connection->handling && !connection->closing;
	connection->ready |= events;
	if (first)
		connection->handling = true;
	connection_unlock(connection);
	return first;
}

static void works_append(struct work **works, struct work *more)
{
	while (*works)
		works = &(*works)->next;
	*works = more;
}

/* The client has read: send more, and let the searches continue that waited for it. */
static struct work *handle_output(struct connection *connection)
{
	bool sent, waits;

	connection_lock(connection);
	connection->want_write = false;
	sent = output_flush(connection);
	waits = connection_full(connection);
	connection_unlock(connection);
	if (!sent) {
		connection_close(connection, "the client cannot be sent to");
		return NULL;
	}
	connection_finished(connection);
	return waits ? NULL : connection->net->config.handler.drained(connection);
}

struct work *event_handle(struct connection *connection)
{
	struct work *works = NULL;
	uint32_t events;
	bool watched;

	connection_lock(connection);
	events = connection->ready;
	connection->ready = 0;
	connection_unlock(connection);
	if (events & (EPOLLHUP | EPOLLERR))
		connection_close(connection, "the client has gone");
	else if (events & EPOLLOUT)
		works = handle_output(connection);
	if (events & EPOLLIN && !atomic_load(&connection->net->paused))
		works_append(&works, connection_read(connection));
	/* The end of the input may stand behind what was read, and is not reported again. */
	if (events & EPOLLRDHUP)
		connection->unread = true;
	connection_lock(connection);
	connection->handling = false;
	watched = connection_arm(connection);
	connection_unlock(connection);
	if (!watched)
		connection_close(connection, "epoll has no memory");
	return works;
}

void event_serve(struct connection *connection)
{
	struct work *work = event_handle(connection);

	while (work) {
		struct work *next = work->next;

		work->next = NULL;
		work->run(work);
		work = next;
	}
}
