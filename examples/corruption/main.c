/* SPDX-License-Identifier: MIT */
/* A server with a bug of your choice: options, start and end. */
#include "bugs.h"
#include "client.h"
#include "server.h"

#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --- the server, from start to end --------------------------------------------- */

static void server_start(void)
{
	worker_init();
	server.entries = entry_cache_create(NULL, SLAB_PANIC);
	server.requests = request_cache_create(NULL, SLAB_PANIC);
	server.buffers = buffer_cache_create(NULL, SLAB_PANIC);
	server.connections = connection_cache_create(NULL, SLAB_PANIC);
	for (unsigned i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
			perror("corruption: socketpair");
			exit(1);
		}
		client_connect(i, ends[0]);
		server.conn[i] = conn_open(ends[1]);
	}
}

static void start_thread(pthread_t *thread, const char *name, void *(*run)(void *))
{
	if (pthread_create(thread, NULL, run, NULL)) {
		fputs("corruption: no thread\n", stderr);
		exit(1);
	}
	pthread_setname_np(*thread, name);
}

/* What a server does before it ends, and some do every night. */
static void server_stop(void)
{
	struct slab_cache *caches[] = {server.entries, server.requests, server.buffers,
				       server.connections};

	entry_delete_all();
	for (unsigned i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		slab_cache_validate(caches[i]);
		slab_cache_destroy(caches[i]);
	}
}

static void run(unsigned seconds)
{
	pthread_t listener, worker;

	server_start();
	start_thread(&worker, "worker", worker_run);
	start_thread(&listener, "listener", listener_run);
	if (seconds)
		clients_come_for(seconds);
	else
		clients_come_once();
	clients_leave();
	pthread_join(listener, NULL);
	pthread_join(worker, NULL);
	server_stop();
}

/* --- options ------------------------------------------------------------------------ */

static const char help[] =
	"usage: corruption BUG [--debug FLAGS] [--sample N] [--seconds N]\n"
	"       corruption --list\n"
	"A small server with a bug of your choice: what libslab says about it.\n"
	"\n"
	"  --list             the bugs there are\n"
	"  --debug FLAGS      debug flags of all caches, as SLAB_DEBUG=FLAGS: FZPU\n"
	"  --sample N         one object in N between guard pages, as SLAB_SAMPLE=*:N\n"
	"  --seconds N        serve for N seconds without showing it, with the bug in\n"
	"                     every third of them, for slabinfo to be tried on it\n"
	"  --help             this text\n"
	"\n"
	"Exit status: 0 the server came to its end, 2 a wrong option; or a signal.\n";

static void list(FILE *to)
{
	for (unsigned i = 0; i < BUG_COUNT; i++)
		fprintf(to, "  %-21s %s\n", bugs[i].name, bugs[i].what);
}

static int wrong(const char *message, const char *word)
{
	fprintf(stderr, "corruption: '%s' %s\n", word, message);
	return 2;
}

static int choose_bug(const char *name)
{
	for (unsigned i = 0; i < BUG_COUNT; i++) {
		if (strcmp(bugs[i].name, name) == 0) {
			bug_chosen = (enum bug)i;
			return -1;
		}
	}
	wrong("is none of the bugs; there are:", name);
	list(stderr);
	return 2;
}

/* A whole number from 1 to 10000000; 0: it is none. */
static unsigned parse_number(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	return *text < '0' || *text > '9' || *end || number > 10000000 ? 0 : (unsigned)number;
}

static int set_option(int option, unsigned *seconds)
{
	char value[32];

	switch (option) {
	case 'l':
		if (!*optarg || optarg[strspn(optarg, "FZPUTAfzputa")])
			return wrong("has characters that are no debug flags: F Z P U T A", optarg);
		setenv("SLAB_DEBUG", optarg, 1);
		return -1;
	case 's':
		if (!parse_number(optarg))
			return wrong("is not what --sample takes, a number from 1 to 10000000",
				     optarg);
		snprintf(value, sizeof(value), "*:%s", optarg);
		setenv("SLAB_SAMPLE", value, 1);
		return -1;
	default:
		*seconds = parse_number(optarg);
		if (!*seconds)
			return wrong("is not what --seconds takes, a number from 1 to 10000000",
				     optarg);
		return -1;
	}
}

static int parse_options(int argc, char **argv, unsigned *seconds)
{
	static const struct option options[] = {
		{"list", no_argument, NULL, 'L'},          {"help", no_argument, NULL, 'h'},
		{"debug", required_argument, NULL, 'l'},   {"sample", required_argument, NULL, 's'},
		{"seconds", required_argument, NULL, 'n'}, {NULL, 0, NULL, 0},
	};
	int option, status = -1;

	opterr = 0;
	while (status < 0 && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option == 'L')
			list(stdout);
		else if (option == 'h')
			fputs(help, stdout);
		else if (option == ':' || option == '?')
			return wrong(option == ':' ? "needs a value"
						   : "is no option; --help shows what there is",
				     argv[optind - 1]);
		else
			status = set_option(option, seconds);
		if (option == 'L' || option == 'h')
			return 0;
	}
	if (status >= 0)
		return status;
	if (argc - optind > 1)
		return wrong("is one word too many: one bug at a time", argv[optind + 1]);
	return choose_bug(optind < argc ? argv[optind] : "");
}

int main(int argc, char **argv)
{
	unsigned seconds = 0;
	int status = parse_options(argc, argv, &seconds);

	if (status >= 0)
		return status;
	setvbuf(stdout, NULL, _IOLBF, 0);
	run(seconds);
	return 0;
}
