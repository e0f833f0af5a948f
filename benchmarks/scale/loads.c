/* SPDX-License-Identifier: MIT */
/*
 * Loads on simulated CPUs, for the check of the model: scale_loads ALLOCATOR LOAD [NAME=NUMBER...]
 *
 * It prints lines "NAME NUMBER", and a line for each mutex (mutexes.h). An operation is an
 * allocation or a free. Each load runs three times: to warm up, to count mutexes and events, and
 * instruction by instruction.
 */
#include <pthread.h>
#include <slab/memory.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends.h"
#include "cpus.h"
#include "locked.h"
#include "mutexes.h"

#define CACHES_MAX 1024ul
#define SETTLE_BYTES 3000 /* not a size that is measured */

/* Parameters, with their defaults. */
static struct parameter {
	const char *name;
	unsigned long value, least, most;
} parameters[] = {
	{"size", 240, 1, 1 << 20},      /* bytes of an object */
	{"caches", 1, 1, CACHES_MAX},   /* number of caches */
	{"ops", 200000, 1, 1ul << 40},  /* operations to warm up, and again to count */
	{"steps", 20000, 0, 1ul << 40}, /* operations, instruction by instruction */
	{"batch", 64, 1, 1 << 20},      /* operations on a CPU in a row */
	{"live", 1000, 1, 1 << 24},     /* objects of a CPU that stay */
	{"distance", 1, 1, CPUS_MAX},   /* from the CPU that allocates to the one that frees */
	{"keep", 0, 0, 1 << 20},        /* objects that stay of each peak */
	{"purge", 0, 0, 1},             /* 1: return idle memory before the second report */
};

enum { SIZE, CACHES, OPS, STEPS, BATCH, LIVE, DISTANCE, KEEP, PURGE };
#define PARAMETERS (sizeof(parameters) / sizeof(parameters[0]))
#define VALUE(i) (parameters[i].value)

static const struct backend *backend;
static void *caches[CACHES_MAX], *settle_cache;
static void **bag; /* live objects of all CPUs */
static size_t in_bag;
static bool steps; /* instruction by instruction */
static uint64_t operations;

static uint64_t random_below(uint64_t n)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void *check(void *p)
{
	if (p)
		return p;
	fputs("out of memory\n", stderr);
	exit(1);
}

/* --- what a CPU does ---------------------------------------------------------------------- */

struct job {
	void *cache;
	void **objs;
	size_t n;
};

static void alloc_all(void *arg)
{
	const struct job *job = arg;

	if (steps)
		locked_begin();
	for (size_t i = 0; i < job->n; i++)
		job->objs[i] = backend->alloc(job->cache);
	if (steps)
		locked_end();
	operations += job->n;
	for (size_t i = 0; i < job->n; i++)
		memset(check(job->objs[i]), 1, VALUE(SIZE));
}

static void free_all(void *arg)
{
	const struct job *job = arg;

	if (steps)
		locked_begin();
	for (size_t i = 0; i < job->n; i++)
		backend->free(job->cache, job->objs[i]);
	if (steps)
		locked_end();
	operations += job->n;
}

/* --- loads: one round of each -------------------------------------------------------------- */

static void *scratch[1 << 20];

/* The CPU whose turn it is. */
static unsigned next_cpu(void)
{
	static unsigned next;

	return next++ % cpus_count();
}

/* A CPU replaces random objects of its own. */
static void local(void)
{
	const unsigned cpu = next_cpu();
	void **mine = bag + cpu * VALUE(LIVE);

	for (unsigned long i = 0; i < VALUE(BATCH); i++) {
		struct job job = {caches[0], mine + random_below(VALUE(LIVE)), 1};

		cpus_run(cpu, free_all, &job);
		cpus_run(cpu, alloc_all, &job);
	}
}

/* One CPU allocates, another one frees. */
static void pairs(void)
{
	const unsigned distance = (unsigned)VALUE(DISTANCE), cpu = next_cpu();
	struct job job = {caches[0], scratch, VALUE(BATCH)};

	if (cpu % (2 * distance) >= distance || cpu + distance >= cpus_count())
		return;
	cpus_run(cpu, alloc_all, &job);
	cpus_run(cpu + distance, free_all, &job);
}

static void move_to_scratch(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = random_below(in_bag);

		scratch[i] = bag[at];
		bag[at] = bag[--in_bag];
	}
}

/* A random CPU frees random objects of all CPUs; another random CPU allocates as many. */
static void elsewhere(void)
{
	struct job job = {caches[0], scratch, VALUE(BATCH)};

	move_to_scratch(job.n);
	cpus_run((unsigned)random_below(cpus_count()), free_all, &job);
	cpus_run((unsigned)random_below(cpus_count()), alloc_all, &job);
	memcpy(bag + in_bag, scratch, job.n * sizeof(bag[0]));
	in_bag += job.n;
}

/* A CPU allocates many, then frees them. */
static void burst(void)
{
	struct job job = {caches[0], scratch, VALUE(BATCH)};
	const unsigned cpu = next_cpu();

	cpus_run(cpu, alloc_all, &job);
	cpus_run(cpu, free_all, &job);
}

/* All CPUs allocate before the first one frees. */
static void peak(void)
{
	const unsigned long keep = VALUE(KEEP) < VALUE(BATCH) ? VALUE(KEEP) : VALUE(BATCH);

	for (unsigned long i = 0; i < VALUE(CACHES); i++) {
		void **objs = check(calloc(cpus_count() * VALUE(BATCH), sizeof(*objs)));

		for (unsigned cpu = 0; cpu < cpus_count(); cpu++) {
			struct job job = {caches[i], objs + cpu * VALUE(BATCH), VALUE(BATCH)};

			cpus_run(cpu, alloc_all, &job);
		}
		for (unsigned cpu = 0; cpu < cpus_count(); cpu++) {
			struct job job = {caches[i], objs + cpu * VALUE(BATCH) + keep,
					  VALUE(BATCH) - keep};

			cpus_run(cpu, free_all, &job);
		}
		free(objs);
	}
}

