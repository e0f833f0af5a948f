/* SPDX-License-Identifier: MIT */
/*
 * Reading the command line: the kernel tool's letters and long names, and our
 * own for choosing a process and for hunting leaks. One run does one thing;
 * asking for two is an error rather than a guess.
 */
#include "args.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_PROCESS = 256,
	OPTION_LIST,
	OPTION_MEMORY,
	OPTION_CORE,
	OPTION_EXE,
	OPTION_JSON,
	OPTION_OPENMETRICS,
	OPTION_VERSION,
	OPTION_SET,
	OPTION_RESET,
	OPTION_TRIM,
	OPTION_SAMPLE,
	OPTION_FAIL,
	OPTION_MARK,
	OPTION_SINCE_MARK,
	OPTION_TOP,
	OPTION_MAP,
	OPTION_RECORD,
	OPTION_INTERVAL,
	OPTION_PLOT,
	OPTION_DIFF,
};

static const char short_options[] = "aABd::DefhilLnN:op:PrsStTUvXz1";

/* The kernel tool's long names, some of which start with a capital letter. */
static const struct option long_options[] = {
	{"aliases", no_argument, NULL, 'a'},
	{"activity", no_argument, NULL, 'A'},
	{"Bytes", no_argument, NULL, 'B'},
	{"bytes", no_argument, NULL, 'B'},
	{"debug", optional_argument, NULL, 'd'},
	{"display-activity", no_argument, NULL, 'D'},
	{"empty", no_argument, NULL, 'e'},
	{"first-alias", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},
	{"inverted", no_argument, NULL, 'i'},
	{"slabs", no_argument, NULL, 'l'},
	{"Loss", no_argument, NULL, 'L'},
	{"loss", no_argument, NULL, 'L'},
	{"numa", no_argument, NULL, 'n'},
	{"lines", required_argument, NULL, 'N'},
	{"ops", no_argument, NULL, 'o'},
	{"partial", no_argument, NULL, 'P'},
	{"report", no_argument, NULL, 'r'},
	{"shrink", no_argument, NULL, 's'},
	{"Size", no_argument, NULL, 'S'},
	{"size", no_argument, NULL, 'S'},
	{"tracking", no_argument, NULL, 't'},
	{"Totals", no_argument, NULL, 'T'},
	{"totals", no_argument, NULL, 'T'},
	{"Unreclaim", no_argument, NULL, 'U'},
	{"unreclaim", no_argument, NULL, 'U'},
	{"validate", no_argument, NULL, 'v'},
	{"Xtotals", no_argument, NULL, 'X'},
	{"xtotals", no_argument, NULL, 'X'},
	{"zero", no_argument, NULL, 'z'},
	{"1ref", no_argument, NULL, '1'},
	{"pid", required_argument, NULL, 'p'},
	{"process", required_argument, NULL, OPTION_PROCESS},
	{"list", no_argument, NULL, OPTION_LIST},
	{"memory", no_argument, NULL, OPTION_MEMORY},
	{"core", required_argument, NULL, OPTION_CORE},
	{"exe", required_argument, NULL, OPTION_EXE},
	{"json", no_argument, NULL, OPTION_JSON},
	{"openmetrics", no_argument, NULL, OPTION_OPENMETRICS},
	{"set", required_argument, NULL, OPTION_SET},
	{"reset", no_argument, NULL, OPTION_RESET},
	{"trim", no_argument, NULL, OPTION_TRIM},
	{"sample", required_argument, NULL, OPTION_SAMPLE},
	{"fail", required_argument, NULL, OPTION_FAIL},
	{"mark", no_argument, NULL, OPTION_MARK},
	{"since-mark", optional_argument, NULL, OPTION_SINCE_MARK},
	{"top", optional_argument, NULL, OPTION_TOP},
	{"map", required_argument, NULL, OPTION_MAP},
	{"record", required_argument, NULL, OPTION_RECORD},
	{"interval", required_argument, NULL, OPTION_INTERVAL},
	{"plot", required_argument, NULL, OPTION_PLOT},
	{"diff", no_argument, NULL, OPTION_DIFF},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

static const struct {
	int option;
	enum view view;
	const char *name;
} views[] = {
	{'l', VIEW_TABLE, "-l"},
	{'T', VIEW_TOTALS, "-T"},
	{'X', VIEW_EXTENDED_TOTALS, "-X"},
	{'a', VIEW_ALIASES, "-a"},
	{'n', VIEW_NUMA, "-n"},
	{'o', VIEW_OPS, "-o"},
	{'r', VIEW_REPORT, "-r"},
	{'s', VIEW_SHRINK, "-s"},
	{'v', VIEW_VALIDATE, "-v"},
	{'d', VIEW_DEBUG, "-d"},
	{OPTION_SET, VIEW_SET, "--set"},
	{OPTION_RESET, VIEW_RESET, "--reset"},
	{OPTION_TRIM, VIEW_TRIM, "--trim"},
	{OPTION_SAMPLE, VIEW_SAMPLE, "--sample"},
	{OPTION_FAIL, VIEW_FAIL, "--fail"},
	{'t', VIEW_TRACKING, "-t"},
	{OPTION_MARK, VIEW_MARK, "--mark"},
	{OPTION_SINCE_MARK, VIEW_SINCE_MARK, "--since-mark"},
	{OPTION_OPENMETRICS, VIEW_OPENMETRICS, "--openmetrics"},
	{OPTION_TOP, VIEW_TOP, "--top"},
	{OPTION_MAP, VIEW_MAP, "--map"},
	{OPTION_RECORD, VIEW_RECORD, "--record"},
	{OPTION_PLOT, VIEW_PLOT, "--plot"},
	{OPTION_DIFF, VIEW_DIFF, "--diff"},
	{OPTION_LIST, VIEW_PROCESSES, "--list"},
};

#define VIEWS (sizeof(views) / sizeof(views[0]))

static const char help[] =
	"usage: slabinfo [OPTION]... [REGEXP]\n"
	"Slab caches of a process that uses libslab; only those that match REGEXP.\n"
	"\n"
	"Show     -l, --slabs         one line for each (default)  -z, --zero  empty too\n"
	"         -T, --totals        all summed up                -e, --empty empty only\n"
	"         -r, --report        all about each               -N, --lines=K only K\n"
	"             --json          everything, as JSON\n"
	"Act      -s, --shrink        give empty slabs back to the system\n"
	"         -v, --validate      check all slabs; the process reports what is wrong\n"
	"Debug    -d, --debug[=LETTERS]  f checks, z red zones, p poison, u users; a is\n"
	"                             these four; t trace, A fault injection; -d: off\n"
	"             --sample=N      one allocation in N between guard pages, 0: off\n"
	"             --fail=SPEC     let allocations fail as SLAB_FAIL says, -: off\n"
	"Leaks    -t, --tracking      who allocated and freed objects (needs -du)\n"
	"             --mark          remember this moment (needs -du before)\n"
	"             --since-mark[=MARK]  what was allocated since, and not freed\n"
	"Process  -p, --pid=PID       the process with this number\n"
	"             --process=NAME  the process with this name\n"
	"             --list          the processes that can be looked at\n"
	"Other    -h, --help; --version\n"
	"\n"
	"Exit status: 0 done, 1 nothing matched or damage found, 2 bad usage or no such\n"
	"process. What it prints is explained in docs/slabinfo.md.\n";

static const char *view_name(enum view view)
{
	if (view == VIEW_JSON)
		return "--json";
	for (size_t i = 0; i < VIEWS; i++) {
		if (views[i].view == view)
			return views[i].name;
	}
	return "";
}

static bool set_view(struct options *options, enum view view)
{
	if (options->view != VIEW_DEFAULT && options->view != view) {
		fail("%s and %s cannot be combined; give one of them", view_name(options->view),
		     view_name(view));
		return false;
	}
	options->view = view;
	return true;
}

/* A decimal number of min … max. */
static bool parse_number(const char *text, long min, long max, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno && *number >= min && *number <= max;
}

static bool set_pid(struct options *options, const char *text)
{
	long pid;

	if (!parse_number(text, 1, INT_MAX, &pid)) {
		fail("\"%s\" is not a process number; --pid takes a number from 1 on", text);
		return false;
	}
	options->choice.pid = (pid_t)pid;
	return true;
}

static bool set_lines(struct options *options, const char *text)
{
	long lines;

	if (!parse_number(text, 1, LONG_MAX, &lines)) {
		fail("\"%s\" is not a number of lines; -N takes a number from 1 on", text);
		return false;
	}
	options->lines = (size_t)lines;
	return true;
}

static bool set_sample(struct options *options, const char *text)
{
	if (!parse_number(text, 0, LONG_MAX, &options->sample)) {
		fail("\"%s\" is not a number of allocations; --sample takes one from 1 on, and 0 for "
		     "off",
		     text);
		return false;
	}
	return set_view(options, VIEW_SAMPLE);
}

static bool set_since_mark(struct options *options, const char *text)
{
	long mark = 0;

	if (text && !parse_number(text, 1, LONG_MAX, &mark)) {
		fail("\"%s\" is not a mark; --since-mark takes the number that --mark printed, or "
		     "nothing for the last one",
		     text);
		return false;
	}
	options->mark = (uint64_t)mark;
	return set_view(options, VIEW_SINCE_MARK);
}

/* What one character of -d stands for in the protocol: "a" is all that "on" means,
 * so that fault injection is left with the capital letter. */
static const char *letters_of(char option)
{
	static const char *const letters[] = {"F", "Z", "P", "U", "T"};

	if (option == 'a')
		return "FZPU";
	if (option == 'A')
		return "A";
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (toupper((unsigned char)option) == letters[i][0])
			return letters[i];
	}
	return NULL;
}

