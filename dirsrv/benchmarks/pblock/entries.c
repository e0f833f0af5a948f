/* SPDX-License-Identifier: MIT */
/*
 * entry-cache-bench CASE ENTRIES THREADS SECONDS: the cost of a hit in the entry cache.
 *
 * One thread, then THREADS threads look up entries at random; each lookup is a critical section of
 * its own. The output has lines of case,size,metric,value: the number of threads, and the time of a
 * lookup in one thread.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <urcu/urcu-memb.h>

#include <urcu/map/urcu-memb.h>

#include <slab/dirsrv/entry.h>
#include <slab/dirsrv/entry_cache.h>

#define ENTRIES 10000u
#define THREADS_MAX 64
#define BATCH 256
#define EXIT_USAGE 2

static struct dirsrv_entry_pool *pool;
static struct dirsrv_entry_cache *cache;
static struct dirsrv_dn *names[ENTRIES];
static atomic_bool stop;

struct worker {
	pthread_t thread;
	unsigned seed, entries;
	uint64_t lookups;
	double seconds;
};

static void fail(const char *what)
{
	fprintf(stderr, "entry-cache-bench: %s failed\n", what);
	exit(EXIT_FAILURE);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int write_dn(char *text, size_t size, unsigned i)
{
	return snprintf(text, size, "uid=user%u,ou=People,dc=example,dc=com", i);
}

static void add(unsigned i)
{
	static const char mail[] = "givenname.surname@example.com", class[] = "inetOrgPerson";
	const struct dirsrv_pair pairs[] = {
		{{"objectClass", 11}, {class, sizeof(class) - 1}},
		{{"mail", 4}, {mail, sizeof(mail) - 1}},
	};
	char text[80];
	size_t length = (size_t)write_dn(text, sizeof(text), i);
	struct dirsrv_entry *entry = dirsrv_entry_make(pool, text, length, pairs, 2);

	if (!entry || dirsrv_entry_cache_add(cache, entry) != 0)
		fail("making an entry");
	dirsrv_entry_put(entry);
}

static void *look_up(void *arg)
{
	struct worker *worker = arg;
	uint64_t found = 0;
	double begin;

	urcu_memb_register_thread();
	begin = now();
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		for (unsigned i = 0; i < BATCH; i++) {
			worker->seed = worker->seed * 1664525 + 1013904223;
			urcu_memb_read_lock();
			found += dirsrv_entry_cache_lookup(
					 cache, names[(worker->seed >> 8) % worker->entries]) !=
				 NULL;
			urcu_memb_read_unlock();
		}
		worker->lookups += BATCH;
	}
	worker->seconds = now() - begin;
	urcu_memb_unregister_thread();
	if (found != worker->lookups)
		fail("a lookup");
	return NULL;
}

static double measure(unsigned threads, unsigned entries, double seconds)
{
	const struct timespec time = {.tv_sec = (time_t)seconds,
				      .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9)};
	struct worker workers[THREADS_MAX];
	double ns = 0;

	atomic_store(&stop, false);
	for (unsigned t = 0; t < threads; t++) {
		workers[t] = (struct worker){.seed = t + 1, .entries = entries};
		if (pthread_create(&workers[t].thread, NULL, look_up, &workers[t]) != 0)
			fail("starting a thread");
	}
	nanosleep(&time, NULL);
	atomic_store(&stop, true);
	for (unsigned t = 0; t < threads; t++) {
		pthread_join(workers[t].thread, NULL);
		ns += workers[t].seconds / (double)workers[t].lookups * 1e9 / threads;
	}
	return ns;
}

static void begin(void)
{
	char text[80];

	pool = dirsrv_entry_pool_create("bench", &urcu_memb_flavor);
	cache = pool ? dirsrv_entry_cache_create(pool, DIRSRV_ENTRY_CACHE_UNLIMITED, ENTRIES)
		     : NULL;
	if (!cache)
		fail("making the cache");
	for (unsigned i = 0; i < ENTRIES; i++) {
		names[i] = dirsrv_dn_make(pool, text, (size_t)write_dn(text, sizeof(text), i));
		if (!names[i])
			fail("making a DN");
	}
	for (unsigned i = 0; i < ENTRIES; i++)
		add(i);
}

int main(int argc, char **argv)
{
	unsigned entries = argc == 5 ? (unsigned)atoi(argv[2]) : 0;
	unsigned threads = argc == 5 ? (unsigned)atoi(argv[3]) : 0;

	if (!entries || entries > ENTRIES || !threads || threads > THREADS_MAX ||
	    atof(argv[4]) <= 0) {
		fprintf(stderr, "usage: entry-cache-bench CASE ENTRIES THREADS SECONDS\n");
		return EXIT_USAGE;
	}
	urcu_memb_register_thread();
	begin();
	printf("%s,1,time,%.2f\n", argv[1], measure(1, entries, atof(argv[4])));
	if (threads > 1)
		printf("%s,%u,time,%.2f\n", argv[1], threads,
		       measure(threads, entries, atof(argv[4])));
	urcu_memb_unregister_thread();
	return EXIT_SUCCESS;
}
