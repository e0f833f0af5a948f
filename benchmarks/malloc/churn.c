/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate and free at random: the server of Larson and Krishnan's paper, the thread
 * benchmark that glibc's documentation describes, and a stress test with retained and exchanged
 * blocks. Written from these descriptions.
 */
#include <semaphore.h>

#include "bench.h"

/* --- larson: a server whose connections outlive their threads --------------------------------- */

#define LARSON_SLOTS 5000u
#define LARSON_GENERATIONS 20u
#define LARSON_OPERATIONS 50000u
#define LARSON_LOW 8u
#define LARSON_HIGH 1000u

struct chain {
	void *slots[LARSON_SLOTS];
	uint64_t random;
	unsigned left; /* generations */
};

static struct chain *chains;
static unsigned chain_count;
static sem_t chains_done;

static void larson_prepare(void)
{
	chain_count = bench_cpus() * 2;
	chains = bench_map(chain_count * sizeof(*chains));
	sem_init(&chains_done, 0, 0);
}

static size_t larson_size(uint64_t random)
{
	return LARSON_LOW + random % (LARSON_HIGH - LARSON_LOW + 1);
}

/* One generation: replace random blocks, most of them of the thread before, then let the next
 * thread have them. */
static void *larson_thread(void *arg)
{
	struct chain *chain = arg;

	for (size_t n = bench_work(LARSON_OPERATIONS); n; n--) {
		uint64_t random = bench_random(&chain->random);
		void **slot = &chain->slots[(random >> 32) % LARSON_SLOTS];

		free(*slot);
		*slot = bench_malloc(larson_size(random));
	}
	if (--chain->left)
		bench_thread(larson_thread, chain);
	else
		sem_post(&chains_done);
	return NULL;
}

static void larson(void)
{
	for (unsigned i = 0; i < chain_count; i++) {
		chains[i].random = bench_seed(i);
		chains[i].left = LARSON_GENERATIONS;
		for (unsigned k = 0; k < LARSON_SLOTS; k++)
			chains[i].slots[k] =
				bench_malloc(larson_size(bench_random(&chains[i].random)));
		bench_thread(larson_thread, &chains[i]);
	}
	for (unsigned i = 0; i < chain_count; i++)
		sem_wait(&chains_done);
	for (unsigned i = 0; i < chain_count; i++)
		for (unsigned k = 0; k < LARSON_SLOTS; k++)
			free(chains[i].slots[k]);
}

/* --- threads: each for itself, small sizes most of the time ----------------------------------- */

#define THREADS_SLOTS 1024u
#define THREADS_OPERATIONS 8000000u /* of all threads */
#define THREADS_MANY 8u
#define THREADS_LOW 4u
#define THREADS_HIGH 32768u
#define DRAWS 65536u

static uint32_t *draws; /* sizes, drawn before the measurement */
static void **thread_slots;
static unsigned thread_count;

/* The probability of a size falls with its square. */
static void draw_sizes(void)
{
	uint64_t random = bench_seed(0);

	draws = bench_map(DRAWS * sizeof(*draws));
	for (unsigned i = 0; i < DRAWS; i++) {
		double share = (double)(bench_random(&random) >> 11) / (double)(UINT64_C(1) << 53);
		double inverse =
			1.0 / THREADS_LOW - share * (1.0 / THREADS_LOW - 1.0 / THREADS_HIGH);

		draws[i] = (uint32_t)(1.0 / inverse);
	}
}

static void threads_prepare(unsigned n)
{
	thread_count = n;
	draw_sizes();
	thread_slots = bench_map((size_t)n * THREADS_SLOTS * sizeof(*thread_slots));
}

static void threads_prepare_1(void)
{
	threads_prepare(1);
}

static void threads_prepare_many(void)
{
	threads_prepare(THREADS_MANY);
}

static void threads_work(unsigned self)
{
	void **slots = thread_slots + (size_t)self * THREADS_SLOTS;
	uint64_t random = bench_seed(self);

	for (size_t n = bench_work(THREADS_OPERATIONS / thread_count); n; n--) {
		uint64_t r = bench_random(&random);
		unsigned i = (r >> 32) % THREADS_SLOTS;

		free(slots[i]);
		slots[i] = bench_malloc(draws[r % DRAWS]);
	}
	for (unsigned i = 0; i < THREADS_SLOTS; i++)
		free(slots[i]);
}

static void threads(void)
{
	bench_team(thread_count, threads_work);
}

/* --- stress: blocks that stay, blocks that others free, teams that end ------------------------ */

#define STRESS_TEAMS 12u
#define STRESS_BLOCKS 40000u /* that a thread allocates */
#define STRESS_EXCHANGED 1000u
#define STRESS_KEPT (STRESS_BLOCKS / 8 + 1)

static _Atomic(void *) *exchanged;
static void **kept; /* of each thread; freed when the team has ended */
static unsigned stress_team;

static void stress_prepare(void)
{
	exchanged = bench_map(STRESS_EXCHANGED * sizeof(*exchanged));
	kept = bench_map((size_t)bench_cpus() * 2 * STRESS_KEPT * sizeof(*kept));
}

/* 8 bytes to 2 KiB, one of 256 up to 128 KiB: each power of two is as frequent as another. */
static size_t stress_size(uint64_t random)
{
	size_t size = (size_t)8 << random % 8;

	size += (random >> 8) % size;
	return (random >> 40) % 256 == 0 ? size * 64 : size;
}

static void stress_work(unsigned self)
{
	void *held[64] = {NULL};
	void **mine = kept + (size_t)self * STRESS_KEPT;
	uint64_t random = bench_seed(self + stress_team * 100);
	unsigned kept_count = 0;

	for (size_t n = bench_work(STRESS_BLOCKS); n; n--) {
		uint64_t r = bench_random(&random);
		void *block = bench_malloc(stress_size(r));
		unsigned fate = (r >> 48) % 8;

		if (fate == 0 && kept_count < STRESS_KEPT) {
			mine[kept_count++] = block;
			continue;
		}
		if (fate <= 2) {
			free(atomic_exchange(&exchanged[(r >> 20) % STRESS_EXCHANGED], block));
			continue;
		}
		free(held[(r >> 20) % 64]);
		held[(r >> 20) % 64] = block;
	}
	for (unsigned i = 0; i < 64; i++)
		free(held[i]);
}

static void stress(void)
{
	unsigned n = bench_cpus() * 2;

	for (stress_team = 0; stress_team < STRESS_TEAMS; stress_team++) {
		bench_team(n, stress_work);
		for (size_t i = 0; i < (size_t)n * STRESS_KEPT; i++) {
			free(kept[i]);
			kept[i] = NULL;
		}
	}
	for (unsigned i = 0; i < STRESS_EXCHANGED; i++)
		free(atomic_exchange(&exchanged[i], NULL));
}

const struct bench_case churn_cases[] = {
	{"larson", larson_prepare, larson, false},
	{"threads.1", threads_prepare_1, threads, false},
	{"threads.8", threads_prepare_many, threads, false},
	{"stress", stress_prepare, stress, false},
	{NULL, NULL, NULL, false},
};