static const struct load {
	const char *name;
	void (*round)(void);
	bool is_once; /* one round, for its memory */
	bool has_live;
} loads[] = {
	{"local", local, false, true},         {"pairs", pairs, false, false},
	{"elsewhere", elsewhere, false, true}, {"burst", burst, false, false},
	{"memory", peak, true, false},
};

/* --- the run ------------------------------------------------------------------------------ */

static void fill_bag(void)
{
	bag = check(calloc(cpus_count() * VALUE(LIVE) + 1, sizeof(bag[0])));
	for (unsigned cpu = 0; cpu < cpus_count(); cpu++) {
		struct job job = {caches[0], bag + in_bag, VALUE(LIVE)};

		cpus_run(cpu, alloc_all, &job);
		in_bag += VALUE(LIVE);
	}
}

static unsigned long resident(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		exit(1);
	fclose(file);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

static void run_for(const struct load *load, unsigned long n)
{
	operations = 0;
	while (operations < n)
		load->round();
}

static void count_operations(const struct load *load)
{
	if (load->has_live)
		fill_bag();
	run_for(load, VALUE(OPS));
	puts("before");
	backend->print(stdout, caches, (unsigned)VALUE(CACHES));
	puts("after");
	mutexes_count(true);
	run_for(load, VALUE(OPS));
	mutexes_count(false);
	printf("operations %ju\n", (uintmax_t)operations);
	backend->print(stdout, caches, (unsigned)VALUE(CACHES));
	mutexes_print(stdout);
	if (!VALUE(STEPS))
		return;
	steps = true;
	run_for(load, VALUE(STEPS));
	printf("stepped %ju\nlocked %ju\ninstructions %ju\n", (uintmax_t)operations,
	       (uintmax_t)locked_count, (uintmax_t)locked_instructions);
	locked_print(stdout);
}

/* libslab's own maintenance, until nothing is left to do. */
static void purge(void)
{
	long wait;

	while ((wait = slab_maintain()) >= 0)
		usleep((useconds_t)wait * 1000);
}

static void report_memory(unsigned long before)
{
	printf("resident %ld\n", (long)(resident() - before));
	backend->print(stdout, caches, (unsigned)VALUE(CACHES));
}

/* What a thread takes that allocates anything at all, its stack included. */
static void settle(void *arg)
{
	(void)arg;
	if (backend->threads)
		backend->free(NULL, check(backend->alloc(settle_cache)));
}

static void measure_memory(const struct load *load)
{
	unsigned long before;

	memset(scratch, 0, VALUE(BATCH) * sizeof(scratch[0]));
	before = resident();
	for (unsigned cpu = 0; cpu < cpus_count(); cpu++)
		cpus_run(cpu, settle, NULL);
	printf("resident_threads %ld\n", (long)(resident() - before));
	before = resident();
	load->round();
	puts("before");
	report_memory(before);
	if (!VALUE(PURGE))
		return;
	puts("after");
	purge();
	report_memory(before);
}

/* --- arguments ---------------------------------------------------------------------------- */

static _Noreturn void usage(const char *what)
{
	fprintf(stderr,
		"scale_loads: wrong argument '%s'; usage: scale_loads libslab|SLAB|sheaves|malloc",
		what);
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		fprintf(stderr, "%c%s", i ? '|' : ' ', loads[i].name);
	for (size_t i = 0; i < PARAMETERS; i++)
		fprintf(stderr, " [%s=%lu..%lu]", parameters[i].name, parameters[i].least,
			parameters[i].most);
	fputc('\n', stderr);
	exit(2);
}

static void set_parameter(const char *text)
{
	for (size_t i = 0; i < PARAMETERS; i++) {
		const size_t length = strlen(parameters[i].name);
		char *end;

		if (strncmp(text, parameters[i].name, length) != 0 || text[length] != '=')
			continue;
		VALUE(i) = strtoul(text + length + 1, &end, 10);
		if (*end || end == text + length + 1 || VALUE(i) < parameters[i].least ||
		    VALUE(i) > parameters[i].most)
			usage(text);
		return;
	}
	usage(text);
}

static const struct load *find_load(const char *name)
{
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		if (strcmp(loads[i].name, name) == 0)
			return &loads[i];
	usage(name);
}

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* In a process of one thread the C library's mutexes execute no locked instructions. */
static void start_second_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	const struct load *load;

	if (argc < 3)
		usage("");
	backend = backend_find(argv[1]);
	if (!backend)
		usage(argv[1]);
	load = find_load(argv[2]);
	for (int i = 3; i < argc; i++)
		set_parameter(argv[i]);
	if (load->round == pairs && cpus_count() <= VALUE(DISTANCE)) {
		fputs("scale_loads: pairs needs more CPUs (" CPUS_VARIABLE ") than distance=\n",
		      stderr);
		return 2;
	}
	locked_init();
	start_second_thread();
	if (backend->threads)
		cpus_use_threads();
	for (unsigned long i = 0; i < VALUE(CACHES); i++)
		caches[i] = backend->create(VALUE(SIZE), (unsigned)i);
	settle_cache = backend->threads ? backend->create(SETTLE_BYTES, 0) : NULL;
	if (load->is_once)
		measure_memory(load);
	else
		count_operations(load);
	return 0;
}
