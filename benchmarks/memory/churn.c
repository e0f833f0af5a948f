/* SPDX-License-Identifier: MIT */
/*
 * churn: a day of a directory server in minutes.
 *
 * The mix is that of 389-ds's "Memory Usage Research": ldclt with add, delete, modify,
 * search on uid and search on seealso, two threads of each, pictures of 28 B, 3.5 KB and
 * 1.5 MB in turn at random, and searches of everything, which evict the entry cache.
 * The day has 24 hours, each begins with such a search, beside the other operations. Every
 * operation is due at its time of the day, and an hour is over when all have done their
 * part of it: a fast contestant does no more than a slow one, and all do the same in about
 * the same order, on a busy machine as well.
 *
 * An operation allocates what ns-slapd's do: pblocks, an operation, small strings, and a
 * buffer for what goes over the wire.
 *
 * The database is no memory: an entry is made out of its id when it is not in the cache.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "cache.h"
#include "team.h"

#define THREADS 10u
#define HOURS 24u
#define OPS_PER_SECOND 4000u  /* of all threads */
#define IDS 24000u
#define LDCLT_IDS 1500u       /* the first ones: added, deleted, modified, and with photos */
#define CACHE_BYTES ((size_t)256 << 20)
#define SEE_ALSO 8            /* entries that a search on seealso finds */
#define PBLOCKS 12            /* of an operation, a third of them at a time */
#define STRINGS 64
#define SLACK_NS 2000000      /* do not sleep for less */
#define SECOND_NS 1000000000

static _Atomic unsigned char photos[LDCLT_IDS]; /* PHOTO_NONE: deleted */
static pthread_barrier_t hour_over;
static uint64_t ops_per_hour; /* of one thread */
static uint64_t begin_ns, day_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec due = {.tv_sec = (time_t)(ns / SECOND_NS),
			       .tv_nsec = (long)(ns % SECOND_NS)};

	if (now_ns() + SLACK_NS < ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static enum photo random_photo(uint64_t *random)
{
	return PHOTO_28 + bench_random(random) % (PHOTOS - PHOTO_28);
}

static bool exists(unsigned id)
{
	return id >= LDCLT_IDS || photos[id] != PHOTO_NONE;
}

static enum photo photo_of(unsigned id)
{
	return id < LDCLT_IDS ? photos[id] : PHOTO_NONE;
}

/* --- what every operation costs ------------------------------------------------------------ */

static void use_pblocks(void)
{
	void *pblocks[PBLOCKS / 3];

	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < PBLOCKS / 3; i++) {
			pblocks[i] = contestant_alloc(TYPE_PBLOCK);
			bench_touch(pblocks[i], types[TYPE_PBLOCK].size);
		}
		for (int i = 0; i < PBLOCKS / 3; i++)
			contestant_free(TYPE_PBLOCK, pblocks[i]);
	}
}

static void use_strings(uint64_t *random)
{
	void *strings[STRINGS];

	for (int i = 0; i < STRINGS; i++) {
		size_t size = record_small_size(bench_random(random));

		strings[i] = contestant_malloc(size);
		bench_touch(strings[i], size);
	}
	for (int i = 0; i < STRINGS; i++)
		contestant_mfree(strings[i]);
}

/* What comes or goes over the wire: the entry with its picture. */
static void use_buffer(unsigned id, enum photo photo)
{
	size_t size = record_bytes(id, photo) / 2 + record_photo_size(photo) / 2;
	void *buffer = contestant_malloc(size);

	bench_touch(buffer, size);
	contestant_mfree(buffer);
}

static void send_entry(unsigned id)
{
	struct record *record;

	if (!exists(id))
		return;
	record = cache_get(id, photo_of(id));
	use_buffer(id, record->photo);
	cache_put(record);
}

/* --- ldclt ------------------------------------------------------------------------------------ */

static void op_add(uint64_t *random)
{
	unsigned id = (unsigned)(bench_random(random) % LDCLT_IDS);
	enum photo photo = random_photo(random);

	use_buffer(id, photo);
	if (exists(id))
		return;
	photos[id] = (unsigned char)photo;
	cache_replace(id, photo);
}

static void op_delete(uint64_t *random)
{
	unsigned id = (unsigned)(bench_random(random) % LDCLT_IDS);

	if (!exists(id))
		return;
	cache_put(cache_get(id, photo_of(id)));
	photos[id] = PHOTO_NONE;
	cache_remove(id);
}

static void op_modify(uint64_t *random)
{
	unsigned id = (unsigned)(bench_random(random) % LDCLT_IDS);
	enum photo photo = random_photo(random);

	use_buffer(id, photo);
	if (!exists(id))
		return;
	cache_put(cache_get(id, photo_of(id)));
	photos[id] = (unsigned char)photo;
	cache_replace(id, photo);
}

static void op_search_uid(uint64_t *random)
{
	send_entry((unsigned)(bench_random(random) % IDS));
}

static void op_search_seealso(uint64_t *random)
{
	for (int i = 0; i < SEE_ALSO; i++)
		send_entry((unsigned)(bench_random(random) % IDS));
}

static void do_operation(unsigned self, uint64_t *random)
{
	static void (*const ops[])(uint64_t *) = {op_add, op_delete, op_modify, op_search_uid,
						  op_search_seealso};
	void *operation = contestant_alloc(TYPE_OPERATION);

	bench_touch(operation, types[TYPE_OPERATION].size);
	use_pblocks();
	use_strings(random);
	ops[self % 5](random);
	contestant_free(TYPE_OPERATION, operation);
}

static void client(unsigned self)
{
	uint64_t random = bench_mix(self);

	for (uint64_t i = 0; i < ops_per_hour * HOURS; i++) {
		do_operation(self, &random);
		sleep_until(begin_ns + day_ns * (i + 1) / (ops_per_hour * HOURS));
		if ((i + 1) % ops_per_hour == 0)
			pthread_barrier_wait(&hour_over);
	}
}

static void search_all(void)
{
	for (unsigned id = 0; id < IDS; id++)
		send_entry(id);
}

void churn_run(unsigned seconds)
{
	uint64_t random = bench_mix(THREADS);

	ops_per_hour = (uint64_t)seconds * OPS_PER_SECOND / THREADS / HOURS;
	day_ns = (uint64_t)seconds * SECOND_NS;
	record_layout(TYPES);
	cache_begin(IDS, CACHE_BYTES, THREADS + 1);
	for (unsigned id = 0; id < LDCLT_IDS; id++)
		photos[id] = id % 2 ? PHOTO_NONE : (unsigned char)random_photo(&random);
	pthread_barrier_init(&hour_over, NULL, THREADS + 1);
	team_begin(THREADS);
	bench_hold("start");
	begin_ns = now_ns();
	team_start(client);
	for (unsigned hour = 1; hour <= HOURS; hour++) {
		search_all();
		bench_say("moved %ld", contestant_defrag());
		pthread_barrier_wait(&hour_over);
		bench_say("hour %u", hour);
	}
	team_wait();
	bench_hold("end");
}
