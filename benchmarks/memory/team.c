/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "bench.h"
#include "team.h"

static pthread_barrier_t begin, end;
static void (*team_work)(unsigned self);

static void *member(void *arg)
{
	unsigned self = (unsigned)(uintptr_t)arg;

	for (;;) {
		pthread_barrier_wait(&begin);
		team_work(self);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

void team_begin(unsigned n)
{
	pthread_barrier_init(&begin, NULL, n + 1);
	pthread_barrier_init(&end, NULL, n + 1);
	for (unsigned i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, member, (void *)(uintptr_t)i) != 0)
			bench_fail("cannot start thread %u", i);
	}
}

void team_start(void (*work)(unsigned self))
{
	team_work = work;
	pthread_barrier_wait(&begin);
}

void team_wait(void)
{
	pthread_barrier_wait(&end);
}
