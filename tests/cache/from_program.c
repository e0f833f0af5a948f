/* SPDX-License-Identifier: MIT */
/* A program with wrappers around libslab: call sites are those of the wrappers' callers. */
#include <stdio.h>

#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/pointer.h>
#include <slab/slab.h>

#define NOINLINE __attribute__((noinline))
/* After a call: it is not the last one, which would be a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static const void *passed;
static unsigned failures;

static NOINLINE void *wrapper(struct slab_cache *cache)
{
	void *obj;

	passed = __builtin_return_address(0);
	obj = cache ? slab_alloc_from(cache, passed) : slab_malloc_from(100, passed);
	NO_TAIL_CALL();
	return obj;
}

static NOINLINE void *wrapper_of_wrapper(struct slab_cache *cache)
{
	void *obj;

	passed = __builtin_return_address(0);
	obj = slab_alloc_from(cache, passed);
	NO_TAIL_CALL();
	return obj;
}

static NOINLINE void *middle(struct slab_cache *cache)
{
	void *obj = wrapper_of_wrapper(cache);

	NO_TAIL_CALL();
	return obj;
}

static NOINLINE void *server(struct slab_cache *cache)
{
	void *obj = wrapper(cache);

	NO_TAIL_CALL();
	return obj;
}

static int take_site(const struct slab_call_site *site, void *arg)
{
	*(struct slab_call_site *)arg = *site;
	return 1;
}

/* The only object of the cache has this call site, with its callers. */
static void expect_site(struct slab_cache *cache, const void *frame, const char *what)
{
	struct slab_call_site site = {0};

	if (slab_cache_traces(cache, SLAB_TRACES_ALLOCATED, 0, take_site, &site) == 1 &&
	    site.count == 1 && site.frame[0] == frame && site.frames > 1)
		return;
	printf("%s: %u frames from %p, expected %p\n", what, site.frames, site.frame[0], frame);
	failures++;
}

int main(void)
{
	struct slab_cache *cache = slab_cache_create("from", 64, NULL, SLAB_STORE_USER);
	void *obj;

	obj = server(cache);
	expect_site(cache, passed, "a wrapper");
	slab_free(cache, obj);

	obj = middle(cache);
	expect_site(cache, passed, "another wrapper");
	slab_free(cache, obj);

	obj = slab_malloc(100);
	cache = slab_cache_of(obj);
	slab_mfree(obj);
	slab_cache_debug(cache, SLAB_STORE_USER);
	obj = server(NULL);
	expect_site(cache, passed, "memory by size");
	slab_mfree(obj);
	return failures != 0;
}
