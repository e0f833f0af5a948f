/* SPDX-License-Identifier: MIT */
/*
 * A small directory server without a network: what it does to memory is what
 * 389-ds and OpenLDAP do. This file loads, lets work, checks, takes down.
 */
#include "hunt.h"
#include "inspect.h"
#include "memory.h"
#include "screen.h"
#include "traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static void show_caches(const struct args *args)
{
	inspect_self(args, NULL, NULL);
	putchar('\n');
}

static const struct step *steps_of(const struct args *args)
{
	static const struct step half_way[] = {{0.5, show_caches}, {1, NULL}};
	static const struct step none[] = {{1, NULL}};

	if (memory_is_malloc)
		return none;
	return args->hunt ? hunt_steps : half_way;
}

/* Show how the load goes until its time is over, and take the steps on the way. */
static void watch(struct traffic *traffic, const struct args *args, double started)
{
	const struct step *step = steps_of(args);
	struct progress progress;
	double elapsed;

	progress_start(&progress);
	while ((elapsed = now(CLOCK_MONOTONIC) - started) < args->seconds) {
		double interval = progress.terminal ? 0.25 : 1;
		uint64_t done[KIND_COUNT];

		if (step->act && elapsed >= args->seconds * step->at) {
			progress_end(&progress);
			step++->act(args);
			continue;
		}
		if (elapsed + interval > args->seconds * step->at)
			interval = args->seconds * step->at - elapsed;
		sleep_for(interval + 0.001);
		traffic_done(traffic, done);
		progress_show(&progress, now(CLOCK_MONOTONIC) - started, args->seconds, done);
	}
	progress_end(&progress);
}

/* Run the load. False: the directory is not what it must be afterwards. */
static bool work(struct directory *directory, const struct args *args, struct result *result)
{
	struct traffic traffic;
	double started = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t wrong, expected;
	int64_t growth;

	if (!memory_is_malloc)
		spill_on_signal();
	if (traffic_start(&traffic, directory, args->threads))
		exit(1);
	watch(&traffic, args, started);
	wrong = traffic_stop(&traffic, result, &growth);
	result->seconds = now(CLOCK_MONOTONIC) - started;
	result->cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	result->resident_end = result_resident();
	memory_caches(result);
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

static void show(const struct result *result)
{
	screen_result(memory_name, result);
	screen_caches(result);
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
	if (args->hunt)
		screen_sound(&result);
	else
		show(&result);
	if (!memory_is_malloc)
		screen_next();
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
