/* SPDX-License-Identifier: MIT */
/* pblock-profile: reads profiles of pblocks and reports which layout they suggest. */
#include "fail.h"
#include "report.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum long_option { OPTION_HELP = 'h', OPTION_JSON = 256, OPTION_SVG, OPTION_VERSION };

static const char short_options[] = ":h";
static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"json", no_argument, NULL, OPTION_JSON},
	{"svg", required_argument, NULL, OPTION_SVG},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

static const char help_text[] =
	"usage: pblock-profile [--json | --svg=FILE] PROFILE...    pblock-profile(1)\n"
	"Parameters of pblocks: how often they are used, which are used together, and\n"
	"what sub-structs would need. Programs that use libslab_dirsrv write a profile\n"
	"with SLAB_PBLOCK_PROFILE=FILE in their environment.\n"
	"  --json       for programs\n"
	"  --svg=FILE   draw which parameters are used together; - is standard output\n"
	"  -h --help  --version\n"
	"Exit status: 0 done, 2 bad usage, a file that cannot be used\n";

struct settings {
	bool json;
	const char *svg;
};

static int usage(const char *word, const char *what)
{
	fail("%s: %s; see pblock-profile --help", word, what);
	return EXIT_USAGE;
}

/* Returns the exit status, or -1: the program continues. */
static int read_options(struct settings *settings, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		switch (option) {
		case OPTION_HELP:
			fputs(help_text, stdout);
			return EXIT_DONE;
		case OPTION_VERSION:
			puts("pblock-profile " SLAB_VERSION);
			return EXIT_DONE;
		case OPTION_JSON:
			settings->json = true;
			break;
		case OPTION_SVG:
			settings->svg = optarg;
			break;
		case ':':
			return usage(argv[optind - 1], "a value is missing");
		default:
			return usage(argv[optind - 1], "no such option, or it takes no value");
		}
	}
	if (settings->json && settings->svg)
		return usage("--json", "does not go with --svg");
	if (optind == argc)
		return usage("PROFILE", "no file is named");
	return -1;
}

static int show(const struct settings *settings, const struct workload *workloads, size_t count)
{
	struct study study;
	int status = EXIT_USAGE;

	if (study_make(&study, workloads, count)) {
		if (settings->svg)
			status = report_svg(&study, settings->svg);
		else
			status = settings->json ? report_json(&study) : report_text(&study);
	}
	study_free(&study);
	return status;
}

static int read_and_show(const struct settings *settings, char **paths, size_t count)
{
	struct workload *workloads = calloc(count, sizeof(*workloads));
	int status = EXIT_USAGE;
	size_t read = 0;

	if (!workloads) {
		fail("no memory for %zu profiles", count);
		return status;
	}
	while (read < count && workload_read(&workloads[read], paths[read]))
		read++;
	if (read == count)
		status = show(settings, workloads, count);
	for (size_t i = 0; i < count; i++)
		workload_free(&workloads[i]);
	free(workloads);
	return status;
}

int main(int argc, char **argv)
{
	struct settings settings = {false, NULL};
	int status;

	fail_name("pblock-profile");
	status = read_options(&settings, argc, argv);
	if (status >= 0)
		return status;
	status = read_and_show(&settings, argv + optind, (size_t)(argc - optind));
	if (fflush(stdout) != 0) {
		fail("standard output cannot be written");
		return EXIT_USAGE;
	}
	return status;
}
