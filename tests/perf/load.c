/* SPDX-License-Identifier: MIT */
/*
 * A program that leaves the fast paths: one thread allocates objects, another one frees them. It
 * runs for as many rounds as its argument says; 0: until it is killed.
 */
#include <pthread.h>
#include <slab/define.h>
#include <slab/malloc.h>
#include <stdlib.h>

#define OBJECTS 4096u
#define LARGE 1000000u

struct item {
	char bytes[120];
};
SLAB_DEFINE_CACHE(item, struct item);

static struct item *items[OBJECTS];

static void *free_all(void *arg)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		item_free(items[i]);
	return arg;
}

static int round_trip(void)
{
	pthread_t thread;

	for (unsigned i = 0; i < OBJECTS; i++)
		items[i] = item_alloc();
	slab_mfree(slab_malloc(LARGE));
	if (pthread_create(&thread, NULL, free_all, NULL) != 0)
		return 1;
	return pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	for (long i = 0; i < rounds || rounds == 0; i++)
		if (round_trip() != 0)
			return 1;
	return 0;
}
