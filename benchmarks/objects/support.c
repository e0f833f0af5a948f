/* SPDX-License-Identifier: MIT */
/*
 * What cases, teams and the harness use: options of the run, its trace, the time stamp counter,
 * resident memory.
 */

#include "bench.h"

struct bench_options bench_options = {.ms = 8, .laps = 0};
const struct trace *bench_trace;
double bench_cycles_per_ns;

/*
 * Resident bytes of anonymous memory, read without an allocation. Pages of program
 * and libraries come in by chance after a fork and are left out.
 */
long bench_resident(void)
{
	return bench_kib("/proc/self/smaps_rollup", "\nAnonymous:") * 1024;
}

void bench_calibrate(void)
{
	double start_ns = (double)bench_ns(CLOCK_MONOTONIC), ns;
	uint64_t start = bench_cycles();

	do
		ns = (double)bench_ns(CLOCK_MONOTONIC) - start_ns;
	while (ns < 20e6);
	bench_cycles_per_ns = (double)(bench_cycles() - start) / ns;
}

/* Is `word` an element of a list separated by commas? */
static bool in_list(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (strcspn(list, ",") == length && memcmp(list, word, length) == 0)
			return true;
	return false;
}

bool bench_row_selected(const char *row)
{
	return !bench_options.cases || in_list(bench_options.cases, row);
}
