/* SPDX-License-Identifier: MIT */
/*
 * servers-load redis|ldap PORT PHASE OPERATIONS CONNECTIONS ENTRIES SEED
 *
 * Sends that many requests over connections of the loopback interface, and prints "done N" twenty
 * times on the way, then
 *
 *   seconds S
 *   errors N [TEXT OF THE FIRST]
 *   latency NAME COUNT P50 P90 P99 MAX      microseconds, for each kind of request and for all
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define EXIT_USAGE 2
#define CONNECTIONS_MAX 1000u
#define REPORTS 20u
#define BUCKETS 512u /* eight for each power of two, from 8 ns */
#define WAIT_MS 60000

static const struct protocol *protocol;
static struct histogram {
	uint64_t count[BUCKETS], total, max;
} latency[OPERATIONS_MAX + 1]; /* the last: of all */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- latencies -------------------------------------------------------------------------------- */

static void histogram_add(struct histogram *histogram, uint64_t ns)
{
	unsigned power = ns < 8 ? 3 : 63 - (unsigned)__builtin_clzll(ns);
	size_t bucket = ns < 8 ? ns : (size_t)(power - 2) * 8 + ((ns >> (power - 3)) & 7);

	histogram->count[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	histogram->total++;
	if (ns > histogram->max)
		histogram->max = ns;
}

/* Microseconds, the upper edge of the bucket. */
static double histogram_percentile(const struct histogram *histogram, double percent)
{
	uint64_t below = 0, wanted = (uint64_t)((double)histogram->total * percent / 100);
	unsigned i = 0;

	for (; i < BUCKETS; i++) {
		below += histogram->count[i];
		if (below > wanted)
			break;
	}
	return (i < 8 ? i : (double)((UINT64_C(9) + i % 8) << (i / 8 - 1))) / 1000;
}

static void histogram_print(const char *name, const struct histogram *histogram)
{
	if (histogram->total == 0)
		return;
	printf("latency %s %llu %.1f %.1f %.1f %.1f\n", name, (unsigned long long)histogram->total,
	       histogram_percentile(histogram, 50), histogram_percentile(histogram, 90),
	       histogram_percentile(histogram, 99), (double)histogram->max / 1000);
}

/* --- connections ------------------------------------------------------------------------------ */

static void open_session(struct session *session, int epoll, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = session};
	int one = 1;

	session->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (session->fd < 0 ||
	    connect(session->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		load_fail("port %u: %s", port, strerror(errno));
	setsockopt(session->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	session->out = malloc(BUFFER_BYTES);
	session->in = malloc(BUFFER_BYTES);
	if (!session->out || !session->in || epoll_ctl(epoll, EPOLL_CTL_ADD, session->fd, &event))
		load_fail("%s", strerror(errno));
}

/* The server takes a whole request whatever else happens: this may wait for it. */
static void send_out(struct session *session)
{
	size_t sent = 0;

	session->sent_ns = now_ns();
	while (sent < session->out_bytes) {
		ssize_t n = send(session->fd, session->out + sent, session->out_bytes - sent,
				 MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			load_fail("the server is gone: %s", strerror(errno));
		sent += n > 0 ? (size_t)n : 0;
	}
}

static void next(struct session *session)
{
	if (!session->greeted && protocol->greet) {
		protocol->greet(session);
	} else {
		session->greeted = true;
		if (load.sent == load.operations)
			return;
		load.sent++;
		protocol->request(session);
	}
	send_out(session);
}

static void answered(struct session *session)
{
	uint64_t took = now_ns() - session->sent_ns;
	size_t part = load.operations / REPORTS + 1;

	if (session->greeted) {
		histogram_add(&latency[session->operation], took);
		histogram_add(&latency[OPERATIONS_MAX], took);
		if (++load.answered % part == 0) {
			printf("done %zu\n", load.answered);
			fflush(stdout);
		}
	}
	session->greeted = true;
	next(session);
}

static void receive(struct session *session)
{
	ssize_t n = recv(session->fd, session->in + session->in_bytes,
			 BUFFER_BYTES - session->in_bytes, MSG_DONTWAIT);
	bool done = false;
	size_t used;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		load_fail("the server closed a connection after %zu answers", load.answered);
	session->in_bytes += (size_t)n;
	while (!done && (used = protocol->answer(session, &done)) > 0) {
		session->in_bytes -= used;
		memmove(session->in, session->in + used, session->in_bytes);
	}
	if (!done && session->in_bytes == BUFFER_BYTES)
		load_fail("an answer is longer than %zu bytes", BUFFER_BYTES);
	if (done)
		answered(session);
}

static void run(uint16_t port, unsigned connections)
{
	static struct session sessions[CONNECTIONS_MAX];
	struct epoll_event events[64];
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	for (unsigned i = 0; i < connections; i++)
		open_session(&sessions[i], epoll, port);
	for (unsigned i = 0; i < connections; i++)
		next(&sessions[i]);
	while (load.answered < load.operations) {
		int n = epoll_wait(epoll, events, 64, WAIT_MS);

		if (n == 0)
			load_fail("no answer for %d seconds", WAIT_MS / 1000);
		for (int i = 0; i < n; i++)
			receive(events[i].data.ptr);
	}
}

/* --- the program ------------------------------------------------------------------------------ */

static unsigned number(const char *text, unsigned high)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < 1 || n > high) {
		fprintf(stderr, "servers-load: '%s' is no number from 1 to %u\n", text, high);
		exit(EXIT_USAGE);
	}
	return (unsigned)n;
}

int main(int argc, char **argv)
{
	uint64_t start;

	if (argc != 8 || (strcmp(argv[1], "redis") != 0 && strcmp(argv[1], "ldap") != 0)) {
		fprintf(stderr, "usage: servers-load redis|ldap PORT PHASE OPERATIONS CONNECTIONS "
				"ENTRIES SEED\n");
		return EXIT_USAGE;
	}
	protocol = strcmp(argv[1], "redis") == 0 ? &redis_protocol : &ldap_protocol;
	load.phase = argv[3];
	load.operations = number(argv[4], 1000000000);
	load.entries = number(argv[6], 100000000);
	load.random = UINT64_C(0x9e3779b97f4a7c15) * number(argv[7], 1000000000);
	start = now_ns();
	run((uint16_t)number(argv[2], 65535), number(argv[5], CONNECTIONS_MAX));
	printf("seconds %.6f\n", (double)(now_ns() - start) / 1e9);
	printf("errors %zu %s\n", load.errors, load.error);
	for (unsigned i = 0; i < OPERATIONS_MAX && protocol->operations[i]; i++)
		histogram_print(protocol->operations[i], &latency[i]);
	histogram_print("all", &latency[OPERATIONS_MAX]);
	return EXIT_SUCCESS;
}
