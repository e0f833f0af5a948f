/* SPDX-License-Identifier: MIT */
/* Options: each value is checked, and refused with what is accepted. */
#include "args.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the mix -------------------------------------------------------------------------------- */

#define WEIGHT_MAX 1000000ul
#define WHAT_IS_ACCEPTED                                                                           \
	"KIND=WEIGHT,... with the kinds search, or, base, compare, modify, add, bind and weights " \
	"from 1 to 1000000"

const char *const kind_names[KIND_COUNT] = {
	[KIND_SEARCH] = "search",   [KIND_OR] = "or",         [KIND_BASE] = "base",
	[KIND_COMPARE] = "compare", [KIND_MODIFY] = "modify", [KIND_ADD] = "add",
	[KIND_DELETE] = "delete",   [KIND_BIND] = "bind",     [KIND_CONNECT] = "connect",
};

static int kind_of(const char *name, size_t length)
{
	for (int kind = 0; kind < MIX_COUNT; kind++)
		if (kind != KIND_DELETE && strlen(kind_names[kind]) == length &&
		    strncmp(kind_names[kind], name, length) == 0)
			return kind;
	return -1;
}

/* The weight behind the name of a part; 0: it is none. */
static unsigned weight_of(const char *text, const char *end)
{
	char *after;
	unsigned long weight;

	if (text == end)
		return 1;
	if (text[0] != '=' || text[1] < '0' || text[1] > '9')
		return 0;
	weight = strtoul(text + 1, &after, 10);
	return after == end && weight <= WEIGHT_MAX ? (unsigned)weight : 0;
}

int mix_parse(struct mix *mix, const char *text, char *error, size_t size)
{
	*mix = (struct mix){0};
	for (const char *end; *text; text = *end ? end + 1 : end) {
		size_t length = strcspn(text, "=,");
		int kind = kind_of(text, length);
		unsigned weight;

		end = text + strcspn(text, ",");
		weight = weight_of(text + length, end);
		if (kind < 0 || weight == 0 || mix->weight[kind] != 0) {
			snprintf(error, size, "'%.*s' is %s; accepted: " WHAT_IS_ACCEPTED,
				 (int)(end - text), text,
				 kind >= 0 && weight ? "there twice" : "no part of a mix");
			return -1;
		}
		mix->weight[kind] = weight;
		mix->total += weight;
	}
	if (mix->total == 0) {
		snprintf(error, size, "the mix is empty; accepted: " WHAT_IS_ACCEPTED);
		return -1;
	}
	return 0;
}

enum kind mix_choose(const struct mix *mix, uint64_t random)
{
	unsigned left = (unsigned)(random % mix->total);
	int kind = 0;

	while (left >= mix->weight[kind])
		left -= mix->weight[kind++];
	return (enum kind)kind;
}

/* --- the command line ----------------------------------------------------------------------- */

#define EXIT_USAGE 2
#define GO_ON (-1)
#define ERROR_BYTES 512
#define COUNT_MAX 1000000000000.0
#define SECONDS_MAX 86400.0

enum option_code {
	OPTION_DEPTH = 256,
	OPTION_IDLE,
	OPTION_PER_CONNECTION,
	OPTION_OPERATIONS,
	OPTION_SECONDS,
	OPTION_WARM_UP,
	OPTION_TIMEOUT,
	OPTION_RATE,
	OPTION_MIX,
	OPTION_VALUES,
	OPTION_VALUES_FROM,
	OPTION_ATTRIBUTE,
	OPTION_MAKE_LDIF,
	OPTION_JSON,
};

