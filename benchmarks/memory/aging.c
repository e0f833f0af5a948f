/* SPDX-License-Identifier: MIT */
/*
 * aging: loads after which users of malloc()s see memory that does not come back. Blocks are
 * written to once.
 *
 *   pool      jobs of 44 MiB, one at a time, each on a thread of 40 at random, which frees all
 *   holes     100 MiB, of which one block in sixteen survives; then small allocations go on
 *   snapshot  100 MiB, and a child of fork() that frees all of it
 *   phases    4 threads fill and empty queues of 68 MB together; the sizes change with each phase
 *   silence   a thread fills a queue of 100 MiB, another one frees it; then the process is idle
 */
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "team.h"

#define MIB ((size_t)1 << 20)
#define POOL_THREADS 40
#define POOL_JOBS 120
#define POOL_BYTES (44 * MIB)
#define HOLES_BYTES (100 * MIB)
#define SURVIVOR 16
#define PHASE_THREADS 4
#define PHASE_BYTES ((size_t)17000000)
#define PHASE_TURNS 3
#define SEED 4711

/* A block, which has the place of the next one of its queue. */
struct block {
	struct block *next;
	size_t size;
};

/* What a thread holds, the oldest block first. */
struct queue {
	struct block *first, *last;
	size_t bytes;
};

static void queue_add(struct queue *queue, size_t size)
{
	struct block *block;

	if (size < sizeof(*block))
		size = sizeof(*block);
	block = contestant_malloc(size);
	bench_touch(block, size);
	*block = (struct block){.size = size};
	*(queue->first ? &queue->last->next : &queue->first) = block;
	queue->last = block;
	queue->bytes += size;
}

static void queue_drop(struct queue *queue)
{
	struct block *block = queue->first;

	queue->first = block->next;
	queue->bytes -= block->size;
	contestant_mfree(block);
}

static void queue_fill(struct queue *queue, size_t bytes, size_t least, size_t most)
{
	uint64_t random = SEED;

	while (queue->bytes < bytes)
		queue_add(queue, least + bench_random(&random) % (most - least));
}

static void queue_empty(struct queue *queue)
{
	while (queue->first)
		queue_drop(queue);
}

static struct queue queues[PHASE_THREADS];

/* --- pool --------------------------------------------------------------------------------- */

static unsigned chosen; /* the thread that has the job */

static void do_job(unsigned self)
{
	if (self != chosen)
		return;
	queue_fill(queues, POOL_BYTES, 16, 2048);
	queue_empty(queues);
}

static void pool(void)
{
	uint64_t random = SEED;

	team_begin(POOL_THREADS);
	bench_hold("start");
	for (unsigned job = 0; job < POOL_JOBS; job++) {
		chosen = (unsigned)(bench_random(&random) % POOL_THREADS);
		team_start(do_job);
		team_wait();
	}
}

/* --- holes -------------------------------------------------------------------------------- */

/* A process that goes on, with as little as possible. */
static void murmur(unsigned self)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	(void)self; /* there is one */
	for (;;) {
		void *block[64];

		for (unsigned b = 0; b < 64; b++)
			block[b] = contestant_malloc(100);
		for (unsigned b = 0; b < 64; b++)
			contestant_mfree(block[b]);
		nanosleep(&pause, NULL);
	}
}

/* The survivors stay where they are, and are not used again. */
static void keep_some(struct queue *queue)
{
	for (unsigned b = 0; queue->first; b++)
		if (b % SURVIVOR)
			queue_drop(queue);
		else
			queue->first = queue->first->next;
}

static void holes(void)
{
	team_begin(1);
	bench_hold("start");
	queue_fill(queues, HOLES_BYTES, 2000, 16000);
	keep_some(queues);
	team_start(murmur);
}

/* --- snapshot ------------------------------------------------------------------------------- */

/* The child of a fork has all pages, so each fault is the copy of one. */
static long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static void snapshot(void)
{
	pid_t child;

	bench_hold("start");
	queue_fill(queues, HOLES_BYTES, 16, 512);
	child = fork();
	if (child == 0) {
		const long before = page_faults();

		queue_empty(queues);
		bench_say("copied %ld", (page_faults() - before) * sysconf(_SC_PAGESIZE));
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		bench_fail("fork() failed");
}

/* --- phases --------------------------------------------------------------------------------- */

static void fill_and_empty(struct queue *queue, size_t size, uint64_t *random)
{
	for (unsigned turn = 0; turn < PHASE_TURNS; turn++) {
		while (queue->bytes < PHASE_BYTES)
			queue_add(queue, size / 2 + bench_random(random) % size);
		queue_empty(queue);
	}
}

static void live_in_phases(unsigned self)
{
	static const unsigned short sizes[] = {40,  300, 1500, 90,    6000, 24, 12000, 700,
					       160, 50,  3000, 20000, 450,  32, 1000,  60};
	uint64_t random = SEED + self;

	for (unsigned phase = 0; phase < sizeof(sizes) / sizeof(sizes[0]); phase++)
		fill_and_empty(&queues[self], sizes[phase], &random);
}

static void phases(void)
{
	team_begin(PHASE_THREADS);
	bench_hold("start");
	team_start(live_in_phases);
	team_wait();
}

/* --- silence -------------------------------------------------------------------------------- */

static void pass_on(unsigned self)
{
	if (self == chosen)
		queue_fill(queues, HOLES_BYTES, 16, 2048);
	else if (chosen == 1)
		queue_empty(queues);
}

static void silence(void)
{
	team_begin(2);
	bench_hold("start");
	for (chosen = 0; chosen < 2; chosen++) {
		team_start(pass_on);
		team_wait();
		if (chosen == 0)
			bench_hold("peak");
	}
}

/* --- all -------------------------------------------------------------------------------------- */

static const struct aging {
	const char *name;
	void (*run)(void);
} all[] = {
	{"pool", pool},     {"holes", holes},     {"snapshot", snapshot},
	{"phases", phases}, {"silence", silence},
};

bool aging_run(const char *what)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(what, all[i].name) != 0)
			continue;
		all[i].run();
		bench_hold("done");
		return true;
	}
	return false;
}
