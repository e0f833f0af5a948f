/* SPDX-License-Identifier: MIT */
/* See percpu.h. */
#include "percpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"

/* Creation and destruction of slots, which the layer below leaves to its caller to serialise. */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
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
	pthread_mutex_lock(&slots_lock);
	array->slots = cpu_slots_create();
	pthread_mutex_unlock(&slots_lock);
	if (!array->slots)
		return false;
	array->lifos = cpu_slots_lifos(array->slots);
	array->limit = limit;
	return true;
}

void percpu_destroy(struct percpu *array)
{
	pthread_mutex_lock(&slots_lock);
	cpu_slots_destroy(array->slots);
	pthread_mutex_unlock(&slots_lock);
}

unsigned percpu_cpus(void)
{
	return cpu_possible();
}

int percpu_cpu(void)
{
	return cpu_engine->cpu();
}

static size_t count_on(const struct percpu *array, int cpu)
{
	return __atomic_load_n(&cpu_lifo(array->lifos, cpu)->count, __ATOMIC_RELAXED);
}

size_t percpu_take(const struct percpu *array, int cpu, size_t n, void **objs)
{
	const size_t count = cpu < 0 ? 0 : count_on(array, cpu);

	if (n > count)
		n = count;
	return n && cpu_engine->lifo_take(array->slots, cpu, n, objs) == CPU_DONE ? n : 0;
}

bool percpu_fill(const struct percpu *array, int cpu, size_t n, void *const *objs)
{
	return cpu >= 0 &&
	       cpu_engine->lifo_push_bulk(array->slots, cpu, n, objs, array->limit) == CPU_DONE;
}

void *percpu_pop_again(const struct percpu *array)
{
	void *obj;
	int cpu;

	do {
		cpu = percpu_cpu();
		if (cpu < 0 || !count_on(array, cpu))
			return NULL;
	} while (!percpu_take(array, cpu, 1, &obj));
	return obj;
}

bool percpu_push_again(const struct percpu *array, void *obj)
{
	enum cpu_result result;
	int cpu;

	do {
		cpu = percpu_cpu();
		if (cpu < 0)
			return false;
		result = cpu_engine->lifo_push(array->slots, cpu, obj, array->limit);
	} while (result == CPU_MOVED);
	if (result == CPU_DOUBLE)
		baseline_abort("an object was freed twice", obj);
	return result == CPU_DONE;
}

void percpu_each(void (*fn)(void *arg, int cpu), void *arg)
{
	const unsigned cpus = percpu_cpus();
	cpu_set_t own, one;

	if (sched_getaffinity(0, sizeof(own), &own) != 0)
		return;
	for (unsigned cpu = 0; cpu < cpus && cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		/* An engine with locks reaches every CPU from any. */
		if (cpu_engine->locks || sched_setaffinity(0, sizeof(one), &one) == 0)
			fn(arg, (int)cpu);
	}
	sched_setaffinity(0, sizeof(own), &own);
}
