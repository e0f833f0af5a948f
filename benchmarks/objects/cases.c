/* SPDX-License-Identifier: MIT */
/*
 * The cases of the classic slab benchmark, compiled once per contestant.
 *
 * CONTESTANT is a header that defines OBJ_ALLOC(), OBJ_FREE(obj) and, where the
 * contestant has them, OBJ_ALLOC_BULK(n, objs) and OBJ_FREE_BULK(n, objs), so that
 * every operation is a direct call, or code in place. The first word of each
 * object is written after its allocation, as every program does.
 *
 * A body is run by all threads of its team; with one thread it is the same code
 * in a process that has only one.
 */

#include CONTESTANT

#ifndef CONTESTANT_ONLY_TRACE
#define CONTESTANT_ONLY_TRACE false
#endif

#define OBJECTS 10000u    /* N of "N allocations, then N frees" */
#define BURST 500u        /* objects a thread holds in the many-threads cases */
#define BURSTS 8u         /* bursts of a lap */
#define RING_BATCHES 64u
#define RING_BATCH_MAX 64u
#define RING_SPINS 10000u
#define RING_LAP_ONE 8192u
#define LINE_LAP ((size_t)2048)
#define RING_LAP_BATCHED 16384u
#define LIFETIMES_LAP 10000u
#define LIFETIMES_WARM_UP 100000u
#define BULK_MAX 250u

static inline void *obj_new(uintptr_t word)
{
	void *obj = OBJ_ALLOC();

	*(volatile uintptr_t *)obj = word;
	return obj;
}

static void **own_slots(struct team *team, unsigned self)
{
	return team->slots + (size_t)self * team->c->slots;
}

static uint64_t seed(unsigned self)
{
	return UINT64_C(0x9e3779b97f4a7c15) * (self + 1);
}

static void shuffle(void **objs, unsigned n, uint64_t *random)
{
	for (unsigned i = n - 1; i > 0; i--) {
		unsigned k = (unsigned)(bench_random(random) % (i + 1));
		void *obj = objs[i];

		objs[i] = objs[k];
		objs[k] = obj;
	}
}

static void record_alloc(struct team *team, unsigned self, void **objs, unsigned n)
{
	uint64_t start = bench_cycles();

	for (unsigned i = 0; i < n; i++)
		objs[i] = obj_new(i);
	team_record(team, self, 0, bench_cycles() - start, n);
}

static void record_free(struct team *team, unsigned self, void **objs, unsigned n)
{
	uint64_t start = bench_cycles();

	for (unsigned i = 0; i < n; i++)
		OBJ_FREE(objs[i]);
	team_record(team, self, 1, bench_cycles() - start, n);
}

/* N allocations, then N frees in the same order: cold, warm, on every CPU at once. */
static void in_order(struct team *team, unsigned self)
{
	void **objs = own_slots(team, self);

	team_measure(team, self, 0, 2);
	while (team_lap(team, self)) {
		record_alloc(team, self, objs, OBJECTS);
		team_barrier(team);
		record_free(team, self, objs, OBJECTS);
	}
}

static void random_order(struct team *team, unsigned self)
{
	void **objs = own_slots(team, self);
	uint64_t random = seed(self);

	team_measure(team, self, 0, 2);
	while (team_lap(team, self)) {
		record_alloc(team, self, objs, OBJECTS);
		shuffle(objs, OBJECTS, &random);
		record_free(team, self, objs, OBJECTS);
	}
}

static void pair(struct team *team, unsigned self)
{
	team_measure(team, self, 0, 1);
	while (team_lap(team, self)) {
		uint64_t start = bench_cycles();

		for (unsigned i = 0; i < OBJECTS; i++)
			OBJ_FREE(obj_new(i));
		team_record(team, self, 0, bench_cycles() - start, OBJECTS);
	}
}

/* Remote frees, one way: everybody allocates N, thread 0 frees all. */
static void all_to_one(struct team *team, unsigned self)
{
	team_measure(team, self, 0, 2);
	while (team_lap(team, self)) {
		record_alloc(team, self, own_slots(team, self), OBJECTS);
		team_barrier(team);
		if (self == 0)
			record_free(team, self, team->slots, team->threads * OBJECTS);
	}
}