static bool are_letters(const char *text)
{
	while (*text && letters_of(*text))
		text++;
	return !*text;
}

static bool set_debug(struct options *options, const char *text)
{
	size_t count = 0;

	for (; text && *text; text++) {
		const char *letters = letters_of(*text);

		if (!letters) {
			fail("'%c' is not a debug letter; -d takes f z p u t, a for f z p u, A for "
			     "fault injection, and nothing for off",
			     *text);
			return false;
		}
		for (; *letters; letters++) {
			if (!memchr(options->letters, *letters, count))
				options->letters[count++] = *letters;
		}
	}
	if (!count)
		options->letters[count++] = '-';
	options->letters[count] = '\0';
	return set_view(options, VIEW_DEBUG);
}

/* Seconds, with a fraction. */
static bool set_interval(struct options *options, const char *text)
{
	char *end;

	options->interval = strtod(text, &end);
	if (!isdigit((unsigned char)*text) || *end || options->interval < 0.01 ||
	    options->interval > 86400) {
		fail("\"%s\" is not an interval; accepted are 0.01 to 86400 seconds", text);
		return false;
	}
	return true;
}

static bool set_order(struct options *options, enum order order)
{
	if (options->order != ORDER_NAME && options->order != order) {
		fail("-A, -L, -P and -S are mutually exclusive; give one of them");
		return false;
	}
	options->order = order;
	return true;
}

