/* SPDX-License-Identifier: MIT */
/* pblock-profile: reads traces of pblocks and reports which layout they suggest. */
#include "fail.h"
#include "report.h"

#include <getopt.h>
#include <stdio.h>

enum long_option { OPTION_SVG = 256, OPTION_VERSION };

static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"svg", required_argument, NULL, OPTION_SVG},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

static const char help_text[] =
	"usage: pblock-profile [--svg=FILE] TRACE...    pblock-profile(1)\n"
	"Parameters of pblocks: how often they are used, which are used together, and\n"
	"what sub-structs would need. Programs that use libslab_dirsrv write a trace\n"
	"with SLAB_PBLOCK_TRACE=FILE in their environment.\n"
	"  --svg=FILE   draw which parameters are used together; - is standard output\n"
	"  -h --help  --version\n"
	"Exit status: 0 done, 2 bad usage, a file that cannot be used\n";

static int usage(const char *word, const char *what)
{
	fail("%s: %s; see pblock-profile --help", word, what);
	return EXIT_USAGE;
}

static int read_and_show(char **paths, const char *svg)
{
	struct workload workload = {0};
	struct study study = {0};
	int status = EXIT_USAGE;
	bool done = true;

	for (; done && *paths; paths++)
		done = workload_add(&workload, *paths);
	if (done && study_make(&study, &workload))
		status = svg ? report_svg(&study, svg) : report_text(&study);
	study_free(&study);
	workload_free(&workload);
	return status;
}

static int run(int argc, char **argv)
{
	const char *svg = NULL;
	int option;

	while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		switch (option) {
		case 'h':
			fputs(help_text, stdout);
			return EXIT_DONE;
		case OPTION_VERSION:
			puts("pblock-profile " SLAB_VERSION);
			return EXIT_DONE;
		case OPTION_SVG:
			svg = optarg;
			break;
		case ':':
			return usage(argv[optind - 1], "a value is missing");
		default:
			return usage(argv[optind - 1], "no such option, or it takes no value");
		}
	}
	if (optind == argc)
		return usage("TRACE", "no file is named");
	return read_and_show(argv + optind, svg);
}

int main(int argc, char **argv)
{
	int status;

	fail_name("pblock-profile");
	status = run(argc, argv);
	if (fflush(stdout) != 0) {
		fail("standard output cannot be written");
		return EXIT_USAGE;
	}
	return status;
}
