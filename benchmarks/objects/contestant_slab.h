/* SPDX-License-Identifier: MIT */
/*
 * libslab: calls of the shared library, or of the static one linked with LTO.
 */
#ifndef OBJECTS_CONTESTANT_H
#define OBJECTS_CONTESTANT_H

#include <stdio.h>
#include <string.h>

#include <slab/slab.h>

#include "bench.h"

#define CONTESTANT_HAS_BULK true
#define CONTESTANT_HAS_MEMORY true
#define CONTESTANT_PROCESS_PER_SIZE false

static struct slab_cache *contestant_cache;

#define OBJ_ALLOC() slab_alloc(contestant_cache)
#define OBJ_FREE(obj) slab_free(contestant_cache, (obj))
#define OBJ_ALLOC_BULK(n, objs) slab_alloc_bulk(contestant_cache, SLAB_ALLOC_FULL, (n), (objs))
#define OBJ_FREE_BULK(n, objs) slab_free_bulk(contestant_cache, (n), (objs))

static const char *contestant_open(size_t size, size_t live, unsigned threads, int cpu)
{
	static char why[96];

	(void)live;
	(void)threads;
	(void)cpu;
	contestant_cache = slab_cache_create("bench", size, NULL, SLAB_NO_MERGE);
	if (contestant_cache)
		return NULL;
	snprintf(why, sizeof(why), "slab_cache_create() of %zu bytes failed", size);
	return why;
}

static void contestant_close(void) {}

static void contestant_thread_begin(void) {}

static void contestant_thread_end(void) {}

static const char *contestant_allocator(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "libslab %s, engine %s", slab_version(), slab_engine());
	return text;
}

#endif /* OBJECTS_CONTESTANT_H */
