/* SPDX-License-Identifier: MIT */
/* pblock-replay: replays traces with the library's pblock, checks the values and measures time. */
#include "fail.h"
#include "replay.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 1000
#define ROUNDS_MAX UINT64_C(1000000000)

enum long_option { OPTION_ROUNDS = 256, OPTION_VERSION };

static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"rounds", required_argument, NULL, OPTION_ROUNDS},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

static const char help_text[] =
	"usage: pblock-replay [--rounds=N] TRACE...    pblock-replay(1)\n"
	"Repeat what a program did with its pblocks: once to check the result of every get,\n"
	"then --rounds times to measure.\n"
	"  --rounds=N   number of timed rounds, 1 to 10^9; default 1000\n"
	"  -h --help  --version\n"
	"Exit status: 0 done, 1 a pblock did not do what it should, 2 bad usage, bad trace\n";

static int usage(const char *word, const char *what)
{
	fail("%s: %s; see pblock-replay --help", word, what);
	return EXIT_USAGE;
}

static bool read_rounds(const char *text, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *ret && *ret <= ROUNDS_MAX;
}

static void print_row(const struct trace *trace, double ns)
{
	const char *slash = strrchr(trace->path, '/');

	printf("%8zu %8zu %8zu %10.2f %8.2f  %s\n",
	       trace->verbs[VERB_NEW] + trace->verbs[VERB_CLONE], trace->verbs[VERB_GET],
	       trace->verbs[VERB_SET], ns / 1000, ns / (double)trace->count,
	       slash ? slash + 1 : trace->path);
}

static int replay(const struct trace *trace, uint64_t rounds)
{
	double ns;

	if (!replay_check(trace))
		return EXIT_NOTHING;
	ns = replay_measure(trace, rounds);
	if (ns < 0)
		return EXIT_USAGE;
	print_row(trace, ns);
	return EXIT_DONE;
}

static int replay_all(char **paths, uint64_t rounds)
{
	int status = EXIT_DONE;

	printf("%8s %8s %8s %10s %8s  %s\n", "pblocks", "gets", "sets", "us/round", "ns/call",
	       "trace");
	for (; *paths && status == EXIT_DONE; paths++) {
		struct trace trace;

		status = trace_read(&trace, *paths) ? replay(&trace, rounds) : EXIT_USAGE;
		trace_free(&trace);
	}
	return status;
}

static int run(int argc, char **argv)
{
	uint64_t rounds = ROUNDS;
	int option;

	while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		switch (option) {
		case 'h':
			fputs(help_text, stdout);
			return EXIT_DONE;
		case OPTION_VERSION:
			puts("pblock-replay " SLAB_VERSION);
			return EXIT_DONE;
		case OPTION_ROUNDS:
			if (!read_rounds(optarg, &rounds))
				return usage(optarg, "rounds are a number from 1 to 1000000000");
			break;
		case ':':
			return usage(argv[optind - 1], "a value is missing");
		default:
			return usage(argv[optind - 1], "no such option, or it takes no value");
		}
	}
	if (optind == argc)
		return usage("TRACE", "no file is named");
	return replay_all(argv + optind, rounds);
}

int main(int argc, char **argv)
{
	int status;

	fail_name("pblock-replay");
	status = run(argc, argv);
	if (fflush(stdout) != 0) {
		fail("standard output cannot be written");
		return EXIT_USAGE;
	}
	return status;
}
