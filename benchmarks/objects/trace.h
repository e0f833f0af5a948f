/* SPDX-License-Identifier: MIT */
/*
 * A trace: the allocations and frees of a program with threads, prepared for replay.
 *
 * A trace file has, without gaps and in the byte order of the machine that wrote it:
 *
 *   struct trace_header
 *   struct trace_type   [header.types]      types of objects
 *   struct trace_stream  [header.threads + 2]  lengths of the streams
 *   struct trace_step    [header.steps]        the streams, one after the other
 *
 * Stream 0 is the set-up: one thread executes it before the others start. Streams 1 to
 * `threads` are the threads of the load. The last stream frees what is then still
 * allocated. An object is named by its slot, a number below header.slots; slots are
 * reused.
 *
 * Streams run concurrently. A thread's SIGNAL steps are counted from 1; WAIT waits until
 * a thread has executed a certain number of them. Before each free of an object of
 * another thread there is a WAIT for a SIGNAL that follows the allocation. A slot is
 * reused only by the thread that freed its object. So threads need no other order.
 */
#ifndef OBJECTS_TRACE_H
#define OBJECTS_TRACE_H

#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "slabtrac"
#define TRACE_VERSION 1u
#define TRACE_MAX_THREADS 64u
#define TRACE_MAX_TYPES 65535u
#define TRACE_NAME_BYTES 64u

enum trace_kind {
	TRACE_ALLOC,  /* an object of cache `type` into slot `target` */
	TRACE_FREE,
	TRACE_MALLOC, /* the same, allocated by size */
	TRACE_MFREE,
	TRACE_SIGNAL,
	TRACE_WAIT,   /* until thread `type` has executed `target` SIGNAL steps */
	TRACE_KINDS
};

struct trace_header {
	char magic[8];
	uint32_t version;
	uint32_t threads;
	uint32_t types;
	uint32_t slots;
	uint64_t steps;
	uint64_t allocs, frees; /* of the threads of the load */
};

struct trace_type {
	char name[TRACE_NAME_BYTES]; /* of the cache; "": memory by size */
	uint64_t size;               /* bytes, at least those of a word */
};

struct trace_stream {
	uint64_t steps;
};

struct trace_step {
	uint32_t target;
	uint16_t type;
	uint16_t kind;
};

/* A trace in memory: pointers into one block of `bytes` bytes. */
struct trace {
	const struct trace_header *header;
	const struct trace_type *types;
	const struct trace_stream *streams;
	const struct trace_step *steps;
	size_t bytes;
};

/*
 * Functions return NULL, or one sentence about the error.
 *
 * trace_layout: set the pointers of a trace whose block begins with `header`, and its size.
 * trace_open: map a file, check its format and the trace itself. trace_close: unmap it.
 * trace_write: write a trace to a file, which appears when it is complete.
 * trace_check: every free follows the allocation of its object, whatever the threads'
 * speed; no thread waits forever; the counts of the header are right.
 */
void trace_layout(struct trace *trace, const struct trace_header *header);
const char *trace_open(struct trace *trace, const char *path);
void trace_close(struct trace *trace);
const char *trace_write(const struct trace *trace, const char *path);
const char *trace_check(const struct trace *trace);

/* trace_steps_of: the steps of a stream and their number. */
static inline const struct trace_step *trace_steps_of(const struct trace *trace, unsigned stream,
						      size_t *n)
{
	const struct trace_step *first = trace->steps;

	for (unsigned i = 0; i < stream; i++)
		first += trace->streams[i].steps;
	*n = trace->streams[stream].steps;
	return first;
}

#endif /* OBJECTS_TRACE_H */
