/* SPDX-License-Identifier: MIT */
/* See percpu.h. */
#include "percpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"

/* Creation and destruction of arrays, which the layer below leaves to its caller to serialise. */
static pthread_mutex_t arrays_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool started;

void baseline_abort(const char *what, const void *obj)
{
	fprintf(stderr, "baseline: %s: %p\n", what, obj);
	abort();
}

static void start(void)
{
	started = pages_init() && cpu_engine_init(getenv("SLAB_ENGINE"));
}

bool percpu_start(void)
{
	pthread_once(&once, start);
	return started;
}

void *percpu_alloc(size_t bytes)
{
	void *cache = percpu_start() ? aligned_alloc(CPU_CACHELINE, bytes) : NULL;

	return cache ? memset(cache, 0, bytes) : NULL;
}

bool percpu_init(struct percpu *array, size_t limit)
{
	pthread_mutex_lock(&arrays_lock);
	array->arrays = cpu_arrays_create(true);
	pthread_mutex_unlock(&arrays_lock);
	for (unsigned cpu = 0; array->arrays && cpu < cpu_possible(); cpu++)
		cpu_array_set_limit(cpu_array(array->arrays, cpu), (unsigned)limit);
	return array->arrays;
}

void percpu_destroy(struct percpu *array)
{
	pthread_mutex_lock(&arrays_lock);
	cpu_arrays_destroy(array->arrays);
	pthread_mutex_unlock(&arrays_lock);
}

bool percpu_push_again(const struct percpu *array, void *obj)
{
	const enum cpu_result result = cpu_engine->push(&array->arrays, obj);

	if (result == CPU_DOUBLE)
		baseline_abort("an object was freed twice", obj);
	return result == CPU_DONE;
}

void percpu_each(void (*fn)(void *arg, int cpu), void *arg)
{
	const unsigned cpus = cpu_possible();
	cpu_set_t own, one;

	if (sched_getaffinity(0, sizeof(own), &own) != 0)
		return;
	for (unsigned cpu = 0; cpu < cpus && cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) == 0)
			fn(arg, (int)cpu);
	}
	sched_setaffinity(0, sizeof(own), &own);
}
