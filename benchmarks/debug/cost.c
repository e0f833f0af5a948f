/* SPDX-License-Identifier: MIT */
/*
 * What debugging costs: the time of an allocation and its free, and the memory of
 * an object, for debug flags, alone and together, for sampling and for the heap profile.
 *
 *   debug-cost WAY
 *
 * Every figure comes from a fresh process, pinned to one CPU, and is printed as a line of
 * case,size,metric,value.
 */
#include "posix.h"

#include <slab/debug.h>

#include <sys/wait.h>

#define OBJECTS 10000u      /* allocated, then freed */
#define LIVE_OBJECTS 50000u /* for the memory of one */
#define PAIRS 1000u         /* between two looks at the clock */
#define PHASE_NS 60000000.0
#define LAPS_MAX 100000u

#define F SLAB_CONSISTENCY_CHECKS
#define Z SLAB_RED_ZONE
#define P SLAB_POISON
#define U SLAB_STORE_USER

static const struct way {
	const char *name;
	uint64_t debug_flags;
	unsigned long sample;
	size_t profile;
} ways[] = {
	{"none", 0, 0, 0},
	{"F", F, 0, 0},
	{"Z", Z, 0, 0},
	{"P", P, 0, 0},
	{"U", U, 0, 0},
	{"FZ", F | Z, 0, 0},
	{"FZP", F | Z | P, 0, 0},
	{"FZPU", F | Z | P | U, 0, 0},
	{"sampling", 0, 10000, 0},
	{"profile", 0, 0, 512 << 10},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static const size_t sizes[] = {64, 712};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* ns of a pair, ns of an allocation and a free of many, bytes of an object */
enum figure { PAIR, MANY, BYTES, FIGURES };

static void die(const char *what)
{
	fprintf(stderr, "debug-cost: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/* --- one way, in a process of its own ------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void *need_object(struct slab_cache *cache)
{
	void *object = slab_alloc(cache);

	if (!object)
		die("no memory");
	*(volatile uint64_t *)object = 1;
	return object;
}

static double pairs(struct slab_cache *cache)
{
	double start = (double)bench_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < PAIRS; i++)
		slab_free(cache, need_object(cache));
	return ((double)bench_ns(CLOCK_MONOTONIC) - start) / PAIRS;
}

static double many(struct slab_cache *cache)
{
	static void *objects[OBJECTS];
	double start = (double)bench_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < OBJECTS; i++)
		objects[i] = need_object(cache);
	for (unsigned i = 0; i < OBJECTS; i++)
		slab_free(cache, objects[i]);
	return ((double)bench_ns(CLOCK_MONOTONIC) - start) / OBJECTS;
}

/* The median lap; the first two warm up. */
static double measure(double (*lap)(struct slab_cache *cache), struct slab_cache *cache)
{
	static double laps[LAPS_MAX];
	double end = (double)bench_ns(CLOCK_MONOTONIC) + PHASE_NS;
	size_t n = 0;

	lap(cache);
	lap(cache);
	while (n < LAPS_MAX && ((double)bench_ns(CLOCK_MONOTONIC) < end || n < 3))
		laps[n++] = lap(cache);
	return median(laps, n);
}

static double resident(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	unsigned long kilobytes = 0;

	if (!file)
		die("/proc/self/smaps_rollup");
	while (fgets(line, sizeof(line), file) &&
	       sscanf(line, "Anonymous: %lu kB", &kilobytes) != 1)
		continue;
	fclose(file);
	return (double)kilobytes * 1024;
}

/* What an object takes with everything that is kept about it. */
static double bytes_of_object(struct slab_cache *cache)
{
	static void *objects[LIVE_OBJECTS];
	double before;

	memset(objects, 1, sizeof(objects));
	before = resident();
	for (unsigned i = 0; i < LIVE_OBJECTS; i++)
		objects[i] = need_object(cache);
	return (resident() - before) / LIVE_OBJECTS;
}

static void pin(void)
{
	cpu_set_t set, one;
	int cpu = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity");
	while (!CPU_ISSET(cpu, &set))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity");
}

static void run_way(const struct way *way, size_t size, enum figure figure, int to)
{
	struct slab_cache *cache;
	double value;

	pin();
	cache = slab_cache_create("object", size, NULL, way->debug_flags);
	if (!cache)
		die("slab_cache_create");
	if (way->sample && slab_cache_sample(cache, way->sample))
		die("slab_cache_sample");
	if (way->profile && slab_set_profile(way->profile))
		die("slab_set_profile");
	if (figure == BYTES)
		value = bytes_of_object(cache);
	else
		value = measure(figure == PAIR ? pairs : many, cache);
	if (write(to, &value, sizeof(value)) != sizeof(value))
		die("write");
}

/* --- all figures of it -------------------------------------------------------------- */

static double run_child(const struct way *way, size_t size, enum figure figure)
{
	double value;
	int ends[2], status;
	pid_t pid;

	if (pipe(ends))
		die("pipe");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		run_way(way, size, figure, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &value, sizeof(value)) != sizeof(value))
		value = -1;
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (value < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "debug-cost: the process for %s at %zu bytes failed\n", way->name,
			size);
		exit(1);
	}
	return value;
}

int main(int argc, char **argv)
{
	static const char *const cases[FIGURES] = {"pair", "many", "memory"};
	const struct way *way = ways;

	while (way < ways + WAYS && (argc != 2 || strcmp(way->name, argv[1]) != 0))
		way++;
	if (way == ways + WAYS) {
		fprintf(stderr, "usage: debug-cost WAY, one of:");
		for (way = ways; way < ways + WAYS; way++)
			fprintf(stderr, " %s", way->name);
		fputc('\n', stderr);
		return 2;
	}
	for (size_t s = 0; s < SIZES; s++)
		for (unsigned f = 0; f < FIGURES; f++)
			printf("%s,%zu,%s,%.3f\n", cases[f], sizes[s],
			       f == BYTES ? "memory" : "time",
			       run_child(way, sizes[s], (enum figure)f));
	return 0;
}
