/* SPDX-License-Identifier: MIT */
/*
 * rcu: two producers allocate and free as fast as they can.
 *
 *   memory-rcu HOW SECONDS
 *
 * HOW they free: "free": slab_free(); "rcu": slab_free_rcu() outside of read-side critical
 * sections; "section": within short ones; "queue": slab_free(), but as many objects later
 * as may wait for a grace period: what it costs by itself that objects are not used again
 * at once. The main thread prints, ten times a second, seconds and objects that wait,
 * and in the end how many were freed.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <urcu/urcu-memb.h>

#include <urcu/map/urcu-memb.h>

#include <slab/rcu.h>
#include <slab/stats.h>

#define EXIT_USAGE 2
#define PRODUCERS 2
#define OBJECT_BYTES 240
#define WAITING (((size_t)4 << 20) / OBJECT_BYTES) /* when slab_free_rcu() begins to help */
#define SECTION 16     /* frees in one critical section */
#define BATCH 1024     /* operations from look to look at the clock */
#define SAMPLE_NS 100000000
#define SECOND_NS 1e9

static struct slab_cache *cache;
static atomic_bool stop;
static _Atomic uint64_t freed;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / SECOND_NS;
}

static uint64_t *make(void)
{
	uint64_t *obj = slab_alloc(cache);

	if (!obj) {
		fprintf(stderr, "memory-rcu: no memory\n");
		exit(EXIT_FAILURE);
	}
	*obj = 1;
	return obj;
}

static void by_free(void)
{
	for (int i = 0; i < BATCH; i++)
		slab_free(cache, make());
}

static void by_rcu(void)
{
	for (int i = 0; i < BATCH; i++)
		slab_free_rcu(cache, make());
}

static void by_section(void)
{
	for (int i = 0; i < BATCH / SECTION; i++) {
		urcu_memb_read_lock();
		for (int j = 0; j < SECTION; j++)
			slab_free_rcu(cache, make());
		urcu_memb_read_unlock();
	}
}

static void by_queue(void)
{
	static _Thread_local void *queue[WAITING / PRODUCERS];
	static _Thread_local size_t next;

	for (int i = 0; i < BATCH; i++) {
		slab_free(cache, queue[next]);
		queue[next] = make();
		next = (next + 1) % (WAITING / PRODUCERS);
	}
}

static const struct way {
	const char *name;
	void (*batch)(void);
} ways[] = {{"free", by_free}, {"rcu", by_rcu}, {"section", by_section}, {"queue", by_queue}};

static const struct way *find_way(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(name, ways[i].name) == 0)
			return &ways[i];
	return NULL;
}

static void *produce(void *arg)
{
	const struct way *way = arg;

	urcu_memb_register_thread();
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		way->batch();
		atomic_fetch_add_explicit(&freed, BATCH, memory_order_relaxed);
	}
	urcu_memb_unregister_thread();
	return NULL;
}

static uint64_t waiting(void)
{
	uint64_t value = 0;

	slab_stat_read(cache, "rcu_pending", &value);
	return value;
}

static void watch(double begin, double seconds)
{
	const struct timespec pause = {.tv_nsec = SAMPLE_NS};

	while (now() - begin < seconds) {
		nanosleep(&pause, NULL);
		printf("%.2f %" PRIu64 "\n", now() - begin, waiting());
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const struct way *way = argc == 3 ? find_way(argv[1]) : NULL;
	double seconds = argc == 3 ? atof(argv[2]) : 0, begin;
	struct slab_cache_args args = {.rcu = &urcu_memb_flavor};
	pthread_t producer[PRODUCERS];

	if (!way || seconds <= 0 || seconds > 3600) {
		fprintf(stderr, "usage: memory-rcu free|rcu|section|queue SECONDS\n");
		return EXIT_USAGE;
	}
	cache = slab_cache_create("rcu", OBJECT_BYTES, &args, 0);
	if (!cache) {
		perror("memory-rcu: slab_cache_create");
		return EXIT_FAILURE;
	}
	begin = now();
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producer[i], NULL, produce, (void *)way);
	watch(begin, seconds);
	printf("freed %.3f %" PRIu64 "\n", now() - begin, atomic_load(&freed));
	fflush(stdout);
	atomic_store(&stop, true);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producer[i], NULL);
	slab_rcu_barrier(cache);
	return EXIT_SUCCESS;
}
