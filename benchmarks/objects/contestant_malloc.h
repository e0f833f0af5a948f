/* SPDX-License-Identifier: MIT */
/*
 * Allocations by size: malloc and free, glibc's or whatever LD_PRELOAD puts in their place; or
 * slab_malloc().
 */
#pragma once

#include <dlfcn.h>

#include "bench.h"

#ifdef CONTESTANT_SLAB_MALLOC
#include <slab/malloc.h>
#include <slab/slab.h>
#define CONTESTANT_ALLOC(size) slab_malloc(size)
#define CONTESTANT_FREE(ptr) slab_mfree(ptr)
#else
#define CONTESTANT_ALLOC(size) malloc(size)
#define CONTESTANT_FREE(ptr) free(ptr)
#endif

#define CONTESTANT_HAS_BULK false
#define CONTESTANT_HAS_MEMORY true

static size_t contestant_size;
static size_t contestant_sizes[TRACE_MAX_CACHES];

#define OBJ_ALLOC() CONTESTANT_ALLOC(contestant_size)
#define OBJ_FREE(obj) CONTESTANT_FREE(obj)
#define TYPED_ALLOC(type) CONTESTANT_ALLOC(contestant_sizes[type])
#define TYPED_FREE(type, obj) CONTESTANT_FREE(obj)
#define SIZED_ALLOC(size) CONTESTANT_ALLOC(size)
#define SIZED_FREE(size, obj) CONTESTANT_FREE(obj)

static const char *contestant_open(size_t size)
{
	contestant_size = size;
	return NULL;
}

static const char *contestant_open_trace(const struct trace *trace)
{
	for (unsigned i = 0; i < trace->caches; i++)
		contestant_sizes[i] = trace->cache[i].size;
	return NULL;
}

static const char *contestant_allocator(void)
{
#ifdef CONTESTANT_SLAB_MALLOC
	return "libslab's slab_malloc()";
#else
	void *function = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fname : "unknown";
#endif
}
