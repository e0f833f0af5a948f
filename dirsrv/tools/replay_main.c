/* SPDX-License-Identifier: MIT */
/* pblock-replay: replays traces with the library's pblock, checks the values and measures time. */
#include "fail.h"
#include "replay.h"

#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <slab/dirsrv/profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 1000
#define ROUNDS_MAX UINT64_C(1000000000)
#define VERSION 1

enum long_option { OPTION_JSON = 256, OPTION_PROFILE, OPTION_ROUNDS, OPTION_VERSION };

static const char short_options[] = ":h";
static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"json", no_argument, NULL, OPTION_JSON},
	{"profile", required_argument, NULL, OPTION_PROFILE},
	{"rounds", required_argument, NULL, OPTION_ROUNDS},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

static const char help_text[] =
	"usage: pblock-replay [OPTION]... TRACE...    pblock-replay(1)\n"
	"Repeat what a program did with its pblocks: once to check the result of every get,\n"
	"then --rounds times to measure.\n"
	"  --rounds=N       number of timed rounds, 0 to 10^9; default 1000\n"
	"  --profile=FILE   record the checked round, for pblock-profile\n"
	"  --json           for programs\n"
	"  -h --help  --version\n"
	"Exit status: 0 done, 1 a pblock did not do what it should, 2 bad usage, bad trace\n";

struct settings {
	uint64_t rounds;
	const char *profile;
	bool json;
};

/* One trace, replayed. */
struct run {
	struct trace trace;
	struct measures measures;
};

/* Options */

static int usage(const char *word, const char *what)
{
	fail("%s: %s; see pblock-replay --help", word, what);
	return EXIT_USAGE;
}

static bool read_rounds(const char *text, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *ret <= ROUNDS_MAX;
}

/* Returns the exit status, or -1: the program continues. */
static int read_option(struct settings *settings, int option, const char *word)
{
	switch (option) {
	case 'h':
		fputs(help_text, stdout);
		return EXIT_DONE;
	case OPTION_VERSION:
		puts("pblock-replay " SLAB_VERSION);
		return EXIT_DONE;
	case OPTION_JSON:
		settings->json = true;
		return -1;
	case OPTION_PROFILE:
		settings->profile = optarg;
		return -1;
	case OPTION_ROUNDS:
		if (read_rounds(optarg, &settings->rounds))
			return -1;
		return usage(optarg, "rounds are a number from 0 to 1000000000");
	case ':':
		return usage(word, "a value is missing");
	default:
		return usage(word, "no such option, or it takes no value");
	}
}

static int read_options(struct settings *settings, int argc, char **argv)
{
	int option, status;

	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		status = read_option(settings, option, argv[optind - 1]);
		if (status >= 0)
			return status;
	}
	if (optind == argc)
		return usage("TRACE", "no file is named");
	return -1;
}

/* Results */

static double bytes_per_pblock(const struct run *run)
{
	const struct measures *measures = &run->measures;

	return measures->pblocks ? (double)measures->bytes / (double)measures->pblocks : 0;
}

static void print_table(const struct run *runs, size_t count)
{
	double weight = 0, ns = 0;

	printf("%-20s %8s %7s %6s %6s %12s %7s %8s %8s\n", "workload", "weight", "pblocks", "gets",
	       "sets", "bytes/pblock", "largest", "us/round", "ns/call");
	for (size_t i = 0; i < count; i++) {
		const struct run *run = &runs[i];
		const struct trace *trace = &run->trace;

		printf("%-20s %8" PRIu64 " %7" PRIu64 " %6zu %6zu %12.1f %7" PRIu64
		       " %8.2f %8.2f\n",
		       trace->workload, trace->weight, run->measures.pblocks,
		       trace_count(trace, VERB_GET), trace_count(trace, VERB_SET),
		       bytes_per_pblock(run), run->measures.largest, run->measures.ns / 1000,
		       run->measures.ns / (double)trace->count);
		weight += (double)trace->weight;
		ns += run->measures.ns * (double)trace->weight;
	}
	printf("%-20s %8.0f %7s %6s %6s %12s %7s %8.2f\n", "mean by weight", weight, "", "", "", "",
	       "", ns / weight / 1000);
}

