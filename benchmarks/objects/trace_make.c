/* SPDX-License-Identifier: MIT */
/*
 * A trace from recorded events, in two passes: the first finds each event's slot and type
 * and the allocation that it has to wait for; the second writes the streams.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace_make.h"

#define NONE UINT32_MAX
#define SETUP 0u /* the stream; the load's threads have 1 and up */
#define MAX_STREAMS (TRACE_MAX_THREADS + 2)
#define SMALL_SIZES 65536u
/* A WAIT is for all objects that exist already and that this number of the thread's next
 * calls free: threads hand objects over in batches. */
#define GROUP_CALLS 1000u
/* Threads stay within two of these of each other: about the demo's window of operations. */
#define PACE 20000u
/* A thread with a smaller part of the mean's calls gets no stream. */
#define LIGHT_THREAD 4u
#define NO_MEMORY "there is no memory to make it"

/* An address: the object that is or was there. */
struct place {
	uint64_t object; /* 0: nothing yet */
	uint32_t event;  /* that allocated it */
	bool live;
};

/* A WAIT before the event `before`, for the SIGNAL after the event `after`. */
struct wait {
	uint32_t before, after;
};

/* What a thread's last WAIT for another thread covers. */
struct group {
	size_t wait;    /* its number */
	uint32_t until; /* 1 + the last event of the other thread that it covers */
	uint32_t calls; /* of the waiting thread, before it */
};

/* An event after the first pass. */
struct fate {
	uint32_t slot;
	uint32_t signal; /* the number of the signal that follows; 0: none */
	uint16_t type;
	uint8_t stream;
};

struct maker {
	const struct trace_event *events;
	size_t n, setup;
	struct fate *fates;
	struct place *places;
	size_t place_mask;
	uint32_t *free_next; /* by slot: a list of free slots for each stream */
	uint32_t free_first[MAX_STREAMS];
	struct wait *waits; /* in the order of their events */
	size_t wait_count;
	struct group groups[MAX_STREAMS][MAX_STREAMS];
	uint32_t calls[MAX_STREAMS];
	uint32_t last[MAX_STREAMS];    /* event */
	uint32_t paced[2][MAX_STREAMS]; /* last event before the last and the previous mark */
	size_t pace[MAX_STREAMS];      /* mark that the stream has passed */
	uint8_t stream_of[TRACE_MAX_THREADS + 1]; /* by recorded thread */
	uint16_t type_of_small[SMALL_SIZES];     /* plus 1 */
	uint32_t signals[MAX_STREAMS];
	uint64_t steps[MAX_STREAMS];
	struct trace_step *at[MAX_STREAMS];
	struct trace_header header;
	struct trace_type *types;
};

static size_t rest_of(const struct maker *maker)
{
	return maker->header.threads + 1;
}

static bool is_alloc(const struct trace_event *event)
{
	return event->kind == TRACE_ALLOC || event->kind == TRACE_MALLOC;
}

static struct place *place_of(const struct maker *maker, uint64_t object)
{
	size_t i = (size_t)(object * UINT64_C(0x9e3779b97f4a7c15) >> 32) & maker->place_mask;

	while (maker->places[i].object && maker->places[i].object != object)
		i = (i + 1) & maker->place_mask;
	return &maker->places[i];
}

/* Streams for the threads of the load, in the order of their first calls. Threads with few
 * calls (liburcu's) share the first stream, so that each stream can have a CPU. */
static const char *assign_streams(struct maker *maker)
{
	size_t calls[TRACE_MAX_THREADS + 1] = {0}, load = maker->n - maker->setup;
	unsigned threads = 0;

	for (size_t i = maker->setup; i < maker->n; i++) {
		if (maker->events[i].thread > TRACE_MAX_THREADS)
			return "more than 64 threads were recorded";
		threads += calls[maker->events[i].thread]++ == 0;
	}
	if (load == 0)
		return "nothing was recorded but the set-up";
	for (size_t i = maker->setup; i < maker->n; i++) {
		uint8_t *stream = &maker->stream_of[maker->events[i].thread];

		if (!*stream && calls[maker->events[i].thread] >= load / threads / LIGHT_THREAD)
			*stream = (uint8_t)++maker->header.threads;
	}
	for (size_t i = 0; i <= TRACE_MAX_THREADS; i++)
		if (!maker->stream_of[i])
			maker->stream_of[i] = 1;
	return NULL;
}

static uint8_t stream_of(const struct maker *maker, size_t i)
{
	return i < maker->setup ? SETUP : maker->stream_of[maker->events[i].thread];
}

