/* SPDX-License-Identifier: MIT */
/*
 * A small directory server without a network: what it does to memory is what
 * 389-ds and OpenLDAP do. This file loads, lets work, checks, takes down.
 */
#define _GNU_SOURCE
#include "memory.h"
#include "result.h"
#include "traffic.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <time.h>
#include <urcu/urcu-memb.h>

/* --- options: every value is checked, and refused with what would be accepted --------------- */

#define ENTRIES_DEFAULT 20000
#define SECONDS_DEFAULT 8

enum option_code {
	OPTION_LDIF = 256,
	OPTION_ENTRIES,
	OPTION_SECONDS,
	OPTION_THREADS,
};

static const struct option options[] = {
	{"ldif", required_argument, NULL, OPTION_LDIF},
	{"entries", required_argument, NULL, OPTION_ENTRIES},
	{"seconds", required_argument, NULL, OPTION_SECONDS},
	{"threads", required_argument, NULL, OPTION_THREADS},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"usage: directory [OPTION]...\n"
	"Load a directory and let threads search and change it, with every object in a\n"
	"typed cache of libslab (directory) or from malloc() (directory-malloc).\n"
	"\n"
	"  --ldif FILE         load this LDIF file (RFC 2849); default: the packages in\n"
	"                      " DPKG_STATUS "\n"
	"  --entries N         multiply the directory to N entries (default 20000)\n"
	"  --seconds N         seconds of load (default 8)\n"
	"  --threads N         worker threads, and as many listeners (default: CPUs, at\n"
	"                      least 2)\n"
	"  --help              this text\n"
	"\n"
	"Exit status: 0 all well, 1 the directory or a cache was not as it must be at the\n"
	"end, 2 a wrong option or a file that cannot be read.\n";

static int wrong(const char *option, const char *value, const char *accepted)
{
	fprintf(stderr, "directory: --%s takes %s, not '%s'\n", option, accepted, value);
	return 2;
}

/* A whole number from 1 to max; 0 when it is none. */
static uint64_t parse_number(const char *text, uint64_t max)
{
	char *end;
	unsigned long long number;

	if (text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end || number > max ? 0 : number;
}

static double parse_seconds(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	return *end || end == text || !isfinite(seconds) || seconds < 0.1 || seconds > 86400
		       ? 0
		       : seconds;
}

static unsigned default_threads(void)
{
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof(set), &set) ? 2 : CPU_COUNT(&set);

	return cpus < 2 ? 2 : cpus > THREADS_MAX ? THREADS_MAX : (unsigned)cpus;
}

/* Options that take a number. */
static int parse_numeric(struct args *args, int code, const char *value)
{
	if (code == OPTION_ENTRIES) {
		args->entries = parse_number(value, 10000000);
		if (!args->entries)
			return wrong("entries", value, "a number from 1 to 10000000");
	} else if (code == OPTION_THREADS) {
		args->threads = (unsigned)parse_number(value, THREADS_MAX);
		if (!args->threads)
			return wrong("threads", value, "a number from 1 to 64");
	} else {
		args->seconds = parse_seconds(value);
		if (args->seconds == 0)
			return wrong("seconds", value, "a number from 0.1 to 86400");
	}
	return -1;
}

static int parse_option(struct args *args, int code)
{
	switch (code) {
	case OPTION_LDIF:
		args->ldif = optarg;
		return -1;
	case 'h':
		fputs(help, stdout);
		return 0;
	default:
		return parse_numeric(args, code, optarg);
	}
}

/* Returns -1 to go on, otherwise the exit status: 0 after --help, 2 after saying in one sentence
 * what is wrong. */
static int parse_args(struct args *args, int argc, char **argv)
{
	int code;

	*args = (struct args){
		.entries = ENTRIES_DEFAULT,
		.seconds = SECONDS_DEFAULT,
		.threads = default_threads(),
	};
	opterr = 0;
	while ((code = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		int status;

		if (code == ':' || code == '?') {
			fprintf(stderr, "directory: '%s' %s; --help lists the options\n",
				argv[optind - 1],
				code == ':' ? "needs a value" : "is no option of this program");
			return 2;
		}
		status = parse_option(args, code);
		if (status >= 0)
			return status;
	}
	if (optind < argc) {
		fprintf(stderr,
			"directory: '%s' is not understood; a file is given with --ldif FILE\n",
			argv[optind]);
		return 2;
	}
	return -1;
}

/* --- loading, working, checking, taking down ------------------------------------------------ */

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void sleep_for(double seconds)
{
	struct timespec time = {.tv_sec = (time_t)seconds};

	time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
	nanosleep(&time, NULL);
}

static bool sound(const struct directory *directory, struct directory_size *size)
{
	if (directory_measure(directory, size))
		return true;
	fprintf(stderr,
		"directory: an entry is damaged: it is not what was written, or does not add up\n");
	return false;
}

/* Show how the load goes, once a second, until its time is over. */
static void watch(struct traffic *traffic, const struct args *args, struct result *result)
{
	double started = now(CLOCK_MONOTONIC), elapsed;

	while ((elapsed = now(CLOCK_MONOTONIC) - started) < args->seconds) {
		sleep_for(elapsed + 1 > args->seconds ? args->seconds - elapsed : 1);
		traffic_done(traffic, result->done);
		elapsed = now(CLOCK_MONOTONIC) - started;
		screen_progress(elapsed / args->seconds,
				(double)result_operations(result) / elapsed);
	}
}

/* Run the load. False: the directory is not what it must be afterwards. */
static bool work(struct directory *directory, const struct args *args, struct result *result)
{
	struct traffic traffic;
	double started = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t wrong, expected;
	int64_t growth;

	if (traffic_start(&traffic, directory, args->threads))
		exit(1);
	watch(&traffic, args, result);
	wrong = traffic_stop(&traffic, result, &growth);
	result->seconds = now(CLOCK_MONOTONIC) - started;
	result->cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	result->resident_end = result_resident();
	if (wrong)
		fprintf(stderr, "directory: %" PRIu64 " operations had a wrong result\n", wrong);
	if (!sound(directory, &result->end) || wrong)
		return false;
	expected = result->loaded.entries + (uint64_t)growth;
	if (result->end.entries != expected)
		fprintf(stderr,
			"directory: %" PRIu64 " entries at the end, but %" PRIu64
			" loaded and %" PRId64 " more added than deleted\n",
			result->end.entries, result->loaded.entries, growth);
	return result->end.entries == expected;
}

/* The exit status. */
static int run(const struct args *args)
{
	static struct result result;
	struct directory directory;
	double started = now(CLOCK_MONOTONIC);
	int status = directory_read(&directory, args);
	bool good;

	if (status)
		return status;
	directory_multiply(&directory, args->entries);
	result.load_seconds = now(CLOCK_MONOTONIC) - started;
	result.resident_loaded = result_resident();
	if (!sound(&directory, &result.loaded))
		return 1;
	screen_loaded(&result, args->ldif ? args->ldif : DPKG_STATUS, directory.read,
		      directory.bad);
	good = work(&directory, args, &result);
	if (directory_free(&directory) || !good)
		return 1;
	screen_result(memory_name, &result);
	return 0;
}

int main(int argc, char **argv)
{
	struct args args;
	int status = parse_args(&args, argc, argv);

	if (status >= 0)
		return status;
	urcu_memb_register_thread();
	status = run(&args);
	urcu_memb_unregister_thread();
	return status;
}
