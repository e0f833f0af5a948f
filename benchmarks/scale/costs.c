/* SPDX-License-Identifier: MIT */
/*
 * What exchanges, mutexes and fences cost on this machine: scale_costs prints lines
 * "NAME NANOSECONDS", the least of several runs, since other processes only add time.
 *
 *   exchange_local      a compare-and-exchange on a line that only this CPU uses
 *   exchange_contended  the same if another CPU did the exchange before, turn by turn
 *   line_transfer       a store to a line that another CPU has just written, one way
 *   mutex_local         lock and unlock of a mutex that only this thread uses
 *   fence               membarrier() while threads run on the other CPUs
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RUNS 15
#define TIMES 100000u
#define TIMES_FENCE 300u
#define TIMES_TURNS 10000u
#define CPUS_MAX 64u

static struct {
	uint64_t word;
} line __attribute__((aligned(128)));
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool stop;
static unsigned cpus;

static bool ends(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void exchange(void)
{
	uint64_t seen = __atomic_load_n(&line.word, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(&line.word, &seen, seen + 1, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

static double exchange_local(void)
{
	const double begin = now_ns();

	for (unsigned i = 0; i < TIMES; i++)
		exchange();
	return (now_ns() - begin) / TIMES;
}

static double mutex_local(void)
{
	const double begin = now_ns();

	for (unsigned i = 0; i < TIMES; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return (now_ns() - begin) / TIMES;
}

static double fence(void)
{
	const double begin = now_ns();

	for (unsigned i = 0; i < TIMES_FENCE; i++)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	return (now_ns() - begin) / TIMES_FENCE;
}

/* An exchange as soon as it is this CPU's turn. */
static void exchange_turn(uint64_t from)
{
	uint64_t seen = from;

	while (__atomic_load_n(&line.word, __ATOMIC_ACQUIRE) != from)
		if (ends())
			return;
	__atomic_compare_exchange_n(&line.word, &seen, !from, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}

static double exchange_contended(void)
{
	const double begin = now_ns();

	for (unsigned i = 0; i < TIMES_TURNS; i++)
		exchange_turn(0);
	return (now_ns() - begin) / TIMES_TURNS / 2;
}

/* 1 is the other CPU's turn, 0 this one's. */
static double line_transfer(void)
{
	const double begin = now_ns();

	for (unsigned i = 0; i < TIMES_TURNS; i++) {
		__atomic_store_n(&line.word, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&line.word, __ATOMIC_ACQUIRE) != 0)
			;
	}
	return (now_ns() - begin) / TIMES_TURNS / 2;
}

/* --- the other CPUs ----------------------------------------------------------------------- */

static void stay_on(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *exchange_on(void *cpu)
{
	stay_on((unsigned)(uintptr_t)cpu);
	while (!ends())
		exchange_turn(1);
	return NULL;
}

static void *answer(void *cpu)
{
	stay_on((unsigned)(uintptr_t)cpu);
	while (!ends())
		if (__atomic_load_n(&line.word, __ATOMIC_ACQUIRE) == 1)
			__atomic_store_n(&line.word, 0, __ATOMIC_RELEASE);
	return NULL;
}

static void *spin_on(void *cpu)
{
	stay_on((unsigned)(uintptr_t)cpu);
	while (!ends())
		;
	return NULL;
}

static double least_of(double (*measure)(void))
{
	double least = measure();

	for (unsigned i = 1; i < RUNS; i++) {
		const double ns = measure();

		least = ns < least ? ns : least;
	}
	return least;
}

static void print_beside(const char *name, double (*measure)(void), void *(*other)(void *),
			 unsigned most)
{
	pthread_t threads[CPUS_MAX];
	const unsigned n = most < cpus - 1 ? most : cpus - 1;

	if (!n) {
		fprintf(stderr, "scale_costs: %s needs two CPUs\n", name);
		return;
	}
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, other, (void *)(uintptr_t)(i + 1)) != 0)
			exit(1);
	usleep(1000);
	printf("%s %.1f\n", name, least_of(measure));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	cpus = online > (long)CPUS_MAX ? CPUS_MAX : (unsigned)online;
	stay_on(0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	/* With a second thread, so that mutexes execute locked instructions. */
	print_beside("exchange_contended", exchange_contended, exchange_on, 1);
	print_beside("line_transfer", line_transfer, answer, 1);
	print_beside("mutex_local", mutex_local, spin_on, 1);
	print_beside("fence", fence, spin_on, cpus);
	printf("exchange_local %.1f\n", least_of(exchange_local));
	return 0;
}
