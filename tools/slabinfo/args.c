/* SPDX-License-Identifier: MIT */
/*
 * Reading the command line: the kernel tool's letters and long names, and our
 * own for choosing a process. One run does one thing; asking for two is an
 * error rather than a guess.
 */
#include "args.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_PROCESS = 256, OPTION_LIST, OPTION_JSON, OPTION_VERSION };

static const struct option long_options[] = {
	{"slabs", no_argument, NULL, 'l'},
	{"totals", no_argument, NULL, 'T'},
	{"report", no_argument, NULL, 'r'},
	{"shrink", no_argument, NULL, 's'},
	{"validate", no_argument, NULL, 'v'},
	{"zero", no_argument, NULL, 'z'},
	{"empty", no_argument, NULL, 'e'},
	{"pid", required_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{"process", required_argument, NULL, OPTION_PROCESS},
	{"list", no_argument, NULL, OPTION_LIST},
	{"json", no_argument, NULL, OPTION_JSON},
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
	{'r', VIEW_REPORT, "-r"},
	{'s', VIEW_SHRINK, "-s"},
	{'v', VIEW_VALIDATE, "-v"},
	{OPTION_JSON, VIEW_JSON, "--json"},
	{OPTION_LIST, VIEW_PROCESSES, "--list"},
};

#define VIEWS (sizeof(views) / sizeof(views[0]))

static const char help[] =
	"usage: slabinfo [OPTION]... [REGEXP]\n"
	"Show the slab caches of a process that uses libslab; only those whose name\n"
	"matches REGEXP, if one is given.\n"
	"\n"
	"  -l, --slabs          one line for each cache (default)\n"
	"  -T, --totals         all caches summed up\n"
	"  -r, --report         all that is known about each cache\n"
	"  -s, --shrink         give empty slabs back to the system\n"
	"  -v, --validate       check all slabs\n"
	"      --json           everything, as JSON\n"
	"      --list           the processes that can be looked at\n"
	"  -z, --zero           show caches without slabs, too\n"
	"  -e, --empty          show only caches without slabs\n"
	"  -p, --pid PID        the process with this number\n"
	"      --process NAME   the process with this name\n"
	"  -h, --help           this text\n"
	"      --version        the version\n"
	"\n"
	"Exit status: 0 done, 1 nothing matched or damage found, 2 bad usage or no\n"
	"such process. What the columns mean is in docs/slabinfo.md.\n";

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("slabinfo: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static const char *view_name(enum view view)
{
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

static bool set_pid(struct options *options, const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || pid < 1 || pid > INT_MAX) {
		fail("\"%s\" is not a process number; --pid takes a number from 1 on", text);
		return false;
	}
	options->pid = (pid_t)pid;
	return true;
}

static bool set_option(struct options *options, int option)
{
	for (size_t i = 0; i < VIEWS; i++) {
		if (views[i].option == option)
			return set_view(options, views[i].view);
	}
	switch (option) {
	case 'z':
		options->zero = true;
		return true;
	case 'e':
		options->empty = true;
		return true;
	case 'p':
		return set_pid(options, optarg);
	case OPTION_PROCESS:
		options->process = optarg;
		return true;
	default: /* getopt has said what is wrong */
		fputs("Try 'slabinfo --help' for more information.\n", stderr);
		return false;
	}
}

/* Names are matched without regard to case, anywhere in the name. */
static bool set_pattern(struct options *options, char **words)
{
	char why[128];
	int error;

	options->pattern = words[0];
	if (!words[0])
		return true;
	if (words[1]) {
		fail("one regular expression is enough; \"%s\" is one too many", words[1]);
		return false;
	}
	error = regcomp(&options->regex, words[0], REG_ICASE | REG_NOSUB | REG_EXTENDED);
	if (error) {
		regerror(error, &options->regex, why, sizeof(why));
		fail("\"%s\" is not a regular expression: %s", words[0], why);
		options->pattern = NULL;
		return false;
	}
	return true;
}

int args_parse(struct options *options, int argc, char **argv)
{
	static char name[] = "slabinfo"; /* what getopt() calls us */
	int option;

	memset(options, 0, sizeof(*options));
	argv[0] = name;
	while ((option = getopt_long(argc, argv, "lTrsvzep:h", long_options, NULL)) != -1) {
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
	if (options->pid && options->process) {
		fail("--pid and --process cannot be combined; give one of them");
		return EXIT_USAGE;
	}
	return set_pattern(options, argv + optind) ? -1 : EXIT_USAGE;
}

bool args_matches(const struct options *options, const char *name)
{
	return !options->pattern || regexec(&options->regex, name, 0, NULL, 0) == 0;
}
