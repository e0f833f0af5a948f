/* SPDX-License-Identifier: MIT */
/* See percpu.h. */
#include "percpu/percpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "pages/pages.h"
#include "percpu/pretend.h"

/* Creation and destruction of slots, which the layer below leaves to its caller to serialise. */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool started;

/* A stand-in for struct rseq (percpu/pretend.h). The initial-exec model gives it the same offset in
 * every thread. */
static __thread struct {
	uint32_t cpu_id_start;
	int32_t cpu_id;
	uint64_t rseq_cs;
	uint64_t more[2];
} pretended __attribute__((tls_model("initial-exec"), aligned(32)));
static bool is_pretending;

void baseline_abort(const char *what, const void *obj)
{
	fprintf(stderr, "baseline: %s: %p\n", what, obj);
	abort();
}

static void start(void)
{
	const char *engine = getenv("SLAB_ENGINE");

	started = pages_init() && cpu_engine_init(engine);
}

bool percpu_start(void)
{
	pthread_once(&once, start);
	return started;
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

size_t percpu_count(const struct percpu *array, int cpu)
{
	return __atomic_load_n(&cpu_lifo(array->lifos, cpu)->count, __ATOMIC_RELAXED);
}

size_t percpu_take(const struct percpu *array, int cpu, size_t n, void **objs)
{
	const size_t count = percpu_count(array, cpu);

	if (n > count)
		n = count;
	return n && cpu_engine->lifo_take(array->slots, cpu, n, objs) == CPU_DONE ? n : 0;
}

bool percpu_fill(const struct percpu *array, int cpu, size_t n, void *const *objs)
{
	return cpu_engine->lifo_push_bulk(array->slots, cpu, n, objs, array->limit) == CPU_DONE;
}

void *percpu_pop_again(const struct percpu *array)
{
	void *obj;
	int cpu;

	do {
		cpu = percpu_cpu();
		if (!percpu_count(array, cpu))
			return NULL;
	} while (!percpu_take(array, cpu, 1, &obj));
	return obj;
}

bool percpu_push_again(const struct percpu *array, void *obj)
{
	enum cpu_result result;

	do
		result = cpu_engine->lifo_push(array->slots, percpu_cpu(), obj, array->limit);
	while (result == CPU_MOVED);
	if (result == CPU_DOUBLE)
		baseline_abort("an object was freed twice", obj);
	return result == CPU_DONE;
}

void baseline_pretend_cpu(int cpu)
{
	if (!percpu_start() || cpu_engine != &cpu_engine_rseq)
		baseline_abort("this machine has no restartable sequences", NULL);
	is_pretending = true;
	pretended.cpu_id = cpu;
	cpu_rseq_offset = (char *)&pretended - (char *)__builtin_thread_pointer();
	cpu_seen(cpu);
}

static void each_pretended(void (*fn)(void *arg, int cpu), void *arg)
{
	const int own = pretended.cpu_id;

	for (unsigned cpu = 0; cpu < percpu_cpus(); cpu++) {
		pretended.cpu_id = (int)cpu;
		fn(arg, (int)cpu);
	}
	pretended.cpu_id = own;
}

void percpu_each(void (*fn)(void *arg, int cpu), void *arg)
{
	const unsigned cpus = percpu_cpus();
	cpu_set_t own, one;

	if (is_pretending) {
		each_pretended(fn, arg);
		return;
	}
	if (cpu_engine->locks) {
		for (unsigned cpu = 0; cpu < cpus; cpu++)
			fn(arg, (int)cpu);
		return;
	}
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
