/* SPDX-License-Identifier: MIT */
/*
 * The functions of malloc() that take a pointer. Objects of caches reach them from libslapd, and
 * from libraries that free memory of libslapd. Memory that is not libslab's goes to the next
 * malloc(). If that is libslab_malloc.so, all memory is libslab's, and one lookup serves both.
 */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <slab/malloc.h>
#include <slab/pointer.h>

#include "next.h"
#include "options.h"
#include "summary.h"

#define FREES_PER_TICK 64

typedef void (*free_function)(void *ptr);
typedef void *(*realloc_function)(void *ptr, size_t size);
typedef size_t (*usable_function)(void *ptr);

/* Is malloc() libslab_malloc.so? Its free(), which does due work now and then, is not called. */
static bool is_on_libslab;
static __thread int tick __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void start(void)
{
	void *probe = malloc(1);

	options_read();
	is_on_libslab = slab_owns(probe);
	free(probe);
	summary_start();
}

static inline void count_free(void)
{
	if (__builtin_expect(--tick < 0, 0)) {
		tick = FREES_PER_TICK - 1;
		if (is_on_libslab)
			slab_maintain_due();
	}
}

SLAB_API void free(void *ptr)
{
	free_function next;

	if (__builtin_expect(slab_free_any(ptr), 1)) {
		count_free();
		return;
	}
	/* Memory of dlsym() while it looks free() up is not freed. */
	next = (free_function)next_of(NEXT_FREE);
	if (next)
		next(ptr);
}

/* The cache of an object that malloc() does not know; NULL: malloc() does. */
static struct slab_cache *typed_cache(const void *ptr)
{
	struct slab_cache *cache = ptr ? slab_cache_of(ptr) : NULL;

	return cache && strncmp(slab_cache_name(cache), "size-", 5) != 0 ? cache : NULL;
}

/* Memory of malloc() in place of an object. */
static void *replace(void *ptr, size_t old, size_t size)
{
	void *to = malloc(size);

	if (!to)
		return NULL;
	memcpy(to, ptr, old < size ? old : size);
	slab_free_any(ptr);
	return to;
}

SLAB_API void *realloc(void *ptr, size_t size)
{
	struct slab_cache *cache = typed_cache(ptr);
	size_t old;

	if (__builtin_expect(!cache, 1)) {
		realloc_function next = (realloc_function)next_of(NEXT_REALLOC);

		return next ? next(ptr, size) : NULL;
	}
	if (!size) {
		slab_free_any(ptr);
		return NULL;
	}
	old = slab_cache_size(cache);
	return size <= old && size >= old / 2 ? ptr : replace(ptr, old, size);
}

SLAB_API void *reallocarray(void *ptr, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(ptr, bytes);
}

SLAB_API size_t malloc_usable_size(void *ptr)
{
	struct slab_cache *cache = typed_cache(ptr);

	return cache ? slab_cache_size(cache) : ((usable_function)next_of(NEXT_USABLE_SIZE))(ptr);
}
