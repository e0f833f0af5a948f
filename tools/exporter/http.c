/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd without threads. A request for the metrics is suspended until the present
 * scrape, or the one that it starts, has ended; all waiting requests get the same bytes. The
 * number of connections, their idle time and the size of a request are limited, so slow or
 * numerous clients cost little.
 */
#include "http.h"
#include "accept.h"

#include <microhttpd.h>
#include <netdb.h>

#define CONNECTIONS 256U
#define SILENCE_SECONDS 10U
#define REQUEST_BYTES ((size_t)16 * 1024)

#define PAGE_TYPE "text/html; charset=utf-8"
#define TEXT_TYPE "text/plain; charset=utf-8"

static const char page[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\"><head><title>slab-exporter</title></head><body>\n"
	"<h1>slab-exporter " EXPORTER_VERSION "</h1>\n"
	"<p>The slab caches of this machine's processes: <a href=\"/metrics\">metrics</a></p>\n"
	"</body></html>\n";

/* One request, from its first line to its last byte out. */
struct request {
	struct MHD_Connection *connection;
	bool has_waited;
	struct request *next; /* of those that wait */
};

struct http {
	struct MHD_Daemon *daemon;
	struct scrape *scrape;
	struct request *waiting;
	struct MHD_Response *metrics[2]; /* of the last scrape, by format; NULL: not yet */
	char url[sizeof("http://[]:/metrics") + NI_MAXHOST + NI_MAXSERV];
};

/* --- responses --------------------------------------------------------------- */

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
				 const char *type, const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* The last scrape in a format: written once, for all requests. */
static struct MHD_Response *metrics_response(struct http *http, enum exposition exposition)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	scrape_write(http->scrape, out, exposition);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	http->metrics[exposition] =
		MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	if (http->metrics[exposition])
		MHD_add_response_header(http->metrics[exposition], MHD_HTTP_HEADER_CONTENT_TYPE,
					exposition == EXPOSITION_OPENMETRICS ? OPENMETRICS_TYPE
									     : CLASSIC_TYPE);
	return http->metrics[exposition];
}

static void forget_metrics(struct http *http)
{
	for (int i = 0; i < 2; i++) {
		if (http->metrics[i])
			MHD_destroy_response(http->metrics[i]);
		http->metrics[i] = NULL;
	}
}

static enum MHD_Result send_metrics(struct http *http, struct MHD_Connection *connection)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	enum exposition exposition = accept_format(accept);
	struct MHD_Response *response = http->metrics[exposition];

	if (!response)
		response = metrics_response(http, exposition);
	if (!response)
		return send_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, TEXT_TYPE,
				 "There is no memory for the metrics.\n");
	return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

/* --- requests ---------------------------------------------------------------- */

static enum MHD_Result wait_for_scrape(struct http *http, struct request *request)
{
	scrape_start(http->scrape);
	request->next = http->waiting;
	http->waiting = request;
	MHD_suspend_connection(request->connection);
	return MHD_YES;
}

static enum MHD_Result serve(struct http *http, struct request *request, const char *path)
{
	struct MHD_Connection *connection = request->connection;

	if (strcmp(path, "/metrics") == 0) {
		if (!request->has_waited && !scrape_is_fresh(http->scrape))
			return wait_for_scrape(http, request);
		return send_metrics(http, connection);
	}
	if (strcmp(path, "/") == 0)
		return send_text(connection, MHD_HTTP_OK, PAGE_TYPE, page);
	if (strcmp(path, "/-/healthy") == 0)
		return send_text(connection, MHD_HTTP_OK, TEXT_TYPE, "healthy\n");
	return send_text(connection, MHD_HTTP_NOT_FOUND, TEXT_TYPE,
			 "There is nothing here; the metrics are at /metrics.\n");
}

/* Called after a request's headers, for each piece of its body, at its end, and again when it
 * is resumed. */
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *body,
			      size_t *body_size, void **context)
{
	struct request *request = *context;

	(void)version;
	(void)body;
	if (!request) {
		request = calloc(1, sizeof(*request));
		if (!request)
			return MHD_NO;
		request->connection = connection;
		*context = request;
		if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
		    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
			return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, TEXT_TYPE,
					 "Only GET and HEAD are served here.\n");
		return MHD_YES;
	}
	if (*body_size) {
		*body_size = 0;
		return MHD_YES;
	}
	return serve(arg, request, path);
}

static void finish(void *arg, struct MHD_Connection *connection, void **context,
		   enum MHD_RequestTerminationCode why)
{
	(void)arg;
	(void)connection;
	(void)why;
	free(*context);
	*context = NULL;
}

void http_answer(struct http *http)
{
	forget_metrics(http);
	while (http->waiting) {
		struct request *request = http->waiting;

		http->waiting = request->next;
		request->has_waited = true;
		MHD_resume_connection(request->connection);
	}
}

/* --- listening --------------------------------------------------------------- */

/* A socket at one address, or -1 and errno. */
static int listen_at(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
	int error;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int listen_on(const struct settings *settings)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list;
	int error = getaddrinfo(settings->address, settings->port, &hints, &list), fd;

	if (error) {
		fail("there is no address \"%s\" to listen on: %s", settings->address,
		     error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
		return -1;
	}
	fd = listen_at(list);
	if (fd < 0)
		fail("cannot listen on %s port %s: %s", settings->address, settings->port,
		     strerror(errno));
	freeaddrinfo(list);
	return fd;
}

static void name_url(struct http *http, int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port,
			    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(http->url, sizeof(http->url),
		 strchr(host, ':') ? "http://[%s]:%s/metrics" : "http://%s:%s/metrics", host, port);
}

struct http *http_open(const struct settings *settings, struct scrape *scrape)
{
	struct http *http;
	int fd = listen_on(settings);

	if (fd < 0)
		return NULL;
	http = calloc(1, sizeof(*http));
	if (http) {
		http->scrape = scrape;
		name_url(http, fd);
		http->daemon = MHD_start_daemon(
			MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, http,
			MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, finish, NULL,
			MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
			SILENCE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES,
			MHD_OPTION_END);
	}
	if (!http || !http->daemon) {
		fail("the HTTP server cannot start: there is no memory or no descriptor left");
		free(http);
		close(fd);
		return NULL;
	}
	return http;
}

void http_close(struct http *http)
{
	http_answer(http);
	MHD_stop_daemon(http->daemon); /* closes the socket, too */
	free(http);
}

const char *http_url(const struct http *http)
{
	return http->url;
}

int http_fd(const struct http *http, int *timeout)
{
	MHD_UNSIGNED_LONG_LONG left;

	*timeout = -1;
	if (MHD_get_timeout(http->daemon, &left) == MHD_YES)
		*timeout = left < INT_MAX ? (int)left : INT_MAX;
	return MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

void http_step(struct http *http)
{
	MHD_run(http->daemon);
}
