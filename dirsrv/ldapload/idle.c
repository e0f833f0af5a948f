/* SPDX-License-Identifier: MIT */
/* One after the other: the server's queue for new connections is short. */
#include "idle.h"
#include "buffer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_US 1000
#define US_PER_SECOND 1e6

/* A connection, or -1 with errno. */
static int open_one(const struct server *server, unsigned number, double timeout_s)
{
	double waited_us = 0;
	struct pollfd poll_fd = {.events = POLLOUT};
	socklen_t size = sizeof(errno);
	int error = ETIMEDOUT;

	/* A local socket does not wait for a place in the queue. */
	while ((poll_fd.fd = server_connect(server, number)) < 0) {
		if (errno != EAGAIN || waited_us > timeout_s * US_PER_SECOND)
			return -1;
		usleep(RETRY_US);
		waited_us += RETRY_US;
	}
	if (poll(&poll_fd, 1, (int)(timeout_s * 1000)) == 1)
		getsockopt(poll_fd.fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error == 0)
		return poll_fd.fd;
	close(poll_fd.fd);
	errno = error;
	return -1;
}

void idle_open(struct idle *idle, const struct server *server, unsigned count, double timeout_s)
{
	idle->count = 0;
	idle->fds = calloc(count + 1u, sizeof(*idle->fds));
	if (!idle->fds)
		load_fail("there is no memory for %u idle connections", count);
	for (; idle->count < count; idle->count++) {
		int fd = open_one(server, idle->count, timeout_s);

		if (fd < 0)
			load_fail("idle connection %u of %u: %s", idle->count + 1, count,
				  strerror(errno));
		idle->fds[idle->count] = fd;
	}
}

unsigned idle_lost(const struct idle *idle)
{
	unsigned lost = 0;
	char byte;

	for (unsigned i = 0; i < idle->count; i++) {
		ssize_t n = recv(idle->fds[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT);

		lost += n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	}
	return lost;
}

void idle_close(struct idle *idle)
{
	for (unsigned i = 0; i < idle->count; i++)
		close(idle->fds[i]);
	free(idle->fds);
}