/* The other way: thread 0 deals its objects out one by one, everybody frees N. */
static void one_to_all(struct team *team, unsigned self)
{
	team_measure(team, self, 0, 2);
	while (team_lap(team, self)) {
		if (self == 0) {
			uint64_t start = bench_cycles();

			for (unsigned i = 0; i < OBJECTS; i++)
				for (unsigned t = 0; t < team->threads; t++)
					own_slots(team, t)[i] = obj_new(i);
			team_record(team, self, 0, bench_cycles() - start,
				    (size_t)team->threads * OBJECTS);
		}
		team_barrier(team);
		record_free(team, self, own_slots(team, self), OBJECTS);
	}
}

/* A ring of batches between two threads on two CPUs. */
static struct {
	_Alignas(64) atomic_size_t filled;
	_Alignas(64) atomic_size_t emptied;
	_Alignas(64) void *batch[RING_BATCHES][RING_BATCH_MAX];
} ring;

/* On a machine with one CPU the other side needs it. */
static void ring_wait(unsigned *spins)
{
	bench_relax();
	if (++*spins % RING_SPINS == 0)
		sched_yield();
}

static void ring_produce(size_t at, unsigned batch)
{
	void **objs = ring.batch[at % RING_BATCHES];
	unsigned spins = 0;

	while (at - atomic_load_explicit(&ring.emptied, memory_order_acquire) >= RING_BATCHES)
		ring_wait(&spins);
	for (unsigned i = 0; i < batch; i++)
		objs[i] = obj_new(i);
	atomic_store_explicit(&ring.filled, at + 1, memory_order_release);
}

static void ring_consume(size_t at, unsigned batch)
{
	void **objs = ring.batch[at % RING_BATCHES];
	unsigned spins = 0;

	while (atomic_load_explicit(&ring.filled, memory_order_acquire) <= at)
		ring_wait(&spins);
	for (unsigned i = 0; i < batch; i++) {
		(void)*(volatile unsigned char *)objs[i];
		OBJ_FREE(objs[i]);
	}
	atomic_store_explicit(&ring.emptied, at + 1, memory_order_release);
}

/* Thread 0 allocates, thread 1 reads a byte and frees; the lap ends with its last free. */
static void ring_lap(struct team *team, unsigned self, size_t *at, unsigned batch, unsigned objects)
{
	size_t end = *at + objects / batch;
	uint64_t start = bench_cycles();

	for (; *at < end; ++*at) {
		if (self == 0)
			ring_produce(*at, batch);
		else
			ring_consume(*at, batch);
	}
	if (self == 1)
		team_record(team, self, 0, bench_cycles() - start, objects);
}

/* Each thread waits for the other's store and answers it; a line goes there and back. */
static void line_lap(struct team *team, unsigned self, size_t *at)
{
	atomic_size_t *mine = self ? &ring.emptied : &ring.filled;
	atomic_size_t *other = self ? &ring.filled : &ring.emptied;
	const size_t end = *at + LINE_LAP;
	uint64_t start = bench_cycles();

	while (*at < end) {
		unsigned spins = 0;

		++*at;
		if (self == 0)
			atomic_store_explicit(mine, *at, memory_order_release);
		while (atomic_load_explicit(other, memory_order_acquire) < *at)
			ring_wait(&spins);
		if (self == 1)
			atomic_store_explicit(mine, *at, memory_order_release);
	}
	if (self == 0)
		team_record(team, self, 0, bench_cycles() - start, 2 * LINE_LAP);
}

static void ring_restart(void)
{
	atomic_store(&ring.filled, 0);
	atomic_store(&ring.emptied, 0);
}

static void ring_transfer(struct team *team, unsigned self)
{
	size_t at = 0;

	ring_restart();
	team_measure(team, self, 2, 1);
	while (team_lap(team, self))
		line_lap(team, self, &at);
	at = 0;
	ring_restart();
	team_measure(team, self, 0, 1);
	while (team_lap(team, self))
		ring_lap(team, self, &at, 1, RING_LAP_ONE);
	at = 0;
	ring_restart();
	team_measure(team, self, 1, 1);
	while (team_lap(team, self))
		ring_lap(team, self, &at, RING_BATCH_MAX, RING_LAP_BATCHED);
}

