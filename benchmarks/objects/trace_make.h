/* SPDX-License-Identifier: MIT */
/*
 * From the calls that a recorder saw to a trace.
 *
 * The recorder numbers the calls of all threads in one order: an allocation gets its
 * number after it returned, a free before it begins. So calls on the same address
 * alternate in this order.
 */
#ifndef OBJECTS_TRACE_MAKE_H
#define OBJECTS_TRACE_MAKE_H

#include "trace.h"

struct trace_event {
	uint64_t object;  /* its address */
	uint64_t source;  /* of an allocation: the number of the cache, or the size */
	uint32_t thread;  /* 0: the thread that sets up */
	uint32_t kind;    /* TRACE_ALLOC to TRACE_MFREE */
};

/*
 * trace_make: a trace of n events, whose caches are described by caches[].
 *
 * The set-up ends with the last event of thread 0; there must be events after it.
 * Returns NULL and the trace, which trace_drop() frees, or one sentence about the error.
 */
const char *trace_make(struct trace *trace, const struct trace_event *events, size_t n,
		       const struct trace_type *caches, unsigned cache_count);
void trace_drop(struct trace *trace);

#endif /* OBJECTS_TRACE_MAKE_H */
