/* SPDX-License-Identifier: MIT */
/* Options: each value is checked, and refused with what is accepted. */
#include "args.h"

#include <getopt.h>
#include <math.h>

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
#define SECONDS_MAX 86400.0

enum value { TEXT, COUNT, WHOLE, NUMBER, MIX, VALUES, VALUES_FROM, JSON, HELP };

#define PLACE(member) offsetof(struct args, member)

static const struct argument {
	const char *name;
	char letter; /* '\0': none */
	enum value value;
	size_t place;
	double low, high;
} arguments[] = {
	{"uri", 'H', TEXT, PLACE(uri), 0, 0},
	{"bind-dn", 'D', TEXT, PLACE(bind_dn), 0, 0},
	{"password", 'w', TEXT, PLACE(password), 0, 0},
	{"base", 'b', TEXT, PLACE(base), 0, 0},
	{"connections", 'c', COUNT, PLACE(connections), 1, 100000},
	{"threads", 't', COUNT, PLACE(threads), 1, 256},
	{"depth", 0, COUNT, PLACE(depth), 1, 1000},
	{"idle", 0, COUNT, PLACE(idle), 0, 1000000},
	{"per-connection", 0, COUNT, PLACE(per_connection), 1, 1e9},
	{"operations", 0, WHOLE, PLACE(operations), 1, 1e12},
	{"seconds", 0, NUMBER, PLACE(seconds), 0.01, SECONDS_MAX},
	{"warm-up", 0, NUMBER, PLACE(warm_up), 0, SECONDS_MAX},
	{"timeout", 0, NUMBER, PLACE(timeout), 0.1, SECONDS_MAX},
	{"rate", 0, NUMBER, PLACE(rate), 0.01, 1e9},
	{"mix", 0, MIX, PLACE(mix), 0, 0},
	{"values", 0, VALUES, PLACE(values), 0, 0},
	{"values-from", 0, VALUES_FROM, PLACE(values), 0, 0},
	{"attribute", 0, TEXT, PLACE(attribute), 0, 0},
	{"make-ldif", 0, WHOLE, PLACE(make_ldif), 1, 1e8},
	{"json", 0, JSON, PLACE(json), 0, 0},
	{"help", 'h', HELP, 0, 0, 0},
};

#define ARGUMENTS (sizeof(arguments) / sizeof(arguments[0]))
/* getopt_long() returns this and the index for a long option. */
#define CODE_LONG 256

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

static int say(const char *error)
{
	fprintf(stderr, "ldapload: %s\n", error);
	return EXIT_USAGE;
}

/* GO_ON, if the number is good. */
static int check_number(const struct argument *argument, bool good, const char *kind)
{
	if (good)
		return GO_ON;
	fprintf(stderr, "ldapload: --%s takes a %s from %.15g to %.15g, not '%s'\n", argument->name,
		kind, argument->low, argument->high, optarg);
	return EXIT_USAGE;
}

static int take_number(const struct argument *argument, double *place)
{
	char *end;

	*place = strtod(optarg, &end);
	return check_number(argument,
			    end != optarg && !*end && isfinite(*place) && *place >= argument->low &&
				    *place <= argument->high,
			    "number");
}

static int take_whole(const struct argument *argument, uint64_t *whole)
{
	char *end;

	errno = 0;
	*whole = strtoull(optarg, &end, 10);
	return check_number(argument,
			    *optarg >= '0' && *optarg <= '9' && !*end && !errno &&
				    *whole >= (uint64_t)argument->low &&
				    *whole <= (uint64_t)argument->high,
			    "whole number");
}

static int take(struct args *args, const struct argument *argument)
{
	void *place = (char *)args + argument->place;
	char error[ERROR_BYTES];
	uint64_t whole;
	int status;

	switch (argument->value) {
	case TEXT:
		*(const char **)place = optarg;
		return GO_ON;
	case COUNT:
		status = take_whole(argument, &whole);
		*(unsigned *)place = (unsigned)whole;
		return status;
	case WHOLE:
		return take_whole(argument, place);
	case NUMBER:
		return take_number(argument, place);
	case MIX:
		status = mix_parse(place, optarg, error, sizeof(error));
		break;
	case VALUES:
		status = values_parse(place, optarg, error, sizeof(error));
		break;
	case VALUES_FROM:
		status = values_read(place, optarg, error, sizeof(error));
		break;
	case JSON:
		args->json = true;
		return GO_ON;
	default:
		fputs(help, stdout);
		return EXIT_SUCCESS;
	}
	return status ? say(error) : GO_ON;
}

/* What getopt_long() takes, from the table. */
static void describe(struct option *options, char *letters)
{
	*letters++ = ':';
	for (size_t i = 0; i < ARGUMENTS; i++) {
		bool alone = arguments[i].value == JSON || arguments[i].value == HELP;

		options[i] = (struct option){
			.name = arguments[i].name,
			.has_arg = alone ? no_argument : required_argument,
			.val = CODE_LONG + (int)i,
		};
		if (arguments[i].letter)
			*letters++ = arguments[i].letter;
		if (arguments[i].letter && !alone)
			*letters++ = ':';
	}
}

static const struct argument *find(int code)
{
	for (size_t i = 0; i < ARGUMENTS; i++)
		if (code == CODE_LONG + (int)i || code == arguments[i].letter)
			return &arguments[i];
	return NULL;
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
	struct option options[ARGUMENTS + 1] = {{0}};
	char error[ERROR_BYTES], letters[2 * ARGUMENTS + 2] = "";
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
	describe(options, letters);
	opterr = 0;
	optind = 1;
	while ((code = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		int status;

		if (code == ':' || code == '?') {
			fprintf(stderr, "ldapload: '%s' %s; --help lists the options\n",
				argv[optind - 1],
				code == ':' ? "needs a value" : "is no option of this program");
			return EXIT_USAGE;
		}
		status = take(args, find(code));
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