static void add_count(struct json_object *to, const char *name, uint64_t count)
{
	json_object_object_add(to, name, json_object_new_int64((int64_t)count));
}

static struct json_object *run_as_json(const struct run *run)
{
	struct json_object *one = json_object_new_object();

	json_object_object_add(one, "workload", json_object_new_string(run->trace.workload));
	add_count(one, "weight", run->trace.weight);
	add_count(one, "pblocks", run->measures.pblocks);
	add_count(one, "gets", trace_count(&run->trace, VERB_GET));
	add_count(one, "sets", trace_count(&run->trace, VERB_SET));
	add_count(one, "calls", run->trace.count);
	add_count(one, "bytes", run->measures.bytes);
	add_count(one, "largest", run->measures.largest);
	add_count(one, "ns_per_round", (uint64_t)run->measures.ns);
	return one;
}

static void print_json(const struct settings *settings, const struct run *runs, size_t count)
{
	struct json_object *document = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(list, run_as_json(&runs[i]));
	add_count(document, "pblock_replay", VERSION);
	json_object_object_add(document, "layout", json_object_new_string(PBLOCK_LAYOUT));
	add_count(document, "rounds", settings->rounds);
	json_object_object_add(document, "workloads", list);
	puts(json_object_to_json_string_ext(document, JSON_C_TO_STRING_SPACED));
	json_object_put(document);
}

/* Replaying */

static bool read_traces(struct run *runs, char **paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!trace_read(&runs[i].trace, paths[i]))
			return false;
	}
	return true;
}

static int check_all(struct run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!replay_check(&runs[i].trace, &runs[i].measures))
			return EXIT_NOTHING;
	}
	return EXIT_DONE;
}

/* Make the checked rounds, and record a profile of them if the user has asked for one. */
static int check_and_record(const struct settings *settings, struct run *runs, size_t count)
{
	int status, error;

	error = settings->profile ? slab_pblock_profile_start(settings->profile) : 0;
	if (error) {
		fail("%s cannot be recorded: %s", settings->profile, strerror(-error));
		return EXIT_USAGE;
	}
	status = check_all(runs, count);
	error = settings->profile ? slab_pblock_profile_stop() : 0;
	if (error) {
		fail("%s cannot be written: %s", settings->profile, strerror(-error));
		return EXIT_USAGE;
	}
	return status;
}

static int replay(const struct settings *settings, struct run *runs, size_t count)
{
	int status = check_and_record(settings, runs, count);

	for (size_t i = 0; status == EXIT_DONE && i < count; i++) {
		if (!replay_measure(&runs[i].trace, settings->rounds, &runs[i].measures))
			status = EXIT_USAGE;
	}
	if (status != EXIT_DONE)
		return status;
	if (settings->json)
		print_json(settings, runs, count);
	else
		print_table(runs, count);
	return status;
}

static int read_and_replay(const struct settings *settings, char **paths, size_t count)
{
	struct run *runs = calloc(count, sizeof(*runs));
	int status = EXIT_USAGE;

	if (!runs)
		fail("no memory for %zu traces", count);
	else if (read_traces(runs, paths, count))
		status = replay(settings, runs, count);
	for (size_t i = 0; runs && i < count; i++)
		trace_free(&runs[i].trace);
	free(runs);
	return status;
}

int main(int argc, char **argv)
{
	struct settings settings = {.rounds = ROUNDS};
	int status;

	fail_name("pblock-replay");
	status = read_options(&settings, argc, argv);
	if (status >= 0)
		return status;
	status = read_and_replay(&settings, argv + optind, (size_t)(argc - optind));
	if (fflush(stdout) != 0) {
		fail("standard output cannot be written");
		return EXIT_USAGE;
	}
	return status;
}
