/* SPDX-License-Identifier: MIT */
/* usage: misuse KIND: one misuse of an object, for valgrind or AddressSanitizer to see. */
#include <slab/malloc.h>
#include <slab/slab.h>
#include <stdio.h>
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

int main(int argc, char **argv)
{
	struct slab_cache *cache = slab_cache_create("entry", 60, NULL, 0);
	const char *kind = argc > 1 ? argv[1] : "";
	volatile char *obj;

	if (strcmp(kind, "fine") == 0)
		return fine(cache);
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