/* Options that only say yes. */
static bool set_flag(struct options *options, int option)
{
	const struct {
		int option;
		bool *flag;
	} flags[] = {
		{'B', &options->bytes},        {'D', &options->activity},
		{'e', &options->empty},        {'f', &options->first_alias},
		{'i', &options->inverted},     {'U', &options->unreclaimable},
		{'z', &options->zero},         {'1', &options->single},
		{OPTION_JSON, &options->json},
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (flags[i].option == option)
			return *flags[i].flag = true;
	}
	return false;
}

static bool set_option(struct options *options, int option)
{
	if (set_flag(options, option))
		return true;
	switch (option) {
	case 'd':
		return set_debug(options, optarg);
	case 'N':
		return set_lines(options, optarg);
	case OPTION_SAMPLE:
		return set_sample(options, optarg);
	case OPTION_FAIL:
		options->fail = optarg;
		return set_view(options, VIEW_FAIL);
	case OPTION_SINCE_MARK:
		return set_since_mark(options, optarg);
	case 'p':
		return set_pid(options, optarg);
	case OPTION_SET:
		options->set = optarg;
		return set_view(options, VIEW_SET);
	case OPTION_TOP:
		return (!optarg || set_interval(options, optarg)) && set_view(options, VIEW_TOP);
	case OPTION_INTERVAL:
		return set_interval(options, optarg);
	case OPTION_MAP:
	case OPTION_RECORD:
	case OPTION_PLOT:
		options->file = optarg;
		break;
	case OPTION_PROCESS:
		options->choice.name = optarg;
		return true;
	case OPTION_MEMORY:
		return options->choice.memory = true;
	case OPTION_CORE:
		options->choice.core = optarg;
		return true;
	case OPTION_EXE:
		options->choice.exe = optarg;
		return true;
	case 'A':
		return set_order(options, ORDER_ACTIVITY);
	case 'L':
		return set_order(options, ORDER_LOSS);
	case 'P':
		return set_order(options, ORDER_PARTIAL);
	case 'S':
		return set_order(options, ORDER_SIZE);
	default:
		break;
	}
	for (size_t i = 0; i < VIEWS; i++) {
		if (views[i].option == option)
			return set_view(options, views[i].view);
	}
	/* getopt has said what is wrong */
	fputs("Try 'slabinfo --help' for more information.\n", stderr);
	return false;
}

