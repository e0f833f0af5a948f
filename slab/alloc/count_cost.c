/* SPDX-License-Identifier: MIT */
/*
 * Measures how much longer an allocation takes while a counting window is open.
 *
 * It times pairs of an allocation and a free, counted and not counted, on a private cache. The
 * result changes with what else the core does, so the measurement is repeated every second; it
 * takes a tenth of a millisecond.
 */
#include "alloc/count_cost.h"

#include <errno.h>

#include "base/clock.h"
#include "core/cache.h"
#include "pages/segment.h"
#include "registry/count_window.h"

#define PAIRS 512
#define RUNS 16
#define TRIES 4
#define MARGIN 1.1 /* the best run is faster than the runs of the application */
#define OBJECT_SIZE 64

/* A cache with one object. Only the members that the fast paths read are set. */
static struct slab_cache cache;
static char object[OBJECT_SIZE] __attribute__((aligned(OBJECT_SIZE)));

/* Returns microseconds; < 0: the thread was moved to another CPU. */
static double run_pairs(void)
{
	uint64_t start = clock_ns();

	for (unsigned i = 0; i < PAIRS; i++) {
		void *obj = slab_alloc(&cache);

		if (!obj || !rseq_push(&cache.cpu_lifos, obj, cpu_rseq_offset))
			return -1;
	}
	return (double)(clock_ns() - start) / 1e3;
}

static double run_one_way(bool light)
{
	cache.lifos = light ? cpu_slots_none() : cache.cpu_lifos;
	cache.slots = light ? cpu_slots_none() : cache.cpu_slots;
	cache.gates = light ? GATE_COUNT : 0;
	return run_pairs();
}

static void keep_best(double *best, double us)
{
	if (us < *best)
		*best = us;
}

/* Run both alternately and keep the best run of each: disturbances only make a run longer. */
static bool compare_ways(struct count_cost *cost)
{
	double plain = 1e9, counted = 1e9;

	for (unsigned i = 0; i < RUNS; i++) {
		double us = run_one_way(false), counted_us;

		counted_us = us < 0 ? us : run_one_way(true);
		if (counted_us < 0)
			return false;
		keep_best(&plain, us);
		keep_best(&counted, counted_us);
	}
	if (counted <= plain)
		return false;
	cost->us = MARGIN * (counted - plain) / PAIRS;
	cost->share_max = (counted - plain) / counted;
	return true;
}

static bool measure_on(char *slots, int cpu, struct count_cost *cost)
{
	cache.cpu_slots = slots;
	cache.cpu_lifos = cpu_slots_lifos(slots);
	return cpu_engine->lifo_push(slots, cpu, object, 1) == CPU_DONE && compare_ways(cost);
}

static bool measure(struct count_cost *cost)
{
	int cpu = cpu_engine->cpu();
	char *slots = cpu < 0 ? NULL : cpu_slots_create();
	bool done;

	if (!slots)
		return false;
	done = measure_on(slots, cpu, cost);
	cpu_slots_destroy(slots);
	return done;
}

void count_measure_cost(struct count_cost *cost)
{
	int saved = errno;

	if (cpu_engine != &cpu_engine_rseq)
		return;
	for (unsigned i = 0; i < TRIES; i++)
		if (measure(cost))
			break;
	errno = saved;
}
