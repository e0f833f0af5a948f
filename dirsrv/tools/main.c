/* SPDX-License-Identifier: MIT */
/* The command line of both programs: one option with a value, and files. */
#include "fail.h"
#include "trace.h"

#include <getopt.h>
#include <stdio.h>

enum long_option { OPTION_VALUE = 256, OPTION_VERSION };

static int usage(const char *word, const char *what)
{
	fail("%s: %s; see %s --help", word, what, tool.name);
	return EXIT_USAGE;
}

static int run(int argc, char **argv)
{
	const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{tool.option, required_argument, NULL, OPTION_VALUE},
		{"version", no_argument, NULL, OPTION_VERSION},
		{NULL, 0, NULL, 0},
	};
	const char *value = NULL;
	int option;

	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			fputs(tool.help, stdout);
			return EXIT_DONE;
		case OPTION_VERSION:
			printf("%s " SLAB_VERSION "\n", tool.name);
			return EXIT_DONE;
		case OPTION_VALUE:
			value = optarg;
			break;
		case ':':
			return usage(argv[optind - 1], "a value is missing");
		default:
			return usage(argv[optind - 1], "no such option, or it takes no value");
		}
	}
	if (optind == argc)
		return usage("TRACE", "no file is named");
	return tool.run(argv + optind, value);
}

int main(int argc, char **argv)
{
	int status;

	fail_name(tool.name);
	status = run(argc, argv);
	if (fflush(stdout) != 0) {
		fail("standard output cannot be written");
		return EXIT_USAGE;
	}
	return status;
}
