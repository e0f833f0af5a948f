/* SPDX-License-Identifier: MIT */
/*
 * No allocator: a thread gets the same block each time. The cost of a case without the
 * allocations. Only of the case trace; elsewhere objects must differ.
 */
#pragma once

#include "bench.h"

#define CONTESTANT_HAS_BULK false
#define CONTESTANT_HAS_MEMORY false
#define CONTESTANT_ONLY_TRACE true

static _Thread_local char contestant_block[64];

#define OBJ_ALLOC() ((void *)contestant_block)
#define OBJ_FREE(obj) ((void)(obj))
#define TYPED_ALLOC(type) ((void)(type), (void *)contestant_block)
#define TYPED_FREE(type, obj) ((void)(type), (void)(obj))
#define SIZED_ALLOC(type) TYPED_ALLOC(type)
#define SIZED_FREE(type, obj) TYPED_FREE(type, obj)

static const char *contestant_open(size_t size)
{
	(void)size;
	return NULL;
}

static const char *contestant_open_trace(const struct trace *trace)
{
	(void)trace;
	return NULL;
}

static const char *contestant_allocator(void)
{
	return "empty: no allocator, the cost of the replay";
}
