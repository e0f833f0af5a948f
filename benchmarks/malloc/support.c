/* SPDX-License-Identifier: MIT */
/* What all cases use: their work, memory that is there, threads. */

#include "bench.h"

#define MAX_THREADS 256

unsigned bench_percent = 100;

size_t bench_work(size_t n)
{
	size_t part = n / 100 * bench_percent + n % 100 * bench_percent / 100;

	return part ? part : 1;
}

void *bench_check(void *ptr, size_t size)
{
	if (!ptr)
		bench_fail("no memory for %zu bytes", size);
	return ptr;
}

void *bench_malloc(size_t size)
{
	void *ptr = bench_check(malloc(size), size);

	bench_touch(ptr, size);
	return ptr;
}

/* --- threads ---------------------------------------------------------------------------------- */

static void (*team_work)(unsigned self);

static void *member(void *arg)
{
	team_work((unsigned)(uintptr_t)arg);
	return NULL;
}

void bench_thread(void *(*work)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, arg) != 0)
		bench_fail("cannot start a thread");
	pthread_detach(thread);
}

void bench_team(unsigned n, void (*work)(unsigned self))
{
	pthread_t thread[MAX_THREADS];

	if (n > MAX_THREADS)
		n = MAX_THREADS;
	team_work = work;
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, member, (void *)(uintptr_t)i) != 0)
			bench_fail("cannot start thread %u", i);
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}
