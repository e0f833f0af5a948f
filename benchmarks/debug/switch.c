/* SPDX-License-Identifier: MIT */
/*
 * `slabinfo -da` on a busy server of 200 threads and a million objects: when do all CPUs use the
 * checks, and what does a request take then?
 *
 *   debug-switch SLABINFO [PAUSE]
 *
 * A request replaces ten objects. A thread pauses for PAUSE µs after each, on average; 0: no CPU is
 * ever idle.
 */
#include "posix.h"

#include <slab/slab.h>

#define THREADS 200u
#define OBJECTS_OF_THREAD 5000u
#define OBJECTS_OF_REQUEST 10u
#define WORK 20000u
#define PAUSE 20000u
#define POISON 0x6b
#define MEASURE_S 3

struct object {
	char bytes[64];
};

static struct slab_cache *cache;
static useconds_t pause_us = PAUSE;
static atomic_uint ready;
static atomic_ulong requests;
static atomic_bool watched; /* is each allocation looked at? */
static atomic_llong last_unchecked;

/* A checked object is full of poison. */
static struct object *get(void)
{
	long long start = watched ? (long long)bench_ns(CLOCK_MONOTONIC) : 0, last = last_unchecked;
	struct object *object = slab_alloc(cache);

	if (!object)
		abort();
	if (object->bytes[0] != POISON)
		while (start > last && !atomic_compare_exchange_weak(&last_unchecked, &last, start))
			;
	memset(object, 0, sizeof(*object));
	return object;
}

static void request(struct object **objects, unsigned *seed)
{
	unsigned long sum = *seed;

	for (unsigned i = 0; i < OBJECTS_OF_REQUEST; i++) {
		struct object **object = &objects[rand_r(seed) % OBJECTS_OF_THREAD];

		slab_free(cache, *object);
		*object = get();
	}
	for (unsigned i = 0; i < WORK; i++)
		sum = sum * 6364136223846793005UL + 1;
	__asm__ volatile("" ::"r"(sum));
	requests++;
	if (pause_us)
		usleep(pause_us / 2 + (useconds_t)rand_r(seed) % pause_us);
}

static void *serve(void *number)
{
	struct object *objects[OBJECTS_OF_THREAD];
	unsigned seed = (unsigned)(size_t)number;

	for (unsigned i = 0; i < OBJECTS_OF_THREAD; i++)
		objects[i] = get();
	ready++;
	for (;;)
		request(objects, &seed);
	return NULL;
}

/* The CPU time of a request. */
static double request_us(void)
{
	unsigned long before = requests;
	long long start = (long long)bench_ns(CLOCK_PROCESS_CPUTIME_ID);

	sleep(MEASURE_S);
	return (double)((long long)bench_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e3 /
	       (double)(requests - before);
}

int main(int argc, char **argv)
{
	char command[512];
	double before;
	long long start;

	if (argc < 2)
		return 2;
	if (argc > 2)
		pause_us = (useconds_t)atoi(argv[2]);
	cache = slab_cache_create("server", sizeof(struct object), NULL, SLAB_PANIC);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, serve, (void *)i))
			return 1;
	}
	while (ready < THREADS)
		usleep(10000);
	before = request_us();
	watched = true;
	start = (long long)bench_ns(CLOCK_MONOTONIC);
	snprintf(command, sizeof(command), "%s -p %d -da server >&2", argv[1], (int)getpid());
	if (system(command))
		return 1;
	sleep(1);
	watched = false;
	printf("last unchecked allocation after %.1f ms; a request: %.1f µs before, %.1f after\n",
	       (double)(last_unchecked - start) / 1e6, before, request_us());
	exit(0);
}
