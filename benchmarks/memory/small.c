/* SPDX-License-Identifier: MIT */
/*
 * small: what a process pays that uses little.
 *
 * The program allocates one object of each of 20 types ("caches"), or one object of every
 * size class of slab_malloc() ("classes"), and writes to all of them. Before the first
 * object it has not called the contestant at all. For "classes" it then reports the time of
 * each first allocation of a size.
 */
#include <string.h>
#include <time.h>

#include "bench.h"

#define SMALL_CLASSES 8u /* 16, 32, … 128 */
#define CLASSES (SMALL_CLASSES + 64u) /* and eight per doubling, up to 32 KiB */

/* Sizes of a server's structs, all different, so that no two types share a cache. */
static const struct type_info singles[] = {
	{"small-32", 32, false},     {"small-48", 48, false},     {"small-64", 64, false},
	{"small-80", 80, false},     {"small-112", 112, false},   {"small-144", 144, false},
	{"small-160", 160, false},   {"small-192", 192, false},   {"small-224", 224, false},
	{"small-240", 240, false},   {"small-288", 288, false},   {"small-320", 320, false},
	{"small-384", 384, false},   {"small-480", 480, false},   {"small-576", 576, false},
	{"small-720", 720, false},   {"small-896", 896, false},   {"small-1120", 1120, false},
	{"small-1504", 1504, false}, {"small-2112", 2112, false},
};

static void run_caches(void)
{
	size_t requested = 0;

	bench_hold("start");
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
		bench_touch(contestant_single(&singles[i]), singles[i].size);
		requested += singles[i].size;
	}
	bench_say("requested %zu", requested);
	bench_hold("end");
}

static size_t class_size(unsigned class)
{
	unsigned step = class - SMALL_CLASSES;
	size_t below;

	if (class < SMALL_CLASSES)
		return ((size_t)class + 1) * 16;
	below = (size_t)128 << step / 8;
	return below + below / 8 * (step % 8 + 1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Allocate and write to an object; the time of the allocation alone. */
static uint64_t time_one(size_t size)
{
	uint64_t begin = now_ns(), end;
	void *obj = contestant_malloc(size);

	end = now_ns();
	bench_touch(obj, size);
	if (!contestant_fits(obj, size))
		bench_fail("%zu bytes are no size class", size);
	return end - begin;
}

static void run_classes(void)
{
	uint64_t *took = bench_map(CLASSES * sizeof(*took));
	size_t requested = 0;

	now_ns(); /* the first call finds the clock */
	bench_hold("start");
	for (unsigned class = 0; class < CLASSES; class ++) {
		took[class] = time_one(class_size(class));
		requested += class_size(class);
	}
	bench_say("requested %zu", requested);
	bench_hold("end");
	for (unsigned class = 0; class < CLASSES; class ++)
		bench_say("took %zu %llu", class_size(class), (unsigned long long)took[class]);
}

void small_run(const char *what)
{
	if (strcmp(what, "caches") == 0)
		run_caches();
	else
		run_classes();
	bench_say("done");
}
