/* SPDX-License-Identifier: MIT */
/*
 * libslab: calls of the shared library, or of the static one linked with LTO.
 */
#pragma once

#include <slab/malloc.h>
#include <slab/slab.h>

#include "bench.h"

#define CONTESTANT_HAS_BULK true
#define CONTESTANT_HAS_MEMORY true

static struct slab_cache *contestant_cache;
static struct slab_cache *contestant_caches[TRACE_MAX_CACHES];

#define OBJ_ALLOC() slab_alloc(contestant_cache)
#define OBJ_FREE(obj) slab_free(contestant_cache, (obj))
#define TYPED_ALLOC(type) slab_alloc(contestant_caches[type])
#define TYPED_FREE(type, obj) slab_free(contestant_caches[type], (obj))
#define SIZED_ALLOC(size) slab_malloc(size)
#define SIZED_FREE(size, obj) slab_mfree(obj)
#define OBJ_ALLOC_BULK(n, objs) slab_alloc_bulk(contestant_cache, SLAB_ALLOC_FULL, (n), (objs))
#define OBJ_FREE_BULK(n, objs) slab_free_bulk(contestant_cache, (n), (objs))

static const char *contestant_open(size_t size)
{
	static char why[96], name[32];
	static unsigned number;

	snprintf(name, sizeof(name), "bench%u", number++);
	contestant_cache = slab_cache_create(name, size, NULL, 0);
	if (contestant_cache)
		return NULL;
	snprintf(why, sizeof(why), "slab_cache_create() of %zu bytes failed", size);
	return why;
}

static const char *contestant_open_trace(const struct trace *trace)
{
	for (unsigned i = 0; i < trace->caches; i++) {
		contestant_caches[i] =
			slab_cache_create(trace->cache[i].name, trace->cache[i].size, NULL, 0);
		if (!contestant_caches[i])
			return slab_create_error();
	}
	return NULL;
}

static const char *contestant_allocator(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "libslab %s, engine %s", slab_version(), slab_engine());
	return text;
}
