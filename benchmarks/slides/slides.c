/* SPDX-License-Identifier: MIT */
/*
 * The slides' loads that benchmarks/objects has not: compiled once per contestant against its header
 * (benchmarks/objects/contestant_*.h).
 *
 *   slides-slab modes SIZE | memory | hackbench MESSAGES | block SIZE
 *
 * Rows go to stdout as CSV: row,bytes,median,minimum.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "slides.h"

#include CONTESTANT

#define EXIT_USAGE 2
#define BATCH 16u
#define CALLS 10u /* of a lap: the time stamp counter may count in steps of 26 */
#define LAPS 40u
#define PARTIAL_OBJECTS 4096u
#define MODE_LOCAL 1u
#define MODE_PARTIAL 2u
#define MODE_NEW 4u
#define MODE_FULL 8u
#define BLOCKS 1000000u
#define GROUPS 15u
#define MEMBERS 50u

static void *map_pointers(size_t n)
{
	void *objs = mmap(NULL, n * sizeof(void *), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (objs == MAP_FAILED)
		bench_fail("no memory for %zu pointers", n);
	return objs;
}

static void open_cache(size_t size)
{
	const char *why = contestant_open(size, BLOCKS, 1, bench_cpu(0));

	if (why)
		bench_fail("%s", why);
}

static void *object_alloc(void)
{
	void *obj = OBJ_ALLOC();

	*(volatile uintptr_t *)obj = 1;
	return obj;
}

static void object_free(void *obj)
{
	OBJ_FREE(obj);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Times of one kind of call, by laps. */
struct clock {
	uint64_t cycles;
	unsigned calls, laps;
	double lap[LAPS]; /* cycles for each object */
};

static void clock_add(struct clock *clock, uint64_t cycles)
{
	clock->cycles += cycles;
	if (++clock->calls < CALLS || clock->laps == LAPS)
		return;
	clock->lap[clock->laps++] = (double)clock->cycles / (CALLS * BATCH);
	clock->cycles = clock->calls = 0;
}

/* Median and minimum; empty if there was no lap. */
static void print_laps(const char *row, size_t size, struct clock *clock)
{
	const unsigned n = clock->laps;

	if (!n) {
		printf("%s,%zu,,\n", row, size);
		return;
	}
	qsort(clock->lap, n, sizeof(clock->lap[0]), compare);
	printf("%s,%zu,%.2f,%.2f\n", row, size, clock->lap[n / 2], clock->lap[0]);
}

/* Slides 32 to 35. A batch of a mode, and the write to each object that a program makes: fresh memory
 * costs page faults, now or then. false: the sources of the mode have less. */
static bool take_batch(unsigned mode, void **objs, size_t *done, struct clock *clock)
{
	const uint64_t start = bench_cycles();
	const size_t got = OBJ_ALLOC_MODE(mode, BATCH, objs + *done);

	for (size_t i = 0; i < got; i++)
		*(volatile uintptr_t *)objs[*done + i] = 1;
	if (got == BATCH)
		clock_add(clock, bench_cycles() - start);
	*done += got;
	return got == BATCH;
}

/* Batches of a mode until its sources have no more. */
static void take_batches(const char *row, unsigned mode, void **objs, size_t size)
{
	struct clock clock = {0};
	size_t done = 0;

	for (unsigned i = 0; i < CALLS * LAPS && take_batch(mode, objs, &done, &clock); i++)
		;
	OBJ_FREE_BULK(done, objs);
	print_laps(row, size, &clock);
}

/* What the CPU holds: objects that it has just freed. */
static void mode_local(void **objs, size_t size)
{
	struct clock clock = {0};

	for (unsigned i = 0; i < CALLS * LAPS; i++) {
		size_t done = 0;

		for (unsigned k = 0; k < BATCH; k++)
			objs[k] = object_alloc();
		for (unsigned k = 0; k < BATCH; k++)
			OBJ_FREE(objs[k]);
		take_batch(MODE_LOCAL, objs, &done, &clock);
		OBJ_FREE_BULK(done, objs);
	}
	print_laps("bulk.local", size, &clock);
}

/* Slabs in use, every second object of which is free. */
static void mode_partial(void **objs, size_t size)
{
	void **kept = map_pointers(PARTIAL_OBJECTS);

	for (unsigned k = 0; k < PARTIAL_OBJECTS; k++)
		objs[k] = object_alloc();
	for (unsigned k = 0; k < PARTIAL_OBJECTS; k++) {
		if (k % 2)
			kept[k] = objs[k];
		else
			OBJ_FREE(objs[k]);
	}
	OBJ_SHRINK();
	take_batches("bulk.partial", MODE_PARTIAL, objs, size);
	for (unsigned k = 1; k < PARTIAL_OBJECTS; k += 2)
		OBJ_FREE(kept[k]);
}

static void mode_full(void **objs, size_t size)
{
	struct clock clock = {0}, frees = {0};

	for (unsigned i = 0; i < CALLS * LAPS; i++) {
		uint64_t start;
		size_t done = 0;

		if (!take_batch(MODE_FULL, objs, &done, &clock))
			bench_fail("no batch of %u objects", BATCH);
		start = bench_cycles();
		OBJ_FREE_BULK(done, objs);
		clock_add(&frees, bench_cycles() - start);
	}
	print_laps("bulk.full", size, &clock);
	print_laps("bulk.free", size, &frees);
}

static void run_modes(size_t size)
{
	void **objs = map_pointers(PARTIAL_OBJECTS + CALLS * LAPS * BATCH);

	open_cache(size);
	mode_local(objs, size);
	mode_full(objs, size);
	mode_partial(objs, size);
	OBJ_SHRINK();
	take_batches("bulk.new", MODE_NEW, objs, size);
}

/*
 * Slide 26: the same load on all. The caches are those of slide 21, sizes and numbers of objects (a
 * tenth of them). As in a system that has run for a while, a third more objects were allocated, and
 * a random choice of them freed.
 */
static const struct {
	unsigned objects, size;
} desktop[] = {
	{41635, 40}, {7, 24},   {3121, 32}, {564, 2048}, {384, 2112},   {412, 4096},   {51, 80},
	{8423, 56},  {34, 816}, {17, 1896}, {168, 376},  {191961, 192}, {163882, 976}, {27, 328},
	{23, 1760},  {3, 1920}, {72, 888},  {60, 1048},  {20680, 184},
};

#define DESKTOP_PART 10u
#define DESKTOP_CACHES (sizeof(desktop) / sizeof(desktop[0]))

/* Allocate n and a third more, and free the surplus in random order. Returns bytes in use. */
static size_t fill_cache(unsigned n, unsigned size, uint64_t *random)
{
	const unsigned all = n + n / 3 + 1;
	void **objs = map_pointers(all);

	open_cache(size);
	for (unsigned i = 0; i < all; i++)
		objs[i] = object_alloc();
	for (unsigned i = all; i > n; i--) {
		unsigned k = (unsigned)(bench_random(random) % i);

		OBJ_FREE(objs[k]);
		objs[k] = objs[i - 1];
	}
	munmap(objs, all * sizeof(void *));
	return (size_t)n * size;
}

static void run_memory(void)
{
	const long before = bench_resident();
	uint64_t random = 88172645463325252u;
	size_t used = 0;

	for (size_t i = 0; i < DESKTOP_CACHES; i++)
		used += fill_cache(desktop[i].objects / DESKTOP_PART + 1, desktop[i].size, &random);
	printf("memory.used,0,%zu,%zu\n", used, used);
	printf("memory.resident,0,%ld,%ld\n", bench_resident() - before, bench_resident() - before);
}

/* The seed on the parameter block: a million blocks are allocated, then freed. */
static void run_block(size_t size)
{
	void **objs = map_pointers(BLOCKS);
	struct timespec start, end;
	double ns;

	open_cache(size);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned i = 0; i < BLOCKS; i++)
		objs[i] = object_alloc();
	for (unsigned i = 0; i < BLOCKS; i++)
		OBJ_FREE(objs[i]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ns = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
	printf("block,%zu,%.2f,%.2f\n", size, ns / 1e6, ns / 1e6);
}

static void run_hackbench(unsigned messages)
{
	const struct slides_allocator allocator = {object_alloc, object_free};
	double seconds;

	bench_unpin();
	open_cache(512);
	seconds = hackbench(&allocator, GROUPS, MEMBERS, messages);
	printf("hackbench,512,%.4f,%.4f\n", seconds, seconds);
}

static _Noreturn void usage(void)
{
	fprintf(stderr, "usage: %s modes SIZE | memory | hackbench MESSAGES | block SIZE\n",
		CONTESTANT_NAME);
	exit(EXIT_USAGE);
}

static unsigned number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < 8 || n > 32768)
		usage();
	return (unsigned)n;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	bench_find_cpus();
	bench_calibrate();
	bench_pin(bench_cpu(0));
	if (strcmp(what, "memory") == 0 && argc == 2)
		run_memory();
	else if (strcmp(what, "modes") == 0 && argc == 3)
		run_modes(number(argv[2]));
	else if (strcmp(what, "block") == 0 && argc == 3)
		run_block(number(argv[2]));
	else if (strcmp(what, "hackbench") == 0 && argc == 3)
		run_hackbench(number(argv[2]));
	else
		usage();
	return EXIT_SUCCESS;
}
