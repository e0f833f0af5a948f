/* SPDX-License-Identifier: MIT */
/* From the calls of a file to the streams of trace.h. Errors are constant sentences. */
#include <sys/stat.h>

#include "trace.h"

#define SETUP 0u /* the stream; the load's threads have 1 and up */
/* Threads meet after this number of calls of all: about the directory's window of operations. */
#define PACE 20000u
/* A thread with a smaller part of the mean's calls gets no stream. */
#define LIGHT_THREAD 4u

/* An address: the object that is or was there. */
struct place {
	uint64_t object; /* 0: nothing yet */
	uint32_t slot;
	uint32_t what : 29;
	bool by_size, live;
};

struct maker {
	struct trace *trace;
	const struct trace_call *calls;
	size_t n, setup;
	struct place *places;
	size_t place_mask;
	uint8_t stream_of[TRACE_MAX_THREADS + 1]; /* by recorded thread */
};

/* From the system: the allocator that is measured later stays as in a fresh process. */
static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static bool is_alloc(const struct trace_call *call)
{
	return call->kind == TRACE_ALLOC || call->kind == TRACE_MALLOC;
}

static struct place *place_of(const struct maker *maker, uint64_t object)
{
	size_t i = (size_t)(object * UINT64_C(0x9e3779b97f4a7c15) >> 32) & maker->place_mask;

	while (maker->places[i].object && maker->places[i].object != object)
		i = (i + 1) & maker->place_mask;
	return &maker->places[i];
}

/* Streams for the threads of the load, in the order of their first calls. Threads with few calls
 * (liburcu's) share the first stream, so that each stream can have a CPU. */
static const char *assign_streams(struct maker *maker)
{
	size_t calls[TRACE_MAX_THREADS + 1] = {0}, load = maker->n - maker->setup;
	unsigned threads = 0;

	if (load == 0)
		return "nothing was recorded but the set-up";
	for (size_t i = maker->setup; i < maker->n; i++)
		threads += calls[maker->calls[i].thread]++ == 0;
	for (size_t i = maker->setup; i < maker->n; i++) {
		uint8_t *stream = &maker->stream_of[maker->calls[i].thread];

		if (!*stream && calls[maker->calls[i].thread] >= load / threads / LIGHT_THREAD)
			*stream = (uint8_t)++maker->trace->threads;
	}
	for (size_t i = 0; i <= TRACE_MAX_THREADS; i++)
		if (!maker->stream_of[i])
			maker->stream_of[i] = 1;
	return NULL;
}

static unsigned stream_of(const struct maker *maker, size_t i)
{
	return i < maker->setup ? SETUP : maker->stream_of[maker->calls[i].thread];
}

/* Room for each stream's steps, and for as many frees of the rest as there are calls. */
static const char *lay_out(struct maker *maker)
{
	struct trace *trace = maker->trace;
	size_t meets = (maker->n - maker->setup) / PACE, steps[TRACE_MAX_THREADS + 2] = {0};
	struct trace_step *at =
		map((2 * maker->n + trace->threads * meets) * sizeof(struct trace_step));

	if (!at)
		return "there is no memory for its steps";
	for (size_t i = 0; i < maker->n; i++)
		steps[stream_of(maker, i)]++;
	for (unsigned i = 0; i < trace->threads + 2; i++) {
		trace->begin[i] = trace->end[i] = at;
		at += steps[i] + (i == SETUP ? 0 : meets);
	}
	return NULL;
}

static void put(struct maker *maker, unsigned stream, const struct place *place, unsigned kind)
{
	*maker->trace->end[stream]++ =
		(struct trace_step){.slot = place->slot, .kind = kind & 7, .what = place->what};
}

