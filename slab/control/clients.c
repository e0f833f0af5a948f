/* SPDX-License-Identifier: MIT */
/*
 * The clients of the control socket.
 *
 * A client sends one line and receives one line; then the server closes the connection, unless the
 * client reads memory. No step blocks the server. A slow client only occupies its slot, and loses
 * it after ten idle seconds. If all slots are in use and a new client comes, the client that was
 * idle longest loses its slot after one second; until then the new client waits in the listener's
 * queue.
 */
#define _GNU_SOURCE
#include "control/clients.h"
#include "control/server.h"
#include "pages/os.h"
#include "control/reply.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_REQUEST 4096
#define IDLE_MS 10000
#define GRACE_MS 1000 /* a client that was idle for less is not dropped for another one */

/* Of all clients; NULL before the first one. */
static char (*requests)[MAX_REQUEST];

static bool requests_ready(void)
{
	if (!requests)
		requests = os_map(MAX_CLIENTS * sizeof(*requests), 1);
	return requests;
}

static void mute(bool muted)
{
	if (muted != control_server.muted)
		watch_set(&control_server.watch, EPOLL_CTL_MOD, &control_server.listener,
			  muted ? 0 : EPOLLIN, TAG_LISTENER);
	control_server.muted = muted;
}

/*
 * A child process may have a copy of the descriptor, and then close() alone would neither end the
 * connection nor remove the socket from the epoll. Hence shutdown() and EPOLL_CTL_DEL.
 */
static void drop_client(struct client *client)
{
	if (descriptor_is_ours(&client->socket)) {
		watch_set(&control_server.watch, EPOLL_CTL_DEL, &client->socket, 0, 0);
		shutdown(client->socket.fd, SHUT_RDWR);
	}
	descriptor_close(&client->socket);
	slab_json_free(&client->reply);
	memset(client, 0, sizeof(*client));
	control_server.clients--;
	mute(false);
}

void control_drop_clients(void)
{
	for (unsigned i = 0; i < MAX_CLIENTS; i++)
		if (control_clients[i].used)
			drop_client(&control_clients[i]);
}

/* The child does not free answers: their memory was not inherited (MADV_DONTFORK). */
void control_forget_clients(void)
{
	for (unsigned i = 0; i < MAX_CLIENTS; i++)
		if (control_clients[i].used)
			descriptor_close(&control_clients[i].socket);
	memset(control_clients, 0, sizeof(control_clients));
	control_server.clients = 0;
}

/* A free slot, or the slot of the client that was idle longest, which the caller drops. NULL: no
 * client was idle for GRACE_MS. */
static struct client *find_slot(void)
{
	struct client *oldest = &control_clients[0];

	for (unsigned i = 0; i < MAX_CLIENTS; i++) {
		struct client *client = &control_clients[i];

		if (!client->used)
			return client;
		if (client->progress < oldest->progress)
			oldest = client;
	}
	return oldest->progress + GRACE_MS > control_now() ? NULL : oldest;
}

/* Serve root, and the same user unless the program forbids its user to look into it. */
static bool is_allowed(int fd, bool *ret_root)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return false;
	*ret_root = peer.uid == 0;
	return *ret_root || (peer.uid == geteuid() && prctl(PR_GET_DUMPABLE) == 1);
}

static void add_client(struct client *client, int fd)
{
	unsigned tag = (unsigned)(client - control_clients);

	if (client->used)
		drop_client(client);
	if (descriptor_take(&client->socket, fd, DESCRIPTORS_FROM) != 0)
		return;
	if (watch_set(&control_server.watch, EPOLL_CTL_ADD, &client->socket, EPOLLIN, tag) != 0) {
		descriptor_close(&client->socket);
		return;
	}
	client->used = true;
	client->progress = control_now();
	control_server.clients++;
	control_update_timer();
}

void control_accept(void)
{
	struct client *slot = find_slot();
	bool is_root;
	int fd =
		slot ? accept4(control_server.listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)
		     : -1;

	if (fd >= 0 && is_allowed(fd, &is_root) && requests_ready()) {
		add_client(slot, fd);
	} else if (fd >= 0) {
		close(fd);
	} else if (!slot || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)) {
		mute(true);
		control_update_timer();
	}
}

/* The answer was sent: another request may come. */
static void await_request(struct client *client)
{
	client->received = client->sent = client->reply.len = 0;
	client->reply.comma = false;
	watch_set(&control_server.watch, EPOLL_CTL_MOD, &client->socket, EPOLLIN,
		  (unsigned)(client - control_clients));
}

static void send_reply(struct client *client)
{
	const struct slab_json *reply = &client->reply;
	ssize_t n = 0;

	/* The application may have closed the descriptor while the answer was composed. */
	if (!descriptor_is_ours(&client->socket)) {
		drop_client(client);
		return;
	}
	while (client->sent < reply->len && !reply->failed) {
		n = send(client->socket.fd, reply->text + client->sent, reply->len - client->sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n <= 0)
			break;
		client->sent += (size_t)n;
		client->progress = control_now();
	}
	if (client->sent < reply->len && !reply->failed && n < 0 && errno == EAGAIN)
		watch_set(&control_server.watch, EPOLL_CTL_MOD, &client->socket, EPOLLOUT,
			  (unsigned)(client - control_clients));
	else if (client->stays && client->sent == reply->len && !reply->failed)
		await_request(client);
	else
		drop_client(client);
}

/* Answer a request line of `len` bytes; there is room for a zero behind it. Since the client
 * connected, the program may have changed its user, or may have forbidden its user to look into
 * it. */
static void answer_line(struct client *client, char *line, size_t len)
{
	bool is_root;

	if (!is_allowed(client->socket.fd, &is_root)) {
		drop_client(client);
		return;
	}
	line[len] = '\0';
	if (strlen(line) < len) {
		slab_control_refuse(&client->reply, "a request has no zero bytes");
	} else {
		line[strcspn(line, "\r")] = '\0';
		client->stays = slab_control_answer(&client->reply, line, is_root);
	}
	send_reply(client);
	control_update_timer(); /* the request may have started counting or sampling */
}

/* Receive from a client. Returns 1 if the request was complete and was answered, otherwise 0. */
static int read_request(struct client *client)
{
	char *request = requests[client - control_clients];
	size_t room = MAX_REQUEST - 1 - client->received;
	ssize_t n = recv(client->socket.fd, request + client->received, room, MSG_DONTWAIT);
	const char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 || (n == 0 && client->received == 0)) {
		drop_client(client);
		return 0;
	}
	client->received += (size_t)n;
	client->progress = control_now();
	end = memchr(request, '\n', client->received);
	if (end || n == 0) {
		answer_line(client, request, end ? (size_t)(end - request) : client->received);
	} else if (client->received == MAX_REQUEST - 1) {
		slab_control_refuse(&client->reply, "a request has less than %d bytes",
				    MAX_REQUEST);
		send_reply(client);
	} else {
		return 0;
	}
	return 1;
}

int control_serve_client(struct client *client)
{
	if (!client->used)
		return 0;
	if (client->reply.len == 0 && descriptor_is_ours(&client->socket))
		return read_request(client);
	send_reply(client);
	return 0;
}

void control_drop_idle(void)
{
	uint64_t time = control_now();

	for (struct client *client = control_clients; client < control_clients + MAX_CLIENTS;
	     client++) {
		if (client->used && client->progress + IDLE_MS <= time)
			drop_client(client);
	}
	mute(false);
}
