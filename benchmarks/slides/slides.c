/* SPDX-License-Identifier: MIT */
/*
 * The slides' loads that benchmarks/objects has not: compiled once per contestant against its
 * header (benchmarks/objects/contestant_*.h).
 *
 *   slides-slab memory | hackbench MESSAGES | block SIZE
 *
 * Figures go to stdout as lines of case,size,metric,value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "slides.h"

#include CONTESTANT

#define EXIT_USAGE 2
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
	printf("memory,0,used,%zu\n", used);
	printf("memory,0,resident,%ld\n", bench_resident() - before);
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
	printf("block,%zu,time,%.6f\n", size, ns / 1e9);
}

static void run_hackbench(unsigned messages)
{
	const struct slides_allocator allocator = {object_alloc, object_free};
	double seconds;

	bench_unpin();
	open_cache(512);
	seconds = hackbench(&allocator, GROUPS, MEMBERS, messages);
	printf("hackbench,512,time,%.4f\n", seconds);
}

static _Noreturn void usage(void)
{
	fprintf(stderr, "usage: %s memory | hackbench MESSAGES | block SIZE\n", CONTESTANT_NAME);
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
	else if (strcmp(what, "block") == 0 && argc == 3)
		run_block(number(argv[2]));
	else if (strcmp(what, "hackbench") == 0 && argc == 3)
		run_hackbench(number(argv[2]));
	else
		usage();
	return EXIT_SUCCESS;
}
