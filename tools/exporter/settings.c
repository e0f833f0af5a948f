/* SPDX-License-Identifier: MIT */
/* Parsing the command line of slab-exporter. Each error is one message with the accepted values. */
#include "settings.h"
#include "fail.h"

#include <getopt.h>

#define DEFAULT_LISTEN "127.0.0.1:9716"
#define DEFAULT_CACHES 200
#define DEFAULT_PROCESSES 64
#define DEFAULT_TIMEOUT_MS 5000

#define MOST_CACHES 10000
#define MOST_PROCESSES 1000
#define MOST_PORTS 65535
#define LEAST_TIMEOUT 0.1 /* seconds */
#define MOST_TIMEOUT 60.0

static const char usage[] =
	"usage: slab-exporter [OPTION]...\n"
	"Serve the slab caches of this machine's processes that use libslab as metrics,\n"
	"for Prometheus: as root of all users, otherwise of your own processes.\n"
	"\n"
	"  --listen ADDRESS:PORT  where to serve, an IPv6 address in brackets; port 0:\n"
	"                         any (" DEFAULT_LISTEN ")\n"
	"  --process NAME         only processes of this name; may be repeated\n"
	"  --max-processes N      at most N processes by name, others summed up (64)\n"
	"  --max-caches N         at most N caches of a process by name, likewise (200)\n"
	"  --timeout SECONDS      time for a scrape; after it a process has failed (5)\n"
	"  -h, --help             this text\n"
	"      --version\n";

enum {
	OPTION_LISTEN = 256,
	OPTION_PROCESS,
	OPTION_MAX_PROCESSES,
	OPTION_MAX_CACHES,
	OPTION_TIMEOUT,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{"listen", required_argument, NULL, OPTION_LISTEN},
	{"process", required_argument, NULL, OPTION_PROCESS},
	{"max-processes", required_argument, NULL, OPTION_MAX_PROCESSES},
	{"max-caches", required_argument, NULL, OPTION_MAX_CACHES},
	{"timeout", required_argument, NULL, OPTION_TIMEOUT},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

/* A whole number from 0 to `most`; -1: the text is something else. */
static long whole_number(const char *text, long most)
{
	char *end;
	long number;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	number = strtol(text, &end, 10);
	return *end || errno || number > most ? -1 : number;
}

static bool parse_count(const char *option, const char *text, long most, size_t *ret)
{
	long number = whole_number(text, most);

	if (number < 1) {
		fail("--%s takes a number from 1 to %ld, not \"%s\"", option, most, text);
		return false;
	}
	*ret = (size_t)number;
	return true;
}

static bool parse_timeout(struct settings *settings, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= LEAST_TIMEOUT && seconds <= MOST_TIMEOUT)) {
		fail("--timeout takes %g to %g seconds, not \"%s\"", LEAST_TIMEOUT, MOST_TIMEOUT,
		     text);
		return false;
	}
	settings->timeout_ms = (unsigned)(seconds * 1000 + 0.5);
	return true;
}

/* ADDRESS:PORT or [ADDRESS]:PORT into two strings. */
static bool split_listen(struct settings *settings, const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool brackets = length > 2 && text[0] == '[' && colon[-1] == ']';

	if (brackets) {
		text++;
		length -= 2;
	}
	if (length == 0 || length >= sizeof(settings->address) ||
	    (!brackets && memchr(text, ':', length)) || whole_number(colon + 1, MOST_PORTS) < 0)
		return false;
	memcpy(settings->address, text, length);
	settings->address[length] = '\0';
	snprintf(settings->port, sizeof(settings->port), "%ld",
		 whole_number(colon + 1, MOST_PORTS));
	return true;
}

static bool parse_listen(struct settings *settings, const char *text)
{
	if (split_listen(settings, text))
		return true;
	fail("--listen takes ADDRESS:PORT as in " DEFAULT_LISTEN " or [::1]:9716, not \"%s\"",
	     text);
	return false;
}

static bool add_name(struct settings *settings, const char *name)
{
	size_t count = 0;

	while (settings->names[count])
		count++;
	if (!*name || count == SETTINGS_NAMES) {
		fail(*name ? "--process can be given %d times at most"
			   : "--process takes the name of a process, not an empty one",
		     SETTINGS_NAMES);
		return false;
	}
	settings->names[count] = name;
	return true;
}

/* Returns whether the option was understood. */
static bool parse_option(struct settings *settings, int option)
{
	switch (option) {
	case OPTION_LISTEN:
		return parse_listen(settings, optarg);
	case OPTION_PROCESS:
		return add_name(settings, optarg);
	case OPTION_MAX_PROCESSES:
		return parse_count("max-processes", optarg, MOST_PROCESSES,
				   &settings->max_processes);
	case OPTION_MAX_CACHES:
		return parse_count("max-caches", optarg, MOST_CACHES, &settings->max_caches);
	default:
		return parse_timeout(settings, optarg);
	}
}

int settings_parse(struct settings *settings, int argc, char **argv)
{
	int option;

	*settings = (struct settings){
		.max_caches = DEFAULT_CACHES,
		.max_processes = DEFAULT_PROCESSES,
		.timeout_ms = DEFAULT_TIMEOUT_MS,
	};
	split_listen(settings, DEFAULT_LISTEN);
	while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		switch (option) {
		case ':':
		case '?':
			fail_option(option, argv[optind - 1], ":h");
			return EXIT_USAGE;
		case 'h':
			fputs(usage, stdout);
			return EXIT_DONE;
		case OPTION_VERSION:
			puts("slab-exporter " EXPORTER_VERSION);
			return EXIT_DONE;
		default:
			if (!parse_option(settings, option))
				return EXIT_USAGE;
		}
	}
	if (!argv[optind])
		return -1;
	fail("takes options only, not \"%s\"; --help shows them", argv[optind]);
	return EXIT_USAGE;
}
