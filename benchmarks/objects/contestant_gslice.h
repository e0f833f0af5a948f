/* SPDX-License-Identifier: MIT */
/*
 * GLib's GSlice, the slab allocator that many C servers already have at hand.
 */
#ifndef OBJECTS_CONTESTANT_H
#define OBJECTS_CONTESTANT_H

#include <stdio.h>

#include <glib.h>

#include "bench.h"

#define CONTESTANT_HAS_BULK false
#define CONTESTANT_HAS_MEMORY true
#define CONTESTANT_PROCESS_PER_SIZE false

static size_t contestant_size;
static size_t contestant_sizes[TRACE_MAX_TYPES];

#define OBJ_ALLOC() g_slice_alloc(contestant_size)
#define OBJ_FREE(obj) g_slice_free1(contestant_size, (obj))
#define TYPED_ALLOC(type) g_slice_alloc(contestant_sizes[type])
#define TYPED_FREE(type, obj) g_slice_free1(contestant_sizes[type], (obj))
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
	static char text[64];

	snprintf(text, sizeof(text), "GLib %u.%u.%u", glib_major_version, glib_minor_version,
		 glib_micro_version);
	return text;
}

#endif /* OBJECTS_CONTESTANT_H */