/* --json alone is a view of its own, and goes with what shows call sites. */
static bool settle_json(struct options *options)
{
	if (!options->json || options->view == VIEW_TRACKING || options->view == VIEW_SINCE_MARK)
		return true;
	return set_view(options, VIEW_JSON);
}

/* Names are matched without regard to case, anywhere in the name. */
static bool set_pattern(struct options *options, char **words)
{
	char why[128];
	bool letters;
	int error;

	if (!words[0])
		return true;
	if (options->view == VIEW_DIFF || options->view == VIEW_PLOT) {
		options->operands = words;
		return true;
	}
	if (options->view == VIEW_MARK || options->view == VIEW_FAIL) {
		fail("%s is for the whole process; it takes no regular expression \"%s\"",
		     view_name(options->view), words[0]);
		return false;
	}
	if (words[1]) {
		letters = options->view == VIEW_DEBUG && are_letters(words[0]);
		fail("one regular expression is enough; \"%s\" is one too many%s%s", words[1],
		     letters ? "; letters follow -d without a blank: -d" : "",
		     letters ? words[0] : "");
		return false;
	}
	error = regcomp(&options->regex, words[0], REG_ICASE | REG_NOSUB | REG_EXTENDED);
	if (error) {
		regerror(error, &options->regex, why, sizeof(why));
		fail("\"%s\" is not a regular expression: %s", words[0], why);
		return false;
	}
	options->pattern = words[0];
	return true;
}

int args_parse(struct options *options, int argc, char **argv)
{
	static char name[] = "slabinfo"; /* what getopt() calls us */
	int option;

	memset(options, 0, sizeof(*options));
	argv[0] = name;
	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return EXIT_DONE;
		}
		if (option == OPTION_VERSION) {
			puts("slabinfo (libslab) " SLABINFO_VERSION);
			return EXIT_DONE;
		}
		if (!set_option(options, option))
			return EXIT_USAGE;
	}
	if (!settle_json(options))
		return EXIT_USAGE;
	if (options->choice.pid && options->choice.name) {
		fail("--pid and --process cannot be combined; give one of them");
		return EXIT_USAGE;
	}
	return set_pattern(options, argv + optind) ? -1 : EXIT_USAGE;
}

bool args_matches(const struct options *options, const char *name)
{
	return !options->pattern || regexec(&options->regex, name, 0, NULL, 0) == 0;
}
