/* SPDX-License-Identifier: MIT */
/*
 * A small directory server without a network: what it does to memory is what
 * 389-ds and OpenLDAP do. This file loads, lets work, checks, takes down.
 */
#include "memory.h"
#include "screen.h"
#include "traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <urcu/urcu-memb.h>

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
static void watch(struct traffic *traffic, const struct args *args, double started)
{
	uint64_t done[KIND_COUNT], before[KIND_COUNT] = {0};
	double elapsed, shown = 0;

	while ((elapsed = now(CLOCK_MONOTONIC) - started) < args->seconds) {
		sleep_for(elapsed + 1 > args->seconds ? args->seconds - elapsed : 1);
		traffic_done(traffic, done);
		elapsed = now(CLOCK_MONOTONIC) - started;
		screen_progress(elapsed / args->seconds, elapsed - shown, before, done);
		memcpy(before, done, sizeof(before));
		shown = elapsed;
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
	watch(&traffic, args, started);
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
	int status = args_parse(&args, argc, argv);

	if (status >= 0)
		return status;
	urcu_memb_register_thread();
	status = run(&args);
	urcu_memb_unregister_thread();
	return status;
}