static void lifetimes_lap(void **slots, unsigned laps, uint64_t *random)
{
	for (unsigned i = 0; i < laps; i++) {
		void **slot = &slots[bench_random(random) % BENCH_LIVE_OBJECTS];

		OBJ_FREE(*slot);
		*slot = obj_new(i);
	}
}

/* Random lifetimes: of 100000 live objects free any one, allocate another. */
static void lifetimes(struct team *team, unsigned self)
{
	uint64_t random = seed(self);

	for (unsigned i = 0; i < BENCH_LIVE_OBJECTS; i++)
		team->slots[i] = obj_new(i);
	team_memory(team, 1);
	lifetimes_lap(team->slots, LIFETIMES_WARM_UP, &random);
	team_measure(team, self, 0, 1);
	while (team_lap(team, self)) {
		uint64_t start = bench_cycles();

		lifetimes_lap(team->slots, LIFETIMES_LAP, &random);
		team_record(team, self, 0, bench_cycles() - start, LIFETIMES_LAP);
	}
}

static void shared_lap(struct team *team, unsigned ops, uint64_t *random)
{
	void *_Atomic *slots = (void *_Atomic *)team->slots;

	for (unsigned i = 0; i < ops; i++) {
		void *obj = obj_new(i);

		OBJ_FREE(atomic_exchange(&slots[bench_random(random) % BENCH_LIVE_OBJECTS], obj));
	}
}

/* The same by two threads over the same objects: half of the frees are remote. */
static void lifetimes_shared(struct team *team, unsigned self)
{
	uint64_t random = seed(self);

	for (unsigned i = self; i < BENCH_LIVE_OBJECTS; i += team->threads)
		team->slots[i] = obj_new(i);
	team_barrier(team);
	shared_lap(team, LIFETIMES_WARM_UP / team->threads, &random);
	team_measure(team, self, 0, 1);
	while (team_lap(team, self)) {
		uint64_t start = bench_cycles();

		shared_lap(team, LIFETIMES_LAP, &random);
		team_record(team, self, 0, bench_cycles() - start, LIFETIMES_LAP);
	}
}

#include "mixed.h"
#include "replay.h"

static void burst(void **objs, bool give_way)
{
	for (unsigned i = 0; i < BURST; i++)
		objs[i] = obj_new(i);
	if (give_way)
		sched_yield();
	for (unsigned i = 0; i < BURST; i++)
		OBJ_FREE(objs[i]);
	if (give_way)
		sched_yield();
}

/*
 * Many threads in bursts, giving way with their hands full and empty, so that
 * they really take turns. Measured as a whole: wall time times CPUs over pairs.
 */
static void bursts(struct team *team, unsigned self)
{
	team_measure(team, self, 0, 1);
	while (team_lap(team, self)) {
		for (unsigned i = 0; i < BURSTS; i++)
			burst(own_slots(team, self), true);
		if (self == 0)
			team->wall_ops = (double)BURSTS * BURST * team->threads;
	}
}

/* What is resident once many threads have had their bursts and are idle. */
static void idle(struct team *team, unsigned self)
{
	for (unsigned i = 0; i < BURSTS; i++)
		burst(own_slots(team, self), false);
	team_barrier(team);
	if (self == 0)
		team_memory(team, 0);
	team_barrier(team);
}

static const unsigned bulk_sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, BULK_MAX};
#define BULK_SIZES (sizeof(bulk_sizes) / sizeof(bulk_sizes[0]))

static void singles_lap(void **objs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		objs[i] = obj_new(i);
	for (unsigned i = 0; i < n; i++)
		OBJ_FREE(objs[i]);
}

#ifdef OBJ_ALLOC_BULK
static void bulk_lap(void **objs, unsigned n)
{
	if (OBJ_ALLOC_BULK(n, objs) != n)
		bench_fail("a bulk allocation of %u objects delivered fewer", n);
	for (unsigned i = 0; i < n; i++)
		*(volatile uintptr_t *)objs[i] = i;
	OBJ_FREE_BULK(n, objs);
}
#else
static void bulk_lap(void **objs, unsigned n)
{
	(void)objs;
	bench_fail("there is no bulk operation for %u objects", n);
}
#endif

