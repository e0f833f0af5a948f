/* SPDX-License-Identifier: MIT */
/*
 * What two directory servers ask malloc for: sizes, lifetimes and the share of frees on another
 * thread, as counted in ns-slapd 2.3.1 (316 mallocs an operation) and slapd 2.5.13 (18.8) under a
 * mix of searches, modifies, adds and deletes. Structs whose size is known stand alone, since
 * their lifetimes differ from those of the strings beside them.
 *
 * A worker draws a block of the table for each allocation. The block lives for as many further
 * allocations of that worker as its class says; then the worker frees it, or hands it to the
 * next worker, which frees what it got after each operation.
 */

#include "bench.h"

/* --- the tables ------------------------------------------------------------------------------- */

enum life { INSTANT, CALL, OPERATION, QUEUE, KEPT, LIVES };

/* In allocations of the worker: 1 us, 33 us, 0.5 ms and 8 ms of a server that does 316 in 250 us.
 * KEPT: until another one takes its place in the entry cache. */
static const struct {
	unsigned low, high;
} lives[LIVES] = {{1, 2}, {3, 42}, {43, 630}, {631, 10000}, {0, 0}};

struct kind {
	unsigned share; /* of 1000 allocations */
	unsigned low, high; /* bytes */
	unsigned life[LIVES]; /* per cent */
	unsigned remote; /* per cent freed by another thread, of those that live */
};

#define STRING_LIFE {46, 25, 14, 14, 1}

static const struct kind ns_slapd[] = {
	{405, 4, 16, STRING_LIFE, 11},
	{105, 17, 32, STRING_LIFE, 11},
	{65, 33, 64, STRING_LIFE, 11},
	{101, 65, 128, STRING_LIFE, 11},
	{17, 129, 256, STRING_LIFE, 11},
	{12, 257, 512, STRING_LIFE, 11},
	{20, 513, 1024, STRING_LIFE, 11},
	{6, 1025, 4096, STRING_LIFE, 11},
	{2, 4097, 16384, STRING_LIFE, 11},
	{38, 88, 88, {0, 50, 50, 0, 0}, 0}, /* pblock */
	{30, 72, 72, {0, 50, 50, 0, 0}, 0}, /* its part for internal operations' plugins */
	{4, 200, 200, {0, 0, 100, 0, 0}, 0}, /* and for internal operations */
	{16, 16, 48, {0, 0, 0, 100, 0}, 100}, /* extension of an operation: listener to worker */
	{60, 40, 40, {0, 50, 0, 50, 0}, 6}, /* DN */
	{79, 32, 32, {0, 32, 19, 19, 30}, 13}, /* value */
	{37, 136, 136, {0, 0, 0, 0, 100}, 22}, /* attribute */
	{2, 184, 184, {0, 0, 0, 0, 100}, 24}, /* entry */
	{1, 112, 112, {0, 0, 0, 0, 100}, 52}, /* backend's entry */
	{0, 0, 0, {0}, 0},
};

#define CALL_LIFE {22, 36, 29, 13, 0}

static const struct kind slapd[] = {
	{170, 4, 16, CALL_LIFE, 0},
	{320, 17, 32, CALL_LIFE, 0},
	{120, 33, 64, CALL_LIFE, 0},
	{17, 65, 128, CALL_LIFE, 0},
	{53, 80, 80, {0, 0, 0, 100, 0}, 79}, /* BerElement: one thread reads ahead for another */
	{20, 129, 256, CALL_LIFE, 0},
	{7, 257, 512, CALL_LIFE, 0},
	{101, 392, 392, {0, 0, 100, 0, 0}, 0}, /* LMDB's cursors */
	{186, 888, 888, {0, 0, 100, 0, 0}, 0},
	{2, 513, 1024, CALL_LIFE, 0},
	{3, 1025, 4096, CALL_LIFE, 0},
	{1, 4097, 65000, {0, 0, 100, 0, 0}, 0},
	{0, 0, 0, {0}, 0},
};

/* --- drawn before the measurement ------------------------------------------------------------- */

#define DRAWS 16384u

struct draw {
	uint32_t life; /* 0: kept */
	uint16_t size;
	bool remote, grows;
};

static struct draw *draws;

static enum life draw_life(const struct kind *kind, unsigned share)
{
	unsigned life = 0;

	while (life < KEPT && share >= kind->life[life])
		share -= kind->life[life++];
	return life;
}

static void draw_one(struct draw *draw, const struct kind *kind, uint64_t *random)
{
	uint64_t r = bench_random(random);
	unsigned share = r % 1000;
	enum life life;

	while (share >= kind->share)
		share -= (kind++)->share;
	r = bench_random(random);
	draw->size = (uint16_t)(kind->low + r % (kind->high - kind->low + 1));
	life = draw_life(kind, (r >> 20) % 100);
	if (life != KEPT)
		draw->life = (uint32_t)(lives[life].low +
					(r >> 32) % (lives[life].high - lives[life].low + 1));
	r = bench_random(random);
	draw->remote = life != INSTANT && r % 100 < kind->remote;
	draw->grows = kind->low < kind->high && (r >> 20) % 100 == 0; /* strings */
}

