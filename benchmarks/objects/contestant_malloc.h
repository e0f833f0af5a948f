/* SPDX-License-Identifier: MIT */
/*
 * malloc and free: glibc's, or whatever LD_PRELOAD puts in their place; or slab_malloc().
 */
#ifndef OBJECTS_CONTESTANT_H
#define OBJECTS_CONTESTANT_H

#include <dlfcn.h>
#include <stdlib.h>

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
#define CONTESTANT_PROCESS_PER_SIZE false

static size_t contestant_size;
static size_t contestant_sizes[TRACE_MAX_TYPES];

#define OBJ_ALLOC() CONTESTANT_ALLOC(contestant_size)
#define OBJ_FREE(obj) CONTESTANT_FREE(obj)
#define TYPED_ALLOC(type) CONTESTANT_ALLOC(contestant_sizes[type])
#define TYPED_FREE(type, obj) CONTESTANT_FREE(obj)
#define SIZED_ALLOC(type) TYPED_ALLOC(type)
#define SIZED_FREE(type, obj) TYPED_FREE(type, obj)

static const char *contestant_open(size_t size, size_t live, unsigned threads, int cpu)
{
	(void)live;
	(void)threads;
	(void)cpu;
	contestant_size = size;
	return NULL;
}

static const char *contestant_open_trace(const struct trace *trace)
{
	for (unsigned i = 0; i < trace->header->types; i++)
		contestant_sizes[i] = trace->types[i].size;
	return NULL;
}

static void contestant_close(void) {}

static void contestant_thread_begin(void) {}

static void contestant_thread_end(void) {}

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

#endif /* OBJECTS_CONTESTANT_H */
