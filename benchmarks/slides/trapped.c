/* SPDX-License-Identifier: MIT */
/*
 * Slide 12: memory that is trapped in queues, by the numbers of CPUs, caches and nodes. One thread
 * pretends to be on each CPU in turn; the environment sets the number of nodes.
 *
 *   trapped-slab CPUS
 *
 * On each CPU it allocates OBJECTS of each cache. Then each CPU frees half of its own objects and half of
 * those of the next CPU, which is of another node if there are several. No object is in use at the
 * end. The row has the bytes of slabs that the caches still have then, and once the periodic work that
 * returns unused memory has had its time: trapped,CPUS,bytes,bytes.
 *
 *   trapped-slab unused CPUS
 *
 * What unused caches cost: UNUSED caches, from which at first no CPU allocates, and then each
 * CPU allocates one object and frees it. The rows have the bytes of resident memory for each cache, before
 * the periodic work and after it, and those of slabs: unused.never,CPUS,bytes,bytes, unused.never_slabs,
 * and unused.once and unused.once_slabs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include CONTESTANT

#define CACHES 16u
#define UNUSED 200u
#define OBJECTS 300u
#define SIZE 256u
#define CPUS_MAX 64u
#define EXIT_USAGE 2

#ifdef BASELINE
#include <pages/pages.h>
#include <percpu/pretend.h>

static void pretend(unsigned cpu)
{
	baseline_pretend_cpu((int)cpu);
}

static size_t bytes_of_slabs(void)
{
	struct baseline_stats stats;

	BASELINE_CALL(stats)(contestant_cache, &stats);
	return stats.bytes;
}

/* SLAB's reaper: as many passes as halve a queue to nothing. */
#define PASSES 20u

static void reap(struct BASELINE_CALL(cache) *const *of, unsigned n)
{
	for (unsigned pass = 0; pass < PASSES; pass++)
		for (unsigned i = 0; i < n; i++)
			BASELINE_CALL(reap)(of[i]);
}

/* Slabs that no cache has are free memory, which the page layer keeps resident. */
static void return_free_pages(void)
{
	pages_trim();
}

/* SLOB's pages belong to all caches. */
static bool counts_once(void)
{
	return BASELINE_CALL(baseline).name[0] == 's' && BASELINE_CALL(baseline).name[1] == 'l';
}
#else
#include <slab/memory.h>
#include <slab/stats.h>

#include "cpu_cache.h"

static __thread struct {
	uint32_t cpu_id_start;
	int32_t cpu_id;
	uint64_t rseq_cs;
	uint64_t more[2];
} pretended __attribute__((tls_model("initial-exec"), aligned(32)));

static void pretend(unsigned cpu)
{
	if (strcmp(slab_engine(), "rseq") != 0)
		bench_fail("this machine has no restartable sequences");
	pretended.cpu_id = (int32_t)cpu;
	cpu_rseq_offset = (char *)&pretended - (char *)__builtin_thread_pointer();
	cpu_seen((int)cpu);
}

static size_t bytes_of_slabs(void)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};

	if (slab_cache_stats(contestant_cache, &stats) != 0)
		bench_fail("no statistics of a cache");
	return stats.slab_bytes;
}

/* libslab's decay, for all caches at once: by the clock. SLAB_DECAY_MS is in the environment. */
#define PAUSES 320u

static void reap(struct slab_cache *const *of, unsigned n)
{
	const struct timespec pause = {0, 10000000};

	(void)of;
	(void)n;
	for (unsigned i = 0; i < PAUSES; i++) {
		nanosleep(&pause, NULL);
		slab_maintain();
	}
}

static void return_free_pages(void) {}

static bool counts_once(void)
{
	return false;
}
#endif

static __typeof__(contestant_cache) caches[UNUSED];
static void *objects[CPUS_MAX][CACHES][OBJECTS];

