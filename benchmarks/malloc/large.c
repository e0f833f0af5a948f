/* SPDX-License-Identifier: MIT */
/* Large blocks, memory that must serve other sizes after it was freed, and limited address
 * space. */

#include "bench.h"

#define TOUCHED 1000u
#define PAIRS 20000u
#define CLASSES 10u
#define CLASS_BYTES (64 * MIB)
#define LIMIT (256 * MIB)
#define LIMIT_BLOCKS (LIMIT / 32) /* of the smallest size */

static void **blocks;

/* --- one byte of much ------------------------------------------------------------------------- */

static void touched_prepare(void)
{
	blocks = bench_map(TOUCHED * sizeof(*blocks));
}

static void touched(void)
{
	for (unsigned i = 0; i < TOUCHED; i++) {
		blocks[i] = bench_check(malloc(MIB), MIB);
		*(volatile char *)blocks[i] = 1;
	}
	for (unsigned i = 0; i < TOUCHED; i++)
		free(blocks[i]);
}

static void zeroed(void)
{
	const size_t size = 1024 * MIB;
	volatile char *ptr = bench_check(calloc(1, size), size);

	if (ptr[size / 2] != 0)
		bench_fail("calloc() returned memory that is not zero");
	free((void *)ptr);
}

static void pairs(bool touch)
{
	for (unsigned i = 0; i < PAIRS; i++) {
		void *volatile ptr = bench_check(malloc(3 * MIB), 3 * MIB);

		if (touch)
			*(volatile char *)ptr = 1;
		free(ptr);
	}
}

static void pairs_untouched(void)
{
	pairs(false);
}

static void pairs_touched(void)
{
	pairs(true);
}

/* --- other sizes ------------------------------------------------------------------------------ */

static void classes_prepare(void)
{
	blocks = bench_map(CLASS_BYTES / 32 * sizeof(*blocks));
}

/* 32 bytes to 16 KiB: the memory of one size serves the next. */
static void classes(void)
{
	for (unsigned c = 0; c < CLASSES; c++) {
		size_t size = (size_t)32 << c, n = CLASS_BYTES / size;

		for (size_t i = 0; i < n; i++) {
			blocks[i] = bench_check(malloc(size), size);
			for (size_t at = 0; at < size; at += 4096)
				bench_touch((char *)blocks[i] + at, 1);
		}
		for (size_t i = 0; i < n; i++)
			free(blocks[i]);
	}
}

/* obtain: how many bytes of a size there are before malloc() returns NULL. */
static size_t obtain(size_t size)
{
	size_t n = 0;

	while (n < LIMIT_BLOCKS) {
		void *block;

		errno = 0;
		block = malloc(size);
		if (!block) {
			if (errno != ENOMEM)
				bench_fail("malloc() failed with errno %d", errno);
			break;
		}
		blocks[n++] = block;
	}
	for (size_t i = 0; i < n; i++)
		free(blocks[i]);
	return n * size;
}

static void limit_prepare(void)
{
	blocks = bench_map(LIMIT_BLOCKS * sizeof(*blocks));
}

/*
 * With an address space of 256 MiB more than the program has now: fill it with a size and free
 * all, a size after the other. "lost": what the worst size could not get.
 */
static void limited(void)
{
	static const size_t sizes[] = {64,      1 * MIB, 240,      32 * KIB, 32,
				       8 * MIB, 2112,    64 * KIB, 712};
	struct rlimit before, limit;
	size_t least = LIMIT;
	size_t space = (size_t)bench_kib("/proc/self/status", "\nVmSize:") * KIB;

	getrlimit(RLIMIT_AS, &before);
	limit = before;
	limit.rlim_cur = space + LIMIT;
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		bench_fail("setrlimit: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t bytes = obtain(sizes[i]);

		bench_say("got.%zu %zu", sizes[i], bytes);
		if (bytes < least)
			least = bytes;
	}
	setrlimit(RLIMIT_AS, &before);
	bench_say("lost %zu", LIMIT - least);
}

const struct bench_case large_cases[] = {
	{"large.touch", touched_prepare, touched, false},
	{"large.calloc", NULL, zeroed, false},
	{"large.pairs", NULL, pairs_untouched, false},
	{"large.pairs_touched", NULL, pairs_touched, false},
	{"classes", classes_prepare, classes, false},
	{"limit", limit_prepare, limited, false},
	{NULL, NULL, NULL, false},
};