static const struct option options[] = {
	{"uri", required_argument, NULL, 'H'},
	{"bind-dn", required_argument, NULL, 'D'},
	{"password", required_argument, NULL, 'w'},
	{"base", required_argument, NULL, 'b'},
	{"connections", required_argument, NULL, 'c'},
	{"threads", required_argument, NULL, 't'},
	{"depth", required_argument, NULL, OPTION_DEPTH},
	{"idle", required_argument, NULL, OPTION_IDLE},
	{"per-connection", required_argument, NULL, OPTION_PER_CONNECTION},
	{"operations", required_argument, NULL, OPTION_OPERATIONS},
	{"seconds", required_argument, NULL, OPTION_SECONDS},
	{"warm-up", required_argument, NULL, OPTION_WARM_UP},
	{"timeout", required_argument, NULL, OPTION_TIMEOUT},
	{"rate", required_argument, NULL, OPTION_RATE},
	{"mix", required_argument, NULL, OPTION_MIX},
	{"values", required_argument, NULL, OPTION_VALUES},
	{"values-from", required_argument, NULL, OPTION_VALUES_FROM},
	{"attribute", required_argument, NULL, OPTION_ATTRIBUTE},
	{"make-ldif", required_argument, NULL, OPTION_MAKE_LDIF},
	{"json", no_argument, NULL, OPTION_JSON},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"usage: ldapload [OPTION]...\n"
	"       ldapload --make-ldif N [-b BASE] [--values FORMAT:FIRST-LAST] >FILE\n"
	"Send operations to an LDAP server over many connections, and measure how many it\n"
	"answers and how long each takes.\n"
	"\n"
	"server and directory\n"
	"  -H, --uri URI            ldap://HOST[:PORT] or ldapi://PATH, with %2F for each\n"
	"                           slash (default ldap://127.0.0.1:389)\n"
	"  -D, --bind-dn DN         each connection binds with this name; default:\n"
	"                           anonymous\n"
	"  -w, --password TEXT      its password\n"
	"  -b, --base DN            entries are ATTRIBUTE=VALUE,BASE; base of searches\n"
	"                           (default ou=People,dc=example,dc=com)\n"
	"  --attribute NAME         the naming attribute of the entries (default uid)\n"
	"  --values FORMAT:FIRST-LAST  its values (default user%06u:0-9999)\n"
	"  --values-from FILE       its values, one a line; after a tab the DN of the entry\n"
	"                           above, if it is not that of --base\n"
	"\n"
	"load\n"
	"  -c, --connections N      connections with operations (default 10)\n"
	"  -t, --threads N          threads, which share the connections (default 1)\n"
	"  --depth N                operations under way on a connection (default 1)\n"
	"  --per-connection N       operations, then an unbind and a new connection\n"
	"                           (default: any number)\n"
	"  --idle N                 more connections, without any operation (default 0)\n"
	"  --mix KIND=WEIGHT,...    search (equality filter), or (for any of ten values),\n"
	"                           base (base search), compare, modify, add (and a\n"
	"                           delete of the same entry), bind; a kind alone has the\n"
	"                           weight 1 (default search)\n"
	"  --rate N                 operations a second on all connections; a latency\n"
	"                           counts from the time at which the rate wants the\n"
	"                           operation (default: the next one when there is an\n"
	"                           answer)\n"
	"\n"
	"end and results\n"
	"  --seconds S              length of the measured run (default 10)\n"
	"  --operations N           end after this number of operations instead\n"
	"  --warm-up S              seconds of load before it, which are not measured\n"
	"                           (default 0)\n"
	"  --timeout S              an answer that is later than this counts as missing,\n"
	"                           and ends its connection (default 30)\n"
	"  --json                   print the results in this form\n"
	"\n"
	"  --make-ldif N            write an LDIF file with N entries and those above\n"
	"                           them to standard output, the same one each time\n"
	"  --help                   this text\n"
	"\n"
	"Exit status: 0 all operations ended as they must (compare: with compareTrue),\n"
	"1 some did not, 2 a wrong option.\n";

static int wrong(const char *option, const char *value, const char *accepted)
{
	fprintf(stderr, "ldapload: %s takes %s, not '%s'\n", option, accepted, value);
	return EXIT_USAGE;
}

static int say(const char *error)
{
	fprintf(stderr, "ldapload: %s\n", error);
	return EXIT_USAGE;
}

/* ---- numbers ---- */

static int parse_double(const char *option, double low, double high, double *value)
{
	char *end, accepted[64];

	*value = strtod(optarg, &end);
	if (end != optarg && !*end && isfinite(*value) && *value >= low && *value <= high)
		return GO_ON;
	snprintf(accepted, sizeof(accepted), "a number from %g to %.15g", low, high);
	return wrong(option, optarg, accepted);
}

static int parse_whole(const char *option, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end, accepted[64];

	errno = 0;
	*value = strtoull(optarg, &end, 10);
	if (*optarg >= '0' && *optarg <= '9' && !*end && !errno && *value >= low && *value <= high)
		return GO_ON;
	snprintf(accepted, sizeof(accepted), "a whole number from %llu to %llu",
		 (unsigned long long)low, (unsigned long long)high);
	return wrong(option, optarg, accepted);
}

static int parse_count(const char *option, unsigned low, unsigned high, unsigned *value)
{
	uint64_t whole;
	int status = parse_whole(option, low, high, &whole);

	*value = (unsigned)whole;
	return status;
}

/* ---- texts ---- */

/* Texts that another part understands. */
static int parse_text(struct args *args, int code)
{
	char error[ERROR_BYTES];
	int status;

	if (code == OPTION_MIX)
		status = mix_parse(&args->mix, optarg, error, sizeof(error));
	else if (code == OPTION_VALUES)
		status = values_parse(&args->values, optarg, error, sizeof(error));
	else
		status = values_read(&args->values, optarg, error, sizeof(error));
	return status ? say(error) : GO_ON;
}

static int parse_load(struct args *args, int code)
{
	switch (code) {
	case 'c':
		return parse_count("--connections", 1, 100000, &args->connections);
	case 't':
		return parse_count("--threads", 1, 256, &args->threads);
	case OPTION_DEPTH:
		return parse_count("--depth", 1, 1000, &args->depth);
	case OPTION_IDLE:
		return parse_count("--idle", 0, 1000000, &args->idle);
	case OPTION_PER_CONNECTION:
		return parse_count("--per-connection", 1, 1000000000, &args->per_connection);
	case OPTION_RATE:
		return parse_double("--rate", 0.01, 1e9, &args->rate);
	default:
		return parse_text(args, code);
	}
}

static int parse_end(struct args *args, int code)
{
	switch (code) {
	case OPTION_OPERATIONS:
		return parse_whole("--operations", 1, (uint64_t)COUNT_MAX, &args->operations);
	case OPTION_SECONDS:
		return parse_double("--seconds", 0.01, SECONDS_MAX, &args->seconds);
	case OPTION_WARM_UP:
		return parse_double("--warm-up", 0, SECONDS_MAX, &args->warm_up);
	case OPTION_TIMEOUT:
		return parse_double("--timeout", 0.1, SECONDS_MAX, &args->timeout);
	case OPTION_MAKE_LDIF:
		return parse_whole("--make-ldif", 1, 100000000, &args->make_ldif);
	case OPTION_JSON:
		args->json = true;
		return GO_ON;
	default:
		return parse_load(args, code);
	}
}

static int parse_option(struct args *args, int code)
{
	switch (code) {
	case 'H':
		args->uri = optarg;
		return GO_ON;
	case 'D':
		args->bind_dn = optarg;
		return GO_ON;
	case 'w':
		args->password = optarg;
		return GO_ON;
	case 'b':
		args->base = optarg;
		return GO_ON;
	case OPTION_ATTRIBUTE:
		args->attribute = optarg;
		return GO_ON;
	case 'h':
		fputs(help, stdout);
		return EXIT_SUCCESS;
	default:
		return parse_end(args, code);
	}
}

/* Options that do not go together. */
static int check(const struct args *args)
{
	if (args->threads > args->connections)
		return say("there are more threads than connections; --threads is at most "
			   "--connections");
	if (args->mix.weight[KIND_BIND] && args->depth > 1)
		return say("a bind must be alone on its connection; --mix with bind takes --depth "
			   "1");
	if (args->make_ldif && args->values.lines)
		return say("--make-ldif takes --values FORMAT:FIRST-LAST, not --values-from");
	return GO_ON;
}

int args_parse(struct args *args, int argc, char **argv)
{
	char error[ERROR_BYTES];
	int code;

	*args = (struct args){
		.uri = "ldap://127.0.0.1:389",
		.bind_dn = "",
		.password = "",
		.base = "ou=People,dc=example,dc=com",
		.attribute = "uid",
		.connections = 10,
		.threads = 1,
		.depth = 1,
		.seconds = 10,
		.timeout = 30,
	};
	mix_parse(&args->mix, "search", error, sizeof(error));
	values_parse(&args->values, "user%06u:0-9999", error, sizeof(error));
	opterr = 0;
	optind = 1;
	while ((code = getopt_long(argc, argv, ":H:D:w:b:c:t:h", options, NULL)) != -1) {
		int status;

		if (code == ':' || code == '?') {
			fprintf(stderr, "ldapload: '%s' %s; --help lists the options\n",
				argv[optind - 1],
				code == ':' ? "needs a value" : "is no option of this program");
			return EXIT_USAGE;
		}
		status = parse_option(args, code);
		if (status != GO_ON)
			return status;
	}
	if (optind < argc) {
		fprintf(stderr, "ldapload: '%s' is not understood; --help lists the options\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	return check(args);
}
