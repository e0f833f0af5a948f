/* SPDX-License-Identifier: MIT */
/* URIs and sockets; idle connections, one after the other: the queue for new ones is short. */
#include "server.h"

#include "message.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>

/* --- URIs and sockets ----------------------------------------------------------------------- */

#define SOURCE_ADDRESSES 64u
#define LOOPBACK_NET 0x7f000000u
#define LOOPBACK_MASK 0xff000000u
#define URI_FORM "ldap://HOST[:PORT] or ldapi://PATH with %%2F for each slash"

static int parse_local(struct server *server, const char *path, char *error, size_t size)
{
	struct sockaddr_un *local = (struct sockaddr_un *)&server->address;

	if (!path || !*path || strlen(path) >= sizeof(local->sun_path)) {
		snprintf(error, size, "the path of ldapi:// is %s; accepted: " URI_FORM,
			 path && *path ? "too long" : "missing");
		return -1;
	}
	local->sun_family = AF_UNIX;
	memcpy(local->sun_path, path, strlen(path) + 1);
	server->length = sizeof(*local);
	return 0;
}

static int resolve(struct server *server, const char *host, int port, char *error, size_t size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	char service[16];
	int status;

	snprintf(service, sizeof(service), "%d", port);
	status = getaddrinfo(host && *host ? host : "localhost", service, &hints, &found);
	if (status != 0) {
		snprintf(error, size, "%s: %s", host, gai_strerror(status));
		return -1;
	}
	memcpy(&server->address, found->ai_addr, found->ai_addrlen);
	server->length = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

int server_parse(struct server *server, const char *uri, char *error, size_t size)
{
	LDAPURLDesc *url;
	int status;

	*server = (struct server){0};
	if (ldap_url_parse(uri, &url) != LDAP_URL_SUCCESS) {
		snprintf(error, size, "'%s' is no URI; accepted: " URI_FORM, uri);
		return -1;
	}
	if (strcmp(url->lud_scheme, "ldapi") == 0) {
		status = parse_local(server, url->lud_host, error, size);
	} else if (strcmp(url->lud_scheme, "ldap") == 0) {
		status = resolve(server, url->lud_host, url->lud_port, error, size);
	} else {
		snprintf(error, size, "'%s': %s is not supported; accepted: " URI_FORM, uri,
			 url->lud_scheme);
		status = -1;
	}
	ldap_free_urldesc(url);
	return status;
}

static bool is_loopback(const struct server *server)
{
	const struct sockaddr_in *to = (const struct sockaddr_in *)&server->address;

	return to->sin_family == AF_INET &&
	       (ntohl(to->sin_addr.s_addr) & LOOPBACK_MASK) == LOOPBACK_NET;
}

/* If this fails, the kernel chooses the address, as it does for other networks. */
static bool choose_source(int fd, unsigned long number)
{
	struct sockaddr_in from = {.sin_family = AF_INET,
				   .sin_addr.s_addr =
					   htonl(LOOPBACK_NET + 1 + number % SOURCE_ADDRESSES)};
	int one = 1;

	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	return bind(fd, (const struct sockaddr *)&from, sizeof(from)) == 0;
}

int server_connect(const struct server *server, unsigned long number)
{
	int family = server->address.ss_family, one = 1, saved;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (is_loopback(server))
		choose_source(fd, number);
	if (connect(fd, (const struct sockaddr *)&server->address, server->length) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* --- idle connections ----------------------------------------------------------------------- */

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
