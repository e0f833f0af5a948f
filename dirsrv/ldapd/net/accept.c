/* SPDX-License-Identifier: MIT */
/* Accepting connections, and refusing them when the server is full. */
#include "net/internal.h"

#include "base/log.h"
#include "proto/response.h"

#include <errno.h>
#include <fcntl.h>
#include <ldap.h>
#include <time.h>
#include <unistd.h>

/* Between attempts to get the spare descriptor back. */
#define SPARE_RETRY_NS 1000000

/* What a slow name server does to one connection in many. */
static void delay(struct net *net)
{
	unsigned every = net->config.accept_delay_every;
	unsigned ms = net->config.accept_delay_ms;
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	if (!every || atomic_fetch_add(&net->accepts, 1) % every != every - 1)
		return;
	threads_block(net);
	nanosleep(&time, NULL);
	threads_unblock(net);
}

static void refuse(int fd, const char *why)
{
	char notice[RESPONSE_REFUSAL_MAX];
	size_t length = response_notice(notice, LDAP_UNAVAILABLE, why);

	counter_add(COUNTER_REFUSED, 1);
	log_warning("a connection was refused: %s", why);
	if (send(fd, notice, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("the refused client has gone");
	close(fd);
}

static int accept_now(const struct address *address)
{
	return accept4(address->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static int accept_shared(struct address *address)
{
	struct net *net = address->net;
	int fd = -1;

	pthread_rwlock_rdlock(&net->spare_lock);
	errno = EMFILE;
	if (net->spares)
		fd = accept_now(address);
	pthread_rwlock_unlock(&net->spare_lock);
	return fd;
}

void spares_open(struct net *net)
{
	while (net->spares < NET_SPARES) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return;
		net->spare[net->spares++] = fd;
	}
}

void spares_close(struct net *net)
{
	while (net->spares)
		close(net->spare[--net->spares]);
}

/*
 * There are no descriptors: without a spare one the client could not even be refused, and the
 * socket would stay readable. No other thread accepts meanwhile: its connection would get the
 * descriptor of the spare one.
 *
 * A thread of a library may open a file in between, and take that descriptor for good: so there are
 * several. Should none be left, the next descriptor that is free becomes a spare one, before any
 * other connection is accepted.
 */
static void refuse_by_spare(struct address *address)
{
	const struct timespec pause = {.tv_nsec = SPARE_RETRY_NS};
	struct net *net = address->net;
	int fd = -1;

	pthread_rwlock_wrlock(&net->spare_lock);
	if (net->spares) {
		close(net->spare[--net->spares]);
		fd = accept_now(address);
	}
	if (fd >= 0)
		refuse(fd, "the server has no more descriptors");
	spares_open(net);
	if (!net->spares)
		nanosleep(&pause, NULL);
	pthread_rwlock_unlock(&net->spare_lock);
}

static void note_peer(struct connection *connection)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	connection->peer = (uid_t)-1;
	if (connection->local &&
	    getsockopt(connection->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
		connection->peer = peer.uid;
}

static void add(struct address *address, int fd)
{
	struct net *net = address->net;
	struct connection *connection;

	if ((unsigned)fd >= net->table_size ||
	    atomic_load(&net->connections) >= net->config.limits.connections) {
		refuse(fd, "the server has its most connections");
		return;
	}
	connection = connection_new(net, fd, address->local);
	if (!connection) {
		refuse(fd, "the server has no memory");
		return;
	}
	counter_add(COUNTER_ACCEPTED, 1);
	note_peer(connection);
	log_info("conn=%lu accepted on %s", (unsigned long)connection->id, address->text);
	/* The first request has often arrived by now. */
	event_begin(connection, net->config.form == NET_MULTI ? EPOLLIN : 0);
	event_serve(connection);
	connection_put(connection);
}

bool accept_one(struct address *address, void (*armed)(struct address *address))
{
	int fd = accept_shared(address);
	int error = fd < 0 ? errno : 0;

	if (error == EMFILE || error == ENFILE)
		refuse_by_spare(address);
	if (armed)
		armed(address);
	if (fd < 0)
		return error == ECONNABORTED || error == EMFILE;
	delay(address->net);
	add(address, fd);
	return true;
}
