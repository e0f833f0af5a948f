/* SPDX-License-Identifier: MIT */
/*
 * The program: malloc-cases --list, or malloc-cases CASE [PERCENT].
 *
 * It prints a line for each figure, then "end", and waits for a line or the end of its input:
 * the runner reads meanwhile what is resident. PERCENT: of the work, 100 by default.
 *
 * Peak memory is VmHWM since the start of the case, less the pages of files and of shared
 * mappings.
 */
#include <dlfcn.h>

#include "bench.h"

#define EXIT_USAGE 2

static const struct bench_case *const groups[] = {churn_cases, sharing_cases, directory_cases,
						  grow_cases,  large_cases,   program_cases};

/* --- figures ---------------------------------------------------------------------------------- */

struct figures {
	double elapsed, user, system;
	long faults;
};

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void take(struct figures *figures)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	figures->elapsed = (double)bench_ns(CLOCK_MONOTONIC) / 1e9;
	figures->user = seconds(usage.ru_utime);
	figures->system = seconds(usage.ru_stime);
	figures->faults = usage.ru_minflt + usage.ru_majflt;
}

static long resident(void)
{
	static const char rollup[] = "/proc/self/smaps_rollup";

	return bench_kib(rollup, "\nAnonymous:") - bench_kib(rollup, "\nLazyFree:");
}

static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "5", 1) != 1)
		bench_fail("/proc/self/clear_refs: %s", strerror(errno));
	close(fd);
}

static long peak(void)
{
	static const char status[] = "/proc/self/status";

	return bench_kib(status, "\nVmHWM:") - bench_kib(status, "\nRssFile:") -
	       bench_kib(status, "\nRssShmem:");
}

/* --- a case ----------------------------------------------------------------------------------- */

static const struct bench_case *find(const char *name)
{
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (const struct bench_case *c = groups[g]; c->name; c++)
			if (strcmp(c->name, name) == 0)
				return c;
	return NULL;
}

static void list(void)
{
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (const struct bench_case *c = groups[g]; c->name; c++)
			puts(c->name);
}

static void say_allocator(void)
{
	Dl_info info = {.dli_fname = "unknown"};
	void *function = dlsym(RTLD_DEFAULT, "malloc");

	if (function)
		dladdr(function, &info);
	bench_say("# %s", info.dli_fname);
}

static void measure(const struct bench_case *c)
{
	struct figures before, after;

	bench_say("start %ld", resident() * 1024);
	forget_peak();
	take(&before);
	c->run();
	take(&after);
	if (c->outside)
		return;
	bench_say("peak %ld", peak() * 1024);
	bench_say("time %.9f", after.elapsed - before.elapsed);
	bench_say("user %.6f", after.user - before.user);
	bench_say("system %.6f", after.system - before.system);
	bench_say("faults %ld", after.faults - before.faults);
	bench_say("resident %ld", resident() * 1024);
}

static void hold(void)
{
	char answer;

	bench_say("end");
	while (read(STDIN_FILENO, &answer, 1) < 0 && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	const struct bench_case *c;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		list();
		return EXIT_SUCCESS;
	}
	c = argc == 2 || argc == 3 ? find(argv[1]) : NULL;
	bench_percent = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : bench_percent;
	if (!c || bench_percent < 1 || bench_percent > 10000) {
		fprintf(stderr, "usage: malloc-cases --list, or malloc-cases CASE [PERCENT]\n");
		return EXIT_USAGE;
	}
	say_allocator();
	if (c->prepare)
		c->prepare();
	measure(c);
	hold();
	return EXIT_SUCCESS;
}
