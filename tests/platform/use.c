/* SPDX-License-Identifier: MIT */
/*
 * A program of a user, on a C library or a kernel that libslab is not developed on: objects of
 * several caches there and back, by several threads; frees on other threads; revocation by
 * shrinking. With the argument "overflow" it damages an object, whose free is reported; with "stay"
 * it waits with ten objects for the end of its input. Prints the engine.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/slab.h>

enum { THREADS = 4, OBJECTS = 2000, ROUNDS = 50 };

static struct slab_cache *cache;
/* What a thread hands to the next one, which frees it. */
static void *passed_on[THREADS][OBJECTS];
static pthread_barrier_t barrier;

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "use: %s\n", what);
	exit(1);
}

static void fill(void **objects, size_t mark)
{
	for (size_t i = 0; i < OBJECTS; i++) {
		size_t *object = slab_alloc(cache);

		require(object != NULL, "an allocation failed");
		object[0] = mark;
		object[7] = i;
		objects[i] = object;
	}
}

static void check_and_free(void **objects, size_t mark)
{
	for (size_t i = 0; i < OBJECTS; i++) {
		size_t *object = objects[i];

		require(object[0] == mark && object[7] == i, "an object was handed out twice");
		slab_free(cache, object);
	}
}

static void *thread(void *arg)
{
	const size_t me = (size_t)arg, other = (me + 1) % THREADS;

	for (size_t round = 0; round < ROUNDS; round++) {
		void *large = slab_malloc(100000);

		require(large != NULL, "a large allocation failed");
		memset(large, 1, 100000);
		fill(passed_on[me], me);
		pthread_barrier_wait(&barrier);
		check_and_free(passed_on[other], other);
		require(slab_cache_shrink(cache) >= 0, "shrinking failed");
		slab_free_sized(large, 100000);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, thread, (void *)i) == 0, "no thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Not inlined: its name is looked for in the report. */
__attribute__((noinline)) void overflow(void);

void overflow(void)
{
	struct slab_cache *victims = slab_cache_create("victim", 24, NULL, 0);
	char *object = slab_alloc(victims);

	require(object != NULL, "an allocation failed");
	*(volatile char *)(object + 24) = 0;
	slab_free(victims, object);
}

static void stay(void)
{
	void *volatile block = malloc(1000); /* libslab_malloc.so's, if that is there */

	for (int i = 0; i < 10; i++)
		require(slab_alloc(cache) != NULL, "an allocation failed");
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	free(block);
}

int main(int argc, char **argv)
{
	cache = slab_cache_create("entry", 64, NULL, 0);
	require(cache != NULL, "no cache");
	if (argc > 1 && strcmp(argv[1], "stay") == 0) {
		stay();
		return 0;
	}
	run_threads();
	require(slab_cache_validate(cache) == 0, "validation found damage");
	require(slab_cache_destroy(cache) == 0, "objects are left");
	if (argc > 1 && strcmp(argv[1], "overflow") == 0)
		overflow();
	puts(slab_engine());
	return 0;
}
