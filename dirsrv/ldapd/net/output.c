/* SPDX-License-Identifier: MIT */
/*
 * Sending without waiting: what the socket does not take is kept in chunks until the client
 * reads.
 */
#include "net/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "proto/response.h"

#include <sys/uio.h>

#define CHUNK_MAX_BYTES 16384 /* what is kept at most while more follows */
#define VECTORS 16

static ssize_t send_vector(struct connection *connection)
{
	struct iovec vector[VECTORS];
	struct msghdr message = {.msg_iov = vector};
	ssize_t sent;

	for (struct chunk *chunk = connection->output; chunk && message.msg_iovlen < VECTORS;
	     chunk = chunk->next)
		vector[message.msg_iovlen++] =
			(struct iovec){.iov_base = chunk->data + chunk->sent,
				       .iov_len = chunk->length - chunk->sent};
	do
		sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent;
}

static void wait_for_client(struct connection *connection)
{
	if (!connection->want_write) {
		connection->want_write = true;
		connection->blocked_at = clock_seconds();
	}
	/* A thread that handles an event arms the connection when it has done so. */
	if (!connection->handling)
		connection_arm(connection);
}

bool output_flush(struct connection *connection)
{
	while (connection->output) {
		ssize_t sent = send_vector(connection);

		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			wait_for_client(connection);
			return true;
		}
		if (sent < 0)
			return false;
		output_consume(connection, (size_t)sent);
		connection->blocked_at = clock_seconds();
		counter_add(COUNTER_BYTES_OUT, (uint64_t)sent);
	}
	return true;
}

/* Most responses fit into the socket at once, and need no chunk. */
static bool send_at_once(struct connection *connection, const char **data, size_t *length)
{
	ssize_t sent = send(connection->fd, *data, *length, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	counter_add(COUNTER_BYTES_OUT, (uint64_t)sent);
	*data += sent;
	*length -= (size_t)sent;
	return true;
}

/* Without memory for a chunk: the socket may take everything at once. */
static bool send_unbuffered(struct connection *connection, const char *data, size_t length)
{
	if (!output_flush(connection) || connection->output)
		return false;
	return send_at_once(connection, &data, &length) &&
	       (!length || output_append(connection, data, length));
}

static bool send_locked(struct connection *connection, const char *data, size_t length, bool more)
{
	if (!connection->output && !more && !send_at_once(connection, &data, &length))
		return false;
	if (!length)
		return true;
	if (!output_append(connection, data, length))
		return send_unbuffered(connection, data, length);
	if (connection->want_write || (more && connection->output_bytes < CHUNK_MAX_BYTES))
		return true;
	return output_flush(connection);
}

enum connection_sent connection_send(struct connection *connection, const void *data, size_t length,
				     bool more)
{
	enum connection_sent result = CONNECTION_CLOSED;

	connection_lock(connection);
	if (!connection->closing) {
		if (!send_locked(connection, data, length, more)) {
			connection_unlock(connection);
			connection_close(connection, "the client cannot be sent to");
			return CONNECTION_CLOSED;
		}
		result = connection_full(connection) ? CONNECTION_FULL : CONNECTION_SENT;
	}
	connection_unlock(connection);
	return result;
}

void connection_disconnect(struct connection *connection, int code, const char *why)
{
	char notice[RESPONSE_REFUSAL_MAX];
	size_t length = response_notice(notice, code, why);

	connection_send(connection, notice, length, false);
	connection_close(connection, why);
}

bool connection_full(const struct connection *connection)
{
	return connection->want_write &&
	       connection->output_bytes > connection->net->config.limits.output_max;
}

/* An edge-triggered event is reported once: what came while another event was handled, and what was
 * left unread, has to be reported again. */
bool connection_arm(struct connection *connection)
{
	struct net *net = connection->net;
	bool again = connection->ready || connection->unread;
	struct epoll_event event = {.events = EPOLLERR | net->edge};
	int what = connection->mask ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (!connection->end_of_input && !atomic_load(&net->paused))
		event.events |= EPOLLIN | EPOLLRDHUP;
	if (connection->want_write)
		event.events |= EPOLLOUT;
	if (connection->closing || (event.events == connection->mask && !again))
		return true;
	connection->mask = event.events;
	connection->ready = 0;
	connection->unread = false;
	event.data.u64 = event_data((uint32_t)connection->fd, connection->generation);
	return epoll_ctl(connection->epoll, what, connection->fd, &event) == 0;
}
