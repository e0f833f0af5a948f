/* SPDX-License-Identifier: MIT */
/* usage: misuse KIND: one misuse of an object, for valgrind or AddressSanitizer to see. */
#include <pthread.h>
#include <slab/malloc.h>
#include <slab/slab.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int construct(void *obj, void *arg)
{
	(void)arg;
	memset(obj, 7, 60);
	return 0;
}

/* Nothing wrong: every function once, objects used again. */
static int fine(struct slab_cache *cache)
{
	const struct slab_cache_args args = {.ctor = construct};
	struct slab_cache *constructed = slab_cache_create("constructed", 60, &args, 0);
	void *objs[2000];
	int sum = 0;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2000; i++) {
			objs[i] = slab_alloc(cache);
			memset(objs[i], i, 60);
		}
		for (int i = 0; i < 2000; i++)
			slab_free(cache, objs[i]);
	}
	slab_alloc_bulk(constructed, SLAB_ALLOC_FULL, 100, objs);
	for (int i = 0; i < 100; i++)
		sum += ((char *)objs[i])[59];
	slab_free_bulk(constructed, 100, objs);

	char *p = slab_malloc(18), *large = slab_malloc(100000);

	memset(p, 1, 18);
	p = slab_realloc(p, 30);
	p[29] = p[0];
	p = slab_realloc(p, 300);
	p[299] = p[29];
	sum += p[299];
	large[99999] = 1;
	slab_mfree(large);
	slab_mfree(p);
	slab_cache_validate(cache);
	slab_cache_shrink(cache);
	slab_cache_destroy(constructed);
	slab_cache_destroy(cache);
	return sum == 701 ? 0 : 1;
}

static struct slab_cache *cache_elsewhere;

static void *run_elsewhere(void *obj)
{
	slab_free(cache_elsewhere, obj);
	return NULL;
}

static void free_elsewhere(struct slab_cache *cache, void *obj)
{
	pthread_t thread;

	cache_elsewhere = cache;
	if (pthread_create(&thread, NULL, run_elsewhere, obj) == 0)
		pthread_join(thread, NULL);
}

/* The wrong frees of docs/hunting-corruption.md; 2: not one of them. */
static int free_wrongly(struct slab_cache *cache, const char *kind)
{
	void *obj = slab_alloc(cache), *other = slab_alloc(cache);
	static char global[128];
	char local[128];
	void *volatile wrong = NULL;

	if (strcmp(kind, "in-turns") == 0) {
		for (int i = 0; i < 10; i++)
			slab_free(cache, i % 2 ? obj : other);
		return 0;
	}
	if (strcmp(kind, "twice") == 0 || strcmp(kind, "twice-apart") == 0 ||
	    strcmp(kind, "elsewhere") == 0 || strcmp(kind, "after-shrink") == 0)
		wrong = obj;
	else if (strcmp(kind, "into") == 0)
		wrong = (char *)obj + 8;
	else if (strcmp(kind, "of-another") == 0)
		wrong = slab_alloc(slab_cache_create("another", 60, NULL, 0));
	else if (strcmp(kind, "of-stack") == 0)
		wrong = local + 64;
	else if (strcmp(kind, "of-global") == 0)
		wrong = global + 64;
	else if (strcmp(kind, "of-malloc") == 0)
		wrong = malloc(100);
	else if (strcmp(kind, "wild") == 0)
		wrong = (void *)(uintptr_t)0x123456789000;
	else
		return 2;
	if (wrong == obj)
		slab_free(cache, wrong);
	if (strcmp(kind, "twice-apart") == 0 || strcmp(kind, "after-shrink") == 0)
		slab_free(cache, other);
	if (strcmp(kind, "after-shrink") == 0)
		slab_cache_shrink(cache);
	if (strcmp(kind, "elsewhere") == 0)
		free_elsewhere(cache, wrong);
	else
		slab_free(cache, wrong);
	return 0;
}

int main(int argc, char **argv)
{
	struct slab_cache *cache = slab_cache_create("entry", 60, NULL, 0);
	const char *kind = argc > 1 ? argv[1] : "";
	volatile char *obj;

	if (strcmp(kind, "fine") == 0)
		return fine(cache);
	if (strncmp(kind, "free-", 5) == 0)
		return free_wrongly(cache, kind + 5);
	obj = slab_alloc(cache);
	if (strcmp(kind, "uninitialised") == 0)
		return obj[3] ? 3 : 4;
	if (strcmp(kind, "beyond") == 0)
		return obj[60];
	if (strcmp(kind, "before") == 0)
		return obj[-1];
	if (strcmp(kind, "malloc-beyond") == 0)
		return ((volatile char *)slab_malloc(18))[19];
	if (strcmp(kind, "leak") == 0) {
		obj = NULL;
		return 0;
	}
	slab_free(cache, (void *)obj);
	if (strcmp(kind, "after-free") == 0)
		return obj[3];
	fprintf(stderr, "misuse: no kind '%s'\n", kind);
	return 2;
}
