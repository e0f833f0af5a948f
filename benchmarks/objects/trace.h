/* SPDX-License-Identifier: MIT */
/*
 * A trace: the allocations and frees of a program with threads, prepared for replay.
 *
 * A trace file has, without gaps and in the byte order of the machine that wrote it:
 *
 *   struct trace_header
 *   struct trace_cache  [header.caches]
 *   struct trace_call   [header.calls]   of all threads in one order
 *
 * An allocation has its place in the order after it returned, a free before it began. So the calls
 * with one address are by turns allocations and frees.
 *
 * In memory a trace is a stream of steps for each thread. Stream 0 is the set-up: one thread
 * executes it before the others start. Streams 1 to `threads` are those of the load; they run
 * concurrently. The last stream frees what is then still allocated. Each object has a slot of its
 * own, where the thread that frees it finds it, and waits for it if it is not there yet. Threads
 * meet now and then, so that a fast one is not far ahead.
 */
#pragma once

#include "posix.h"

#define TRACE_MAGIC "slabtrac"
#define TRACE_VERSION 2u
#define TRACE_MAX_THREADS 64u
#define TRACE_MAX_CACHES 256u
#define TRACE_MAX_SIZE ((1u << 29) - 1)
#define TRACE_NAME_BYTES 64u

enum trace_kind {
	TRACE_ALLOC,  /* an object of cache `what` into slot `slot` */
	TRACE_FREE,
	TRACE_MALLOC, /* the same, of `what` bytes */
	TRACE_MFREE,
	TRACE_MEET,   /* wait until all threads are here */
	TRACE_KINDS
};

struct trace_header {
	char magic[8];
	uint32_t version;
	uint32_t caches;
	uint64_t calls;
};

struct trace_cache {
	char name[TRACE_NAME_BYTES];
	uint64_t size;
};

struct trace_call {
	uint64_t object; /* its address */
	uint32_t what;   /* of an allocation: the number of the cache, or the size */
	uint16_t thread; /* 0: the thread that sets up, until its last call */
	uint16_t kind;   /* TRACE_ALLOC to TRACE_MFREE */
};

struct trace_step {
	uint32_t slot;
	uint32_t kind : 3;
	uint32_t what : 29;
};

struct trace {
	unsigned threads, caches;
	size_t slots;
	size_t calls; /* of the load */
	const struct trace_cache *cache;
	struct trace_step *begin[TRACE_MAX_THREADS + 2], *end[TRACE_MAX_THREADS + 2]; /* streams */
};

/* trace_open: the trace of a file, until the process ends. Returns NULL, or one sentence about the
 * error: also if an address is allocated twice, or freed without an allocation. */
const char *trace_open(struct trace *trace, const char *path);