/* Memory by size: a type for each size. */
static const char *type_of_size(struct maker *maker, uint64_t size, uint16_t *ret)
{
	uint32_t type = size < SMALL_SIZES ? maker->type_of_small[size] : 1;

	if (size < sizeof(uintptr_t))
		size = sizeof(uintptr_t); /* the replay writes a word */
	while (type && type <= maker->header.types &&
	       (maker->types[type - 1].name[0] || maker->types[type - 1].size != size))
		type++;
	if (!type || type > maker->header.types) {
		if (maker->header.types == TRACE_MAX_TYPES)
			return "it has more than 65535 types of objects";
		type = ++maker->header.types;
		maker->types[type - 1].size = size;
	}
	if (size < SMALL_SIZES)
		maker->type_of_small[size] = (uint16_t)type;
	*ret = (uint16_t)(type - 1);
	return NULL;
}

static uint32_t take_slot(struct maker *maker, unsigned stream)
{
	uint32_t slot = maker->free_first[stream];

	if (slot == NONE)
		return maker->header.slots++;
	maker->free_first[stream] = maker->free_next[slot];
	return slot;
}

static void give_slot(struct maker *maker, unsigned stream, uint32_t slot)
{
	maker->free_next[slot] = maker->free_first[stream];
	maker->free_first[stream] = slot;
}

static const char *pass_alloc(struct maker *maker, size_t i, struct place *place)
{
	const struct trace_event *event = &maker->events[i];
	struct fate *fate = &maker->fates[i];

	if (place->live)
		return "an address was allocated twice without a free";
	*place = (struct place){.object = event->object, .event = (uint32_t)i, .live = true};
	fate->slot = take_slot(maker, fate->stream);
	fate->type = (uint16_t)event->source;
	return event->kind == TRACE_MALLOC ? type_of_size(maker, event->source, &fate->type) : NULL;
}

static size_t add_wait(struct maker *maker, size_t before, uint32_t after)
{
	maker->waits[maker->wait_count] = (struct wait){(uint32_t)before, after};
	return maker->wait_count++;
}

/* Event i frees an object that another thread allocated: the last WAIT covers it if the
 * object existed then; otherwise it needs another. */
static void wait_for(struct maker *maker, size_t i, uint32_t origin)
{
	unsigned stream = maker->fates[i].stream;
	struct group *group = &maker->groups[stream][maker->fates[origin].stream];

	if (origin < group->until)
		return;
	if (!group->until || origin > maker->waits[group->wait].before ||
	    maker->calls[stream] - group->calls > GROUP_CALLS) {
		group->wait = add_wait(maker, i, origin);
		group->calls = maker->calls[stream];
	}
	group->until = origin + 1;
	maker->waits[group->wait].after = origin;
}

/* Keep the threads as close together as they were: at each mark, which is every PACE calls
 * of all threads, a thread waits until the others have passed the mark before. */
static void keep_pace(struct maker *maker, size_t i)
{
	unsigned stream = maker->fates[i].stream;
	size_t mark = i / PACE;

	if (i % PACE == 0) {
		memcpy(maker->paced[1], maker->paced[0], sizeof(maker->paced[0]));
		memcpy(maker->paced[0], maker->last, sizeof(maker->last));
	}
	for (unsigned other = 1; maker->pace[stream] < mark && other < rest_of(maker); other++)
		if (other != stream && maker->paced[1][other] != NONE)
			add_wait(maker, i, maker->paced[1][other]);
	maker->pace[stream] = mark;
	maker->last[stream] = (uint32_t)i;
}

static const char *pass_free(struct maker *maker, size_t i, struct place *place)
{
	const struct fate *origin = &maker->fates[place->event];
	struct fate *fate = &maker->fates[i];

	if (!place->live)
		return "an address was freed that was not allocated";
	place->live = false;
	fate->slot = origin->slot;
	fate->type = origin->type;
	give_slot(maker, fate->stream, fate->slot);
	if (origin->stream != SETUP && origin->stream != fate->stream)
		wait_for(maker, i, place->event);
	return NULL;
}

static const char *first_pass(struct maker *maker)
{
	for (size_t i = 0; i < maker->n; i++) {
		struct place *place = place_of(maker, maker->events[i].object);
		struct fate *fate = &maker->fates[i];
		const char *why;

		fate->stream = stream_of(maker, i);
		maker->calls[fate->stream]++;
		why = is_alloc(&maker->events[i]) ? pass_alloc(maker, i, place)
						  : pass_free(maker, i, place);
		if (why)
			return why;
		if (fate->stream != SETUP)
			keep_pace(maker, i);
	}
	return NULL;
}

/* How long the streams become. */
static void count_steps(struct maker *maker)
{
	size_t allocs = 0;

	for (size_t i = 0; i < maker->wait_count; i++) {
		maker->steps[maker->fates[maker->waits[i].before].stream]++;
		maker->fates[maker->waits[i].after].signal = 1; /* numbered later */
	}
	for (size_t i = 0; i < maker->n; i++) {
		const struct fate *fate = &maker->fates[i];
		bool alloc = is_alloc(&maker->events[i]);

		maker->steps[fate->stream] += 1u + (fate->signal != 0);
		allocs += alloc;
		maker->header.allocs += alloc && fate->stream != SETUP;
		maker->header.frees += !alloc && fate->stream != SETUP;
	}
	maker->steps[rest_of(maker)] = allocs - (maker->n - allocs);
	for (size_t i = 0; i <= rest_of(maker); i++)
		maker->header.steps += maker->steps[i];
}

