/* SPDX-License-Identifier: MIT */
/*
 * usage: race correct|racy: two threads that use a cache, for ThreadSanitizer to see. A free and
 * the object's next allocation on another thread are no race; a write to an object of another
 * thread is.
 */
#include <pthread.h>
#include <slab/define.h>
#include <slab/malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 3000
#define OBJECTS 40
#define CACHES 100

struct item {
	unsigned long count;
	struct item *next;
	char text[40];
};

static int construct(void *obj, void *arg)
{
	(void)arg;
	memset(obj, 0, sizeof(struct item));
	return 0;
}

static const struct slab_cache_args constructed = {.ctor = construct};

SLAB_DEFINE_CACHE(item, struct item);
SLAB_DEFINE_CACHE(kept, struct item, 0, &constructed);

static struct item *volatile shared; /* racy: both threads count in it */

static void use(struct item *item, unsigned long round)
{
	item->count = round;
	memset(item->text, (int)round, sizeof(item->text));
}

/*
 * One thread creates caches, some of them in memory that it maps, and an object of each; the other
 * one uses them without having met it at a lock.
 */
static void create_before_use(void)
{
	static int threads, created;
	static struct slab_cache *caches[CACHES];
	const bool is_first = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) == 0;

	for (int i = 0; i < CACHES; i++) {
		char name[20];

		snprintf(name, sizeof(name), "cache-%d", i);
		if (is_first)
			__atomic_store_n(&caches[i], slab_cache_create(name, 64, NULL, 0),
					 __ATOMIC_RELAXED);
		while (!is_first && !__atomic_load_n(&created, __ATOMIC_RELAXED))
			continue;
		memset(slab_alloc(__atomic_load_n(&caches[i], __ATOMIC_RELAXED)), 1, 64);
	}
	__atomic_store_n(&created, 1, __ATOMIC_RELAXED);
}

static void *run(void *is_racy)
{
	struct item *items[OBJECTS];

	create_before_use();
	for (unsigned long round = 0; round < ROUNDS; round++) {
		struct item *one = kept_alloc();
		char *text = slab_malloc(100 + round % 3000);

		for (int i = 0; i < OBJECTS; i++)
			use(items[i] = item_alloc(), round);
		use(one, round);
		memset(text, 1, 100);
		for (int i = 0; i < OBJECTS; i++)
			item_free(items[i]);
		kept_free(one);
		slab_mfree(text);
		if (*(bool *)is_racy)
			shared->count++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool is_racy = argc > 1 && strcmp(argv[1], "racy") == 0;
	pthread_t thread[2];

	shared = item_alloc();
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, run, &is_racy);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	item_free(shared);
	return 0;
}