static const char *put_call(struct maker *maker, size_t i)
{
	const struct trace_call *call = &maker->calls[i];
	struct place *place = place_of(maker, call->object);
	size_t word = sizeof(uintptr_t); /* the replay writes one */

	if (is_alloc(call)) {
		if (place->live)
			return "an address was allocated twice without a free";
		*place = (struct place){
			.object = call->object,
			.slot = (uint32_t)maker->trace->slots++,
			.by_size = call->kind == TRACE_MALLOC,
			.what = call->what & TRACE_MAX_SIZE,
		};
		if (place->by_size && place->what < word)
			place->what = word & TRACE_MAX_SIZE;
	} else if (!place->live || place->by_size != (call->kind == TRACE_MFREE)) {
		return "an address was freed that was not allocated";
	}
	place->live = is_alloc(call);
	put(maker, stream_of(maker, i), place, call->kind);
	return NULL;
}

static const char *put_calls(struct maker *maker)
{
	const struct place none = {0};
	unsigned rest = maker->trace->threads + 1;
	const char *why = NULL;

	for (size_t i = 0; i < maker->n && !why; i++) {
		if (i > maker->setup && (i - maker->setup) % PACE == 0)
			for (unsigned stream = 1; stream < rest; stream++)
				put(maker, stream, &none, TRACE_MEET);
		why = put_call(maker, i);
	}
	for (size_t i = 0; i <= maker->place_mask && !why; i++)
		if (maker->places[i].live)
			put(maker, rest, &maker->places[i],
			    maker->places[i].by_size ? TRACE_MFREE : TRACE_FREE);
	return why;
}

static const char *make(struct maker *maker)
{
	size_t places = 2, bytes;
	const char *why;

	for (size_t i = 0; i < maker->n; i++)
		if (maker->calls[i].thread == 0)
			maker->setup = i + 1;
	maker->trace->calls = maker->n - maker->setup;
	while (places < 2 * maker->n)
		places *= 2;
	bytes = places * sizeof(*maker->places);
	maker->place_mask = places - 1;
	maker->places = map(bytes);
	if (!maker->places)
		return "there is no memory for its addresses";
	why = assign_streams(maker);
	if (!why)
		why = lay_out(maker);
	if (!why)
		why = put_calls(maker);
	munmap(maker->places, bytes);
	return why;
}

static const char *check(const struct trace_header *header, size_t bytes)
{
	const struct trace_call *call =
		(const void *)((const struct trace_cache *)(header + 1) + header->caches);

	if (bytes < sizeof(header->magic) ||
	    memcmp(header->magic, TRACE_MAGIC, sizeof(header->magic)) != 0)
		return "it is no trace of allocations";
	if (bytes < sizeof(*header))
		return "it is truncated";
	if (header->version != TRACE_VERSION)
		return "it is of another version of this benchmark; record it again";
	if (header->caches > TRACE_MAX_CACHES || header->calls > UINT32_MAX / 2)
		return "its header is damaged";
	if ((const char *)header + bytes != (const char *)(call + header->calls))
		return (const char *)header + bytes < (const char *)(call + header->calls)
			       ? "it is truncated"
			       : "it is longer than its header says";
	for (const struct trace_call *end = call + header->calls; call < end; call++)
		if (!call->object || call->thread > TRACE_MAX_THREADS || call->kind >= TRACE_MEET ||
		    (call->kind == TRACE_ALLOC && call->what >= header->caches))
			return "it has a call that cannot be";
	return NULL;
}

static const char *map_file(struct trace *trace, int fd)
{
	const struct trace_header *header;
	struct maker maker = {.trace = trace};
	struct stat status;
	const char *why;

	if (fstat(fd, &status) != 0)
		return strerror(errno);
	if (status.st_size == 0)
		return "it is no trace of allocations";
	header = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		return strerror(errno);
	why = check(header, (size_t)status.st_size);
	if (why)
		return why;
	*trace = (struct trace){.caches = header->caches,
				.cache = (const struct trace_cache *)(header + 1)};
	maker.calls = (const void *)(trace->cache + trace->caches);
	maker.n = header->calls;
	return make(&maker);
}

const char *trace_open(struct trace *trace, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *why;

	if (fd < 0)
		return strerror(errno);
	why = map_file(trace, fd);
	close(fd);
	return why;
}
