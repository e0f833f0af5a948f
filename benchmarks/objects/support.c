/* SPDX-License-Identifier: MIT */
/*
 * What cases, teams and the harness use: options of the run, its trace, and what is known of the
 * machine (CPUs, time stamp counter, resident memory).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

struct bench_options bench_options = {.ms = 8, .laps = 0};
const struct trace *bench_trace;
double bench_cycles_per_ns;

static cpu_set_t cpus_allowed;

void bench_fail(const char *format, ...)
{
	va_list args;

	fputs(CONTESTANT_NAME ": ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(EXIT_FAILURE);
}

void bench_find_cpus(void)
{
	if (sched_getaffinity(0, sizeof(cpus_allowed), &cpus_allowed) != 0)
		bench_fail("cannot find out which CPUs to use: %s", strerror(errno));
}

unsigned bench_cpus(void)
{
	return (unsigned)CPU_COUNT(&cpus_allowed);
}

/* The highest CPU first: the lowest ones serve more interrupts. */
int bench_cpu(unsigned n)
{
	int cpu = CPU_SETSIZE;

	for (unsigned seen = 0; seen <= n; seen++)
		do
			cpu--;
		while (cpu > 0 && !CPU_ISSET(cpu, &cpus_allowed));
	return cpu;
}

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		bench_fail("cannot run on CPU %d: %s", cpu, strerror(errno));
}

void bench_unpin(void)
{
	sched_setaffinity(0, sizeof(cpus_allowed), &cpus_allowed);
}

/*
 * Resident bytes of anonymous memory, read without an allocation. Pages of program
 * and libraries come in by chance after a fork and are left out.
 */
long bench_resident(void)
{
	static const char anonymous[] = "\nAnonymous:";
	char text[1024];
	int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *found;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	found = strstr(text, anonymous);
	return found ? strtol(found + strlen(anonymous), NULL, 10) * 1024 : 0;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void bench_calibrate(void)
{
	double start_ns = now_ns(), ns;
	uint64_t start = bench_cycles();

	do
		ns = now_ns() - start_ns;
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
