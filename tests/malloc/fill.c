/* SPDX-License-Identifier: MIT */
/*
 * Allocates blocks until there is no memory, and prints how many KiB it got.
 * usage: malloc_fill SIZE; malloc_fill_typed SIZE, with objects of a cache
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST ((size_t)2 << 30)

#ifdef TYPED
#include <slab/slab.h>

static struct slab_cache *cache;

static void *get(size_t size)
{
	if (!cache)
		cache = slab_cache_create("filled", size, NULL, 0);
	return cache ? slab_alloc(cache) : NULL;
}
#else
static void *get(size_t size)
{
	return malloc(size);
}
#endif

int main(int argc, char **argv)
{
	const size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	char text[32], *block;
	size_t got = 0;
	int length;

	for (; got < MOST && (block = get(size)); got += size)
		memset(block, 1, size < 4096 ? size : 4096);
	length = snprintf(text, sizeof(text), "%zu\n", got >> 10);
	return write(STDOUT_FILENO, text, (size_t)length) != length;
}
