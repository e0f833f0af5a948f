/* SPDX-License-Identifier: MIT */
/* Listening sockets: opening them, accepting, refusing when the server is full. */
#include "net/internal.h"

#include "base/log.h"
#include "proto/response.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>

/* --- addresses ------------------------------------------------------------------------------ */

#define BACKLOG 4096
#define PORT_DEFAULT "389"
#define SCHEME_TCP "ldap://"
#define SCHEME_LOCAL "ldapi://"

/* An address that cannot be used. */
static int fail(char *error, size_t size, const char *text, const char *why)
{
	snprintf(error, size, "%s: %s", text, why);
	return -1;
}

/* A text that is no address. */
static int malformed(char *error, size_t size, const char *text, const char *why)
{
	snprintf(error, size,
		 "%s: %s; accepted: ldap://HOST[:PORT], or ldapi://PATH with %%2F for each slash",
		 text, why);
	return -1;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A path with %XX. Returns false if it is too long or malformed. */
static bool decode_path(const char *text, char *path, size_t size)
{
	size_t length = 0;

	for (; *text; text++) {
		char c = *text;

		if (c == '%') {
			int high = hex_digit(text[1]);
			int low = high < 0 ? -1 : hex_digit(text[2]);

			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			text += 2;
		}
		if (length + 1 >= size)
			return false;
		path[length++] = c;
	}
	path[length] = '\0';
	return length > 0;
}

static bool is_socket(const char *path)
{
	struct stat file;

	return lstat(path, &file) == 0 && S_ISSOCK(file.st_mode);
}

/* A socket that an earlier process left behind is removed; one that answers is not, and neither
 * is another kind of file: connect() refuses that with the same error. */
static bool remove_stale(const struct sockaddr_un *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool answers = fd >= 0 && connect(fd, (const struct sockaddr *)path, sizeof(*path)) == 0;
	bool stale = !answers && errno == ECONNREFUSED && is_socket(path->sun_path);

	if (fd >= 0)
		close(fd);
	if (stale)
		unlink(path->sun_path);
	return !answers;
}

static int open_local(struct address *address, const char *text, char *error, size_t size)
{
	struct sockaddr_un *path = &address->path;

	path->sun_family = AF_UNIX;
	if (!decode_path(text + strlen(SCHEME_LOCAL), path->sun_path, sizeof(path->sun_path)))
		return malformed(error, size, text, "the path is empty, too long or malformed");
	if (!remove_stale(path))
		return fail(error, size, text, "another process listens there");
	address->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (address->fd < 0 || bind(address->fd, (struct sockaddr *)path, sizeof(*path)))
		return fail(error, size, text, strerror(errno));
	/* From here on the file is the server's, and removed at the end. */
	address->local = true;
	if (listen(address->fd, BACKLOG))
		return fail(error, size, text, strerror(errno));
	snprintf(address->text, sizeof(address->text), "%s", text);
	return 0;
}

/* HOST:PORT, [HOST]:PORT, or without the port. */
static bool split(const char *text, char *host, char *port, size_t size)
{
	const char *end = *text == '[' ? strchr(text, ']') : strchr(text, ':');
	const char *colon = end && *end == ']' ? end + 1 : end;
	size_t length;

	if (*text == '[')
		text++;
	length = end ? (size_t)(end - text) : strcspn(text, "/");
	if (length >= size)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	if (!colon || *colon != ':')
		colon = ":" PORT_DEFAULT;
	snprintf(port, size, "%s", colon + 1);
	port[strcspn(port, "/")] = '\0';
	return true;
}

/* getaddrinfo() takes numbers above 65535, and uses their low 16 bits. */
static bool port_is_valid(const char *port)
{
	return strspn(port, "0123456789") != strlen(port) || strtoul(port, NULL, 10) <= UINT16_MAX;
}

static int listen_on(const struct addrinfo *info)
{
	int one = 1;
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Accepted sockets inherit these. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	if (bind(fd, info->ai_addr, info->ai_addrlen) || listen(fd, BACKLOG)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The text with the port that the system chose for port 0. */
static void name_tcp(struct address *address, const char *host)
{
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	char port[16] = "";
	bool v6 = strchr(host, ':') != NULL;

	getsockname(address->fd, (struct sockaddr *)&bound, &length);
	getnameinfo((struct sockaddr *)&bound, length, NULL, 0, port, sizeof(port), NI_NUMERICSERV);
	snprintf(address->text, sizeof(address->text), "%s%s%s%s:%s", SCHEME_TCP, v6 ? "[" : "",
		 host, v6 ? "]" : "", port);
}

static int open_tcp(struct address *address, const char *text, char *error, size_t size)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *info = NULL;
	char host[96], port[96];
	int result;

	if (!split(text + strlen(SCHEME_TCP), host, port, sizeof(host)))
		return malformed(error, size, text, "the host is too long");
	if (!port_is_valid(port))
		return malformed(error, size, text, "the port is above 65535");
	result = getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &info);
	if (result)
		return fail(error, size, text, gai_strerror(result));
	address->fd = listen_on(info);
	freeaddrinfo(info);
	if (address->fd < 0)
		return fail(error, size, text, strerror(errno));
	name_tcp(address, *host ? host : "127.0.0.1");
	return 0;
}

int address_open(struct address *address, struct net *net, const char *text, char *error,
		 size_t size)
{
	*address = (struct address){.net = net, .fd = -1};
	if (strncasecmp(text, SCHEME_LOCAL, strlen(SCHEME_LOCAL)) == 0)
		return open_local(address, text, error, size);
	if (strncasecmp(text, SCHEME_TCP, strlen(SCHEME_TCP)) == 0)
		return open_tcp(address, text, error, size);
	return malformed(error, size, text, "unknown scheme");
}

void address_close(struct address *address)
{
	if (address->fd < 0)
		return;
	close(address->fd);
	if (address->local)
		unlink(address->path.sun_path);
	address->fd = -1;
}

/* --- accepting ------------------------------------------------------------------------------ */

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
		log_info("the refused client has gone");
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

static void add(struct address *address, int fd)
{
	struct net *net = address->net;
	struct connection *connection;

	if ((unsigned)fd >= net->table_size ||
	    atomic_load(&net->connections) >= net->config.limits.connections) {
		refuse(fd, "the server has its most connections");
		return;
	}
	connection = connection_new(net, fd);
	if (!connection) {
		refuse(fd, "the server has no memory");
		return;
	}
	counter_add(COUNTER_ACCEPTED, 1);
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