/* n at a time: by single calls, and by one call. Time is per object. */
static void bulk(struct team *team, unsigned self)
{
	void **objs = own_slots(team, self);

	for (unsigned row = 0; row < (CONTESTANT_HAS_BULK ? 2 : 1) * BULK_SIZES; row++) {
		unsigned n = bulk_sizes[row % BULK_SIZES], rounds = OBJECTS / n;

		team_measure(team, self, row, 1);
		while (team_lap(team, self)) {
			uint64_t start = bench_cycles();

			for (unsigned i = 0; i < rounds; i++) {
				if (row < BULK_SIZES)
					singles_lap(objs, n);
				else
					bulk_lap(objs, n);
			}
			team_record(team, self, 0, bench_cycles() - start, (size_t)rounds * n);
		}
	}
}

#define ROWS(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct bench_case bench_cases[] = {
	{ROWS("cold.alloc", "cold.free"), in_order, 1, OBJECTS, 0, true},
	{ROWS("pair"), pair, 1, 1, 0, false},
	{ROWS("in_order.alloc", "in_order.free"), in_order, 1, OBJECTS, 0, false},
	{ROWS("random.alloc", "random.free"), random_order, 1, OBJECTS, 0, false},
	{ROWS("all.pair"), pair, BENCH_ALL_CPUS, 1, 0, false},
	{ROWS("all.alloc", "all.free"), in_order, BENCH_ALL_CPUS, OBJECTS, 0, false},
	{ROWS("all_to_one.alloc", "all_to_one.free"), all_to_one, BENCH_ALL_CPUS, OBJECTS, 0,
	 false},
	{ROWS("one_to_all.alloc", "one_to_all.free"), one_to_all, BENCH_ALL_CPUS, OBJECTS, 0,
	 false},
	{ROWS("ring.1", "ring.64", "ring.line"), ring_transfer, 2,
	 (RING_BATCHES + 1) * RING_BATCH_MAX, 0, false},
	{ROWS("lifetimes", "memory.live"), lifetimes, 1, BENCH_LIVE_OBJECTS, 0, false},
	{ROWS("lifetimes.shared"), lifetimes_shared, 2, BENCH_LIVE_OBJECTS / 2 + 1, 0, false},
	{ROWS("lifetimes.random", "lifetimes.touched", "memory.random"), mixed_random, 1,
	 PROGRAM_SLOTS, 0, false},
	{ROWS("lifetimes.random_2"), mixed_random, 2, PROGRAM_SLOTS, 0, false},
	{ROWS("lifetimes.zipf"), mixed_zipf, 1, PROGRAM_SLOTS, 0, false},
	{ROWS("lifetimes.burst"), mixed_burst, 1, PROGRAM_SLOTS, 0, false},
	{ROWS("survivors.alloc", "survivors.free"), survivors, 1, BENCH_LIVE_OBJECTS, 0, false},
	{ROWS("threads.64"), bursts, 64, BURST, 0, false},
	{ROWS("threads.2"), bursts, 2, BURST, 0, false},
	{ROWS("memory.idle_64"), idle, 64, BURST, 0, false},
	{ROWS("memory.idle_2"), idle, 2, BURST, 0, false},
	{ROWS("singles.1", "singles.2", "singles.4", "singles.8", "singles.16", "singles.32",
	      "singles.64", "singles.128", "singles.250", "bulk.1", "bulk.2", "bulk.4", "bulk.8",
	      "bulk.16", "bulk.32", "bulk.64", "bulk.128", "bulk.250"),
	 bulk, 1, BULK_MAX, 4, false},
	{ROWS("trace", "trace.elapsed", "memory.trace"), replay, BENCH_OF_TRACE, 0, 0, false},
	{NULL, NULL, 0, 0, 0, false},
};

const struct bench_contestant bench_contestant = {
	.name = CONTESTANT_NAME,
	.has_memory = CONTESTANT_HAS_MEMORY,
	.only_trace = CONTESTANT_ONLY_TRACE,
	.open = contestant_open,
#ifdef TYPED_ALLOC
	.open_trace = contestant_open_trace,
#endif
	.allocator = contestant_allocator,
};
