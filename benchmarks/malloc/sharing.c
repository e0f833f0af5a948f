/* SPDX-License-Identifier: MIT */
/*
 * Blocks that pass from thread to thread: batches that another thread frees, as the authors of
 * xmalloc describe their test; and cache lines that two threads share because the allocator put
 * blocks of both into one, as the Hoard paper describes cache-scratch and cache-thrash. Last, one
 * thread that changes its CPU.
 */

#include "bench.h"

/* --- remote: half of the threads allocate, the others free ------------------------------------ */

#define BATCH 120u
#define BATCHES 30000u /* of all producers */
#define QUEUE 64u

struct batch {
	unsigned count;
	void *blocks[BATCH];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more, room;
	struct batch *ring[QUEUE];
	size_t put, taken, total;
} queue = {PTHREAD_MUTEX_INITIALIZER,
	   PTHREAD_COND_INITIALIZER,
	   PTHREAD_COND_INITIALIZER,
	   {NULL},
	   0,
	   0,
	   0};

static void put_batch(struct batch *batch)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.put - queue.taken == QUEUE)
		pthread_cond_wait(&queue.room, &queue.lock);
	queue.ring[queue.put++ % QUEUE] = batch;
	pthread_cond_signal(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

/* take_batch: NULL when all have been taken. */
static struct batch *take_batch(void)
{
	struct batch *batch = NULL;

	pthread_mutex_lock(&queue.lock);
	while (queue.taken == queue.put && queue.taken < queue.total)
		pthread_cond_wait(&queue.more, &queue.lock);
	if (queue.taken < queue.put) {
		batch = queue.ring[queue.taken++ % QUEUE];
		pthread_cond_signal(&queue.room);
	}
	if (queue.taken == queue.total)
		pthread_cond_broadcast(&queue.more);
	pthread_mutex_unlock(&queue.lock);
	return batch;
}

static void produce(unsigned self, size_t batches)
{
	uint64_t random = bench_seed(self);

	for (; batches; batches--) {
		struct batch *batch = bench_malloc(sizeof(*batch));

		batch->count = BATCH;
		for (unsigned i = 0; i < BATCH; i++) {
			uint64_t r = bench_random(&random);

			batch->blocks[i] = bench_malloc(8 + (r >> 32) % ((size_t)16 << r % 6));
		}
		put_batch(batch);
	}
}

static void consume(void)
{
	struct batch *batch;

	while ((batch = take_batch()) != NULL) {
		for (unsigned i = 0; i < batch->count; i++)
			free(batch->blocks[i]);
		free(batch);
	}
}

static void remote_work(unsigned self)
{
	if (self % 2)
		consume();
	else
		produce(self, queue.total / bench_cpus());
}

static void remote_prepare(void)
{
	queue.total = bench_work(BATCHES / bench_cpus()) * bench_cpus();
}

static void remote(void)
{
	bench_team(bench_cpus() * 2, remote_work);
}

/* --- scratch, thrash: does a cache line have blocks of two threads? --------------------------- */

#define LINE_BLOCKS 40000u /* that each thread allocates */
#define LINE_WRITES 2000u
#define LINE_BYTES 8u
#define LINE_THREADS 64u

static void *given[LINE_THREADS]; /* by the first thread */

static void line_work(unsigned self)
{
	free(given[self]);
	for (size_t n = bench_work(LINE_BLOCKS); n; n--) {
		volatile char *block = bench_malloc(LINE_BYTES);

		for (unsigned i = 0; i < LINE_WRITES; i++)
			block[i % LINE_BYTES]++;
		free((void *)block);
	}
}

static unsigned line_threads(void)
{
	return bench_cpus() < LINE_THREADS ? bench_cpus() : LINE_THREADS;
}

/* Passive false sharing: threads free blocks that stood side by side, and get them again. */
static void scratch(void)
{
	for (unsigned i = 0; i < line_threads(); i++)
		given[i] = bench_malloc(LINE_BYTES);
	bench_team(line_threads(), line_work);
}

static void thrash(void)
{
	bench_team(line_threads(), line_work);
}

/* --- migrate: one thread, random lifetimes, on one CPU or on all in turn ---------------------- */

#define MIGRATE_SLOTS 160000u
#define MIGRATE_OPERATIONS 2000000u
#define MIGRATE_STAY 10000u /* operations until the next CPU */

static void **migrate_slots;

static void migrate_prepare(void)
{
	migrate_slots = bench_map(MIGRATE_SLOTS * sizeof(*migrate_slots));
}

static void migrate(bool moves)
{
	uint64_t random = bench_seed(0);

	bench_pin(bench_cpu(0));
	for (size_t n = 0; n < bench_work(MIGRATE_OPERATIONS); n++) {
		uint64_t r = bench_random(&random);
		void **slot = &migrate_slots[(r >> 32) % MIGRATE_SLOTS];

		if (moves && n % MIGRATE_STAY == 0)
			bench_pin(bench_cpu((unsigned)(n / MIGRATE_STAY) % bench_cpus()));
		free(*slot);
		*slot = bench_malloc(16 + r % 1009);
	}
	for (unsigned i = 0; i < MIGRATE_SLOTS; i++)
		free(migrate_slots[i]);
	bench_unpin();
}

static void migrate_pinned(void)
{
	migrate(false);
}

static void migrate_moving(void)
{
	migrate(true);
}

const struct bench_case sharing_cases[] = {
	{"remote", remote_prepare, remote, false},
	{"scratch", NULL, scratch, false},
	{"thrash", NULL, thrash, false},
	{"migrate.pinned", migrate_prepare, migrate_pinned, false},
	{"migrate.moving", migrate_prepare, migrate_moving, false},
	{NULL, NULL, NULL, false},
};