static void open_caches(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const char *why = contestant_open(SIZE, OBJECTS, 1, 0);

		if (why)
			bench_fail("%s", why);
		caches[i] = contestant_cache;
	}
}

static void allocate_on(unsigned cpu)
{
	pretend(cpu);
	for (unsigned i = 0; i < CACHES; i++) {
		contestant_cache = caches[i];
		for (unsigned k = 0; k < OBJECTS; k++)
			objects[cpu][i][k] = OBJ_ALLOC();
	}
}

static void free_on(unsigned cpu, unsigned cpus)
{
	pretend(cpu);
	for (unsigned i = 0; i < CACHES; i++) {
		contestant_cache = caches[i];
		for (unsigned k = 0; k < OBJECTS; k++)
			OBJ_FREE(objects[k % 2 ? (cpu + 1) % cpus : cpu][i][k]);
	}
}

static size_t all_bytes(unsigned n)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < (counts_once() ? 1 : n); i++) {
		contestant_cache = caches[i];
		bytes += bytes_of_slabs();
	}
	return bytes;
}

static void measure_trapped(unsigned cpus)
{
	size_t trapped;

	open_caches(CACHES);
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		allocate_on(cpu);
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		free_on(cpu, cpus);
	trapped = all_bytes(CACHES);
	reap(caches, CACHES);
	printf("trapped,%u,%zu,%zu\n", cpus, trapped, all_bytes(CACHES));
}

/* Bytes of resident memory that is no file's. */
static size_t resident(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	size_t kib = 0;
	char line[128];

	if (!file)
		bench_fail("/proc/self/smaps_rollup cannot be read");
	while (!kib && fgets(line, sizeof(line), file))
		if (strncmp(line, "Anonymous:", 10) == 0)
			kib = strtoul(line + 10, NULL, 10);
	fclose(file);
	return kib * 1024;
}

static size_t resident_per_cache(size_t before)
{
	size_t now;

	return_free_pages();
	now = resident();
	return now > before ? (now - before) / UNUSED : 0;
}

static void print_unused(const char *row, unsigned cpus, size_t before)
{
	const size_t slabs = all_bytes(UNUSED) / UNUSED, at_once = resident_per_cache(before);

	reap(caches, UNUSED);
	printf("unused.%s,%u,%zu,%zu\n", row, cpus, at_once, resident_per_cache(before));
	printf("unused.%s_slabs,%u,%zu,%zu\n", row, cpus, slabs, all_bytes(UNUSED) / UNUSED);
}

static void use_once(void)
{
	char *object = OBJ_ALLOC();

	if (!object)
		bench_fail("no memory");
	*(volatile char *)object = 1;
	OBJ_FREE(object);
}

static void measure_unused(unsigned cpus)
{
	size_t before;

	/* What the first cache of a process takes is not counted. */
	open_caches(1);
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		pretend(cpu);
		use_once();
	}
	reap(caches, 1);
	return_free_pages();
	before = resident();
	open_caches(UNUSED);
	print_unused("never", cpus, before);
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		pretend(cpu);
		for (unsigned i = 0; i < UNUSED; i++) {
			contestant_cache = caches[i];
			use_once();
		}
	}
	print_unused("once", cpus, before);
}

int main(int argc, char **argv)
{
	const bool unused = argc == 3 && strcmp(argv[1], "unused") == 0;
	const unsigned long cpus = argc == 2 || unused ? strtoul(argv[argc - 1], NULL, 10) : 0;

	if (cpus < 1 || cpus > CPUS_MAX) {
		fprintf(stderr, "usage: %s [unused] CPUS (1 to %u)\n", CONTESTANT_NAME, CPUS_MAX);
		return EXIT_USAGE;
	}
	pretend((unsigned)cpus - 1);
	if (unused)
		measure_unused((unsigned)cpus);
	else
		measure_trapped((unsigned)cpus);
	return EXIT_SUCCESS;
}