/* --- workers ---------------------------------------------------------------------------------- */

#define WORKERS 16u
#define ALLOCATIONS 16000000u /* of all workers */
#define WHEEL 16384u /* more than the longest lifetime */
#define CACHE 12000u /* blocks that a worker's entries keep */
#define MAIL 4096u

struct waiting {
	void *block;
	uint32_t next; /* waits for the same moment, 0: none */
	bool remote;
};

struct worker {
	uint32_t wheel[WHEEL]; /* by the moment of their end */
	struct waiting waiting[WHEEL];
	uint32_t unused; /* of waiting */
	void *cache[CACHE];
	pthread_mutex_t lock;
	unsigned mailed;
	void *mail[MAIL];
};

static struct worker *workers;
static unsigned per_operation;

static void prepare(const struct kind *kinds, unsigned mallocs)
{
	uint64_t random = bench_seed(0);

	per_operation = mallocs;
	draws = bench_map(DRAWS * sizeof(*draws));
	for (unsigned i = 0; i < DRAWS; i++)
		draw_one(&draws[i], kinds, &random);
	workers = bench_map(WORKERS * sizeof(*workers));
	for (unsigned w = 0; w < WORKERS; w++) {
		pthread_mutex_init(&workers[w].lock, NULL);
		for (uint32_t i = 1; i < WHEEL; i++)
			workers[w].waiting[i].next = i + 1 < WHEEL ? i + 1 : 0;
		workers[w].unused = 1;
	}
}

static void prepare_ns_slapd(void)
{
	prepare(ns_slapd, 316);
}

static void prepare_slapd(void)
{
	prepare(slapd, 19);
}

/* A mailbox that is full takes nothing: the worker before it frees the block itself. */
static void end_block(unsigned self, void *block, bool remote)
{
	struct worker *other = &workers[(self + 1) % WORKERS];
	bool taken = false;

	if (remote) {
		pthread_mutex_lock(&other->lock);
		if (other->mailed < MAIL) {
			other->mail[other->mailed++] = block;
			taken = true;
		}
		pthread_mutex_unlock(&other->lock);
	}
	if (!taken)
		free(block);
}

static void end_moment(unsigned self, struct worker *worker, size_t now)
{
	uint32_t *slot = &worker->wheel[now % WHEEL];

	while (*slot) {
		struct waiting *waiting = &worker->waiting[*slot];
		uint32_t at = *slot;

		*slot = waiting->next;
		end_block(self, waiting->block, waiting->remote);
		waiting->next = worker->unused;
		worker->unused = at;
	}
}

static void wait_for(struct worker *worker, void *block, const struct draw *draw, size_t now)
{
	uint32_t *slot = &worker->wheel[(now + draw->life) % WHEEL];
	uint32_t at = worker->unused;
	struct waiting *waiting = &worker->waiting[at];

	if (at == 0)
		bench_fail("too many blocks wait");
	worker->unused = waiting->next;
	*waiting = (struct waiting){block, *slot, draw->remote};
	*slot = at;
}

static void read_mail(struct worker *worker)
{
	void *mail[64];
	unsigned n;

	do {
		pthread_mutex_lock(&worker->lock);
		n = worker->mailed < 64 ? worker->mailed : 64;
		worker->mailed -= n;
		memcpy(mail, worker->mail + worker->mailed, n * sizeof(*mail));
		pthread_mutex_unlock(&worker->lock);
		for (unsigned i = 0; i < n; i++)
			free(mail[i]);
	} while (n == 64);
}

static void work(unsigned self)
{
	struct worker *worker = &workers[self];
	uint64_t random = bench_seed(self);
	size_t total = bench_work(ALLOCATIONS / WORKERS);

	for (size_t now = 0; now < total; now++) {
		const struct draw *draw = &draws[(now + (size_t)self * 997) % DRAWS];
		void *block = bench_malloc(draw->size);

		if (draw->grows)
			block = bench_check(realloc(block, draw->size * (size_t)2), draw->size);
		end_moment(self, worker, now);
		if (draw->life) {
			wait_for(worker, block, draw, now);
		} else {
			void **place = &worker->cache[bench_random(&random) % CACHE];

			if (*place)
				end_block(self, *place, draw->remote);
			*place = block;
		}
		if (now % per_operation == 0)
			read_mail(worker);
	}
	for (size_t now = total; now < total + WHEEL; now++)
		end_moment(self, worker, now);
	for (unsigned i = 0; i < CACHE; i++)
		free(worker->cache[i]);
}

static void directory(void)
{
	bench_team(WORKERS, work);
	for (unsigned w = 0; w < WORKERS; w++)
		read_mail(&workers[w]);
}

const struct bench_case directory_cases[] = {
	{"directory.ns-slapd", prepare_ns_slapd, directory, false},
	{"directory.slapd", prepare_slapd, directory, false},
	{NULL, NULL, NULL, false},
};
