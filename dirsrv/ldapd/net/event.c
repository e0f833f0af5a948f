/* SPDX-License-Identifier: MIT */
/*
 * Events of connections. One thread at a time handles a connection; an event that is reported
 * meanwhile is left to that thread.
 */
#include "net/internal.h"

#include "base/clock.h"

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
