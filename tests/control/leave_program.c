/* SPDX-License-Identifier: MIT */
/* The main thread ends by pthread_exit(): libslab's own work goes on, and calls destructors. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <slab/slab.h>

static atomic_int calls;
static atomic_bool main_is_gone;
static pthread_key_t key;

static void destroy(void *obj, void *arg)
{
	(void)obj;
	(void)arg;
	atomic_fetch_add(&calls, 1);
}

static void note_end(void *arg)
{
	(void)arg;
	atomic_store(&main_is_gone, true);
}

/* The caches' objects are freed after the main thread has ended. */
static void *use_cache(void *arg)
{
	const struct slab_cache_args args = {.dtor = destroy};
	struct slab_cache *cache;

	while (!atomic_load(&main_is_gone))
		usleep(1000);
	usleep(10000); /* other destructors of the main thread's end */
	cache = slab_cache_create("left", 64, &args, SLAB_PANIC);
	slab_free(cache, slab_alloc(cache));
	while (!atomic_load(&calls))
		usleep(1000);
	puts("called");
	exit(0);
	return arg;
}

int main(void)
{
	pthread_t thread;

	alarm(120);
	setenv("SLAB_DECAY_MS", "100", 1);
	slab_cache_create("first", 64, NULL, SLAB_PANIC);
	pthread_key_create(&key, note_end);
	pthread_setspecific(key, &key);
	pthread_create(&thread, NULL, use_cache, NULL);
	pthread_exit(NULL);
}
