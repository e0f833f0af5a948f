/* SPDX-License-Identifier: MIT */
/*
 * The process that looks.py looks at. It holds 1,000 objects of the cache "held" while eight
 * threads allocate and free blocks of 1 byte to 64 MiB, create and destroy caches with reserves,
 * and fork, until its input ends.
 */
#include <pthread.h>
#include <slab/malloc.h>
#include <slab/slab.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELD 1000
#define PAUSE_US 500

static struct slab_cache *held;
static void *volatile objects[HELD]; /* read by slabinfo --find-leaks alone */

/* A thread's own random numbers (xorshift, Marsaglia 2003). */
static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void *allocate(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;
	void *blocks[8] = {0};

	for (;; usleep(PAUSE_US)) {
		void **block = &blocks[next(&random) % 8];
		size_t size = 1 + next(&random) % (1u << next(&random) % 27);

		slab_mfree(*block);
		*block = slab_malloc(size);
		slab_free(held, slab_alloc(held));
	}
	return NULL;
}

static void *create(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;
	struct slab_cache_args args = {0};
	char name[16];

	snprintf(name, sizeof(name), "short%u", random);
	for (;; usleep(PAUSE_US)) {
		args.reserve = 1 + next(&random) % 3000;
		if (slab_cache_destroy(slab_cache_create(name, 32, &args, 0)))
			abort();
	}
	return NULL;
}

static void *fork_often(void *seed)
{
	for (;; usleep(100 * PAUSE_US)) {
		pid_t child = fork();

		if (!child) {
			slab_free(held, slab_alloc(held));
			_exit(0);
		}

		int status;

		if (child < 0 || waitpid(child, &status, 0) != child || status)
			abort();
	}
	return seed;
}

int main(void)
{
	void *(*const work[])(void *) = {allocate, allocate, allocate, allocate,
					 allocate, create,   create,   fork_often};
	pthread_t thread;

	held = slab_cache_create("held", 200, NULL, 0);
	for (unsigned i = 0; i < HELD; i++)
		objects[i] = slab_alloc(held);
	for (uintptr_t i = 0; i < sizeof(work) / sizeof(*work); i++)
		if (pthread_create(&thread, NULL, work[i], (void *)(i + 1)))
			return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	_exit(0);
}