static void put(struct maker *maker, size_t stream, uint32_t target, uint32_t type, uint32_t kind)
{
	*maker->at[stream]++ = (struct trace_step){target, (uint16_t)type, (uint16_t)kind};
}

static void put_wait(struct maker *maker, const struct wait *wait)
{
	const struct fate *after = &maker->fates[wait->after];

	put(maker, maker->fates[wait->before].stream, after->signal, after->stream - 1u,
	    TRACE_WAIT);
}

static void second_pass(struct maker *maker)
{
	const struct wait *wait = maker->waits, *end = wait + maker->wait_count;

	for (size_t i = 0; i < maker->n; i++) {
		struct fate *fate = &maker->fates[i];

		for (; wait < end && wait->before == i; wait++)
			put_wait(maker, wait);
		put(maker, fate->stream, fate->slot, fate->type, maker->events[i].kind);
		if (fate->signal) {
			fate->signal = ++maker->signals[fate->stream];
			put(maker, fate->stream, 0, 0, TRACE_SIGNAL);
		}
	}
}

static void put_rest(struct maker *maker)
{
	for (size_t i = 0; i <= maker->place_mask; i++) {
		const struct place *place = &maker->places[i];
		const struct fate *origin = &maker->fates[place->event];

		if (place->live)
			put(maker, rest_of(maker), origin->slot, origin->type,
			    maker->events[place->event].kind == TRACE_ALLOC ? TRACE_FREE
									    : TRACE_MFREE);
	}
}

static const char *write_streams(struct maker *maker, struct trace *trace)
{
	struct trace_step *step;
	struct trace_header *header;

	trace_layout(trace, &maker->header);
	header = calloc(1, trace->bytes);
	if (!header)
		return NO_MEMORY;
	*header = maker->header;
	trace_layout(trace, header);
	memcpy(header + 1, maker->types, header->types * sizeof(*maker->types));
	memcpy((char *)header + ((const char *)trace->streams - (const char *)header), maker->steps,
	       (header->threads + 2) * sizeof(struct trace_stream));
	step = (struct trace_step *)((char *)header +
				     ((const char *)trace->steps - (const char *)header));
	for (size_t i = 0; i <= rest_of(maker); i++) {
		maker->at[i] = step;
		step += maker->steps[i];
	}
	second_pass(maker);
	put_rest(maker);
	return NULL;
}

static bool allocate(struct maker *maker)
{
	size_t places = 2;

	while (places < 2 * maker->n)
		places *= 2;
	maker->place_mask = places - 1;
	maker->places = calloc(places, sizeof(*maker->places));
	maker->fates = calloc(maker->n, sizeof(*maker->fates));
	maker->free_next = calloc(maker->n, sizeof(*maker->free_next));
	/* One for each free at most, and those of the marks. */
	maker->waits =
		calloc(maker->n + (maker->n / PACE + 1) * TRACE_MAX_THREADS * TRACE_MAX_THREADS,
		       sizeof(*maker->waits));
	maker->types = calloc(TRACE_MAX_TYPES, sizeof(*maker->types));
	memset(maker->free_first, 0xff, sizeof(maker->free_first));
	memset(maker->last, 0xff, sizeof(maker->last));
	memset(maker->paced, 0xff, sizeof(maker->paced));
	return maker->places && maker->fates && maker->free_next && maker->waits && maker->types;
}

static const char *make(struct maker *maker, struct trace *trace)
{
	const char *why = assign_streams(maker);

	if (!why)
		why = first_pass(maker);
	if (why)
		return why;
	count_steps(maker);
	return write_streams(maker, trace);
}

const char *trace_make(struct trace *trace, const struct trace_event *events, size_t n,
		       const struct trace_type *caches, unsigned cache_count)
{
	struct maker *maker;
	const char *why = NO_MEMORY;

	if (n == 0)
		return "nothing was recorded";
	maker = calloc(1, sizeof(*maker));
	if (!maker)
		return why;
	maker->events = events;
	maker->n = n;
	for (size_t i = 0; i < n; i++)
		if (events[i].thread == 0)
			maker->setup = i + 1;
	memcpy(maker->header.magic, TRACE_MAGIC, sizeof(maker->header.magic));
	maker->header.version = TRACE_VERSION;
	maker->header.types = cache_count;
	if (allocate(maker)) {
		memcpy(maker->types, caches, cache_count * sizeof(*caches));
		why = make(maker, trace);
	}
	free(maker->places);
	free(maker->fates);
	free(maker->free_next);
	free(maker->waits);
	free(maker->types);
	free(maker);
	return why;
}

void trace_drop(struct trace *trace)
{
	free((void *)(uintptr_t)trace->header);
	memset(trace, 0, sizeof(*trace));
}
