/* SPDX-License-Identifier: MIT */
/*
 * A preload for a converted server on the C library's malloc: it counts the objects of caches that
 * reach free() or realloc(), which the conversion should have led to their cache. They are freed
 * properly. At the end of the process it writes to stderr how many there were; the first one of
 * each cache at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <slab/pointer.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CACHES 64

extern void __libc_free(void *ptr);
extern void *__libc_realloc(void *ptr, size_t size);

static atomic_ulong frees, untyped;
static _Atomic(struct slab_cache *) reported[MOST_CACHES];
static __thread bool within;

static bool is_first(struct slab_cache *cache)
{
	for (int i = 0; i < MOST_CACHES; i++) {
		struct slab_cache *none = NULL;

		if (atomic_compare_exchange_strong(&reported[i], &none, cache))
			return true;
		if (none == cache)
			return false;
	}
	return false;
}

static void report(struct slab_cache *cache, const void *caller)
{
	char line[200];
	int length =
		snprintf(line, sizeof(line), "untyped: free() of an object of %s, called at %p\n",
			 slab_cache_name(cache), caller);

	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

/* The cache of a pointer, counted as untyped. libslab itself calls free(), too. */
static struct slab_cache *owner(void *ptr, const void *caller)
{
	struct slab_cache *cache = NULL;

	if (within || !ptr)
		return NULL;
	within = true;
	atomic_fetch_add_explicit(&frees, 1, memory_order_relaxed);
	cache = slab_cache_of(ptr);
	if (cache) {
		atomic_fetch_add_explicit(&untyped, 1, memory_order_relaxed);
		if (is_first(cache))
			report(cache, caller);
	}
	within = false;
	return cache;
}

SLAB_API void free(void *ptr)
{
	int error = errno;

	if (owner(ptr, __builtin_return_address(0)))
		slab_free_any(ptr);
	else
		__libc_free(ptr);
	errno = error;
}

SLAB_API void *realloc(void *ptr, size_t size)
{
	struct slab_cache *cache = owner(ptr, __builtin_return_address(0));
	size_t old = cache ? slab_cache_size(cache) : 0;
	void *moved;

	if (!cache)
		return __libc_realloc(ptr, size);
	moved = malloc(size);
	if (!moved)
		return NULL;
	memcpy(moved, ptr, old < size ? old : size);
	slab_free_any(ptr);
	return moved;
}

__attribute__((destructor)) static void at_exit(void)
{
	dprintf(STDERR_FILENO, "untyped: %lu of %lu frees were of typed objects\n", untyped, frees);
}
