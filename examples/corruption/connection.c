/* SPDX-License-Identifier: MIT */
/* Connections: reading requests, one at a time from each. */
#include "bugs.h"
#include "server.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection *conn_open(int fd)
{
	struct connection *conn = need(connection_zalloc(server.connections));

	conn->fd = fd;
	conn->buffer = need(buffer_alloc(server.buffers));
	return conn;
}

void conn_close(struct connection *conn)
{
	close(conn->fd);
	if (conn->request)
		request_release(conn->request);
	buffer_free(server.buffers, conn->buffer);
	connection_free(server.connections, conn);
}

/* Read what is there behind what came before. 0: the client has hung up. */
static size_t conn_receive(struct connection *conn, struct request *request)
{
	size_t have = request->partial ? request->length : 0;
	ssize_t got = read(conn->fd, request->line + have, sizeof(request->line) - 1 - have);
	size_t length = have + (got > 0 ? (size_t)got : 0);

	request->length = (unsigned short)length;
	if (bug_is(BUG_UNDERFLOW) && !length)
		request->line[request->length - 1] = '\0'; /* no newline, for sure */
	request->partial = length && request->line[length - 1] != '\n';
	if (length && !request->partial)
		request->line[length - 1] = '\0';
	return got > 0 ? length : 0;
}

/* false: the client said good-bye. */
static bool conn_serve(struct connection *conn)
{
	struct request *request = conn->request;
	bool stays = true;

	if (parse_request(request)) {
		stays = request->verb != BYE;
		worker_do(request);
	} else {
		send(conn->fd, "what?", 5, MSG_NOSIGNAL);
		if (!bug_is(BUG_LEAK))
			request_release(request);
	}
	if (stays || !bug_is(BUG_DOUBLE_FREE_THREADS))
		conn->request = NULL;
	return stays;
}

/* false: it is to be closed. */
static bool conn_read(struct connection *conn)
{
	if (!conn->request)
		conn->request = request_make(conn);
	if (!conn_receive(conn, conn->request))
		return false;
	return conn->request->partial || conn_serve(conn);
}

/* Until all clients have hung up. */
void *listener_run(void *unused)
{
	struct pollfd waiting[CLIENTS];

	for (unsigned open = CLIENTS; open;) {
		for (unsigned i = 0; i < CLIENTS; i++)
			waiting[i] = (struct pollfd){server.conn[i] ? server.conn[i]->fd : -1,
						     POLLIN, 0};
		poll(waiting, CLIENTS, -1);
		for (unsigned i = 0; i < CLIENTS; i++) {
			if (!waiting[i].revents ||
			    (!(waiting[i].revents & POLLHUP) && conn_read(server.conn[i])))
				continue;
			conn_close(server.conn[i]);
			server.conn[i] = NULL;
			open--;
		}
	}
	worker_stop();
	return unused;
}
