/* SPDX-License-Identifier: MIT */
/*
 * The self-check of a trace: an execution with one thread that keeps, for each slot, the
 * thread that changed it last and the number of that thread's signals before the change.
 * A thread may then use the slot if it is that thread or has waited for a later signal. If
 * this holds for each step of one execution, it holds in all: consecutive uses of a slot
 * are ordered.
 */
#include <stdbool.h>
#include <sys/mman.h>

#include "trace.h"

#define NO_THREAD UINT8_MAX /* the set-up, which all threads come after */

struct slot_state {
	uint32_t signals;
	uint16_t type;
	uint8_t thread;
	bool live, by_size;
};

struct checker {
	const struct trace *trace;
	uint32_t signals[TRACE_MAX_THREADS];
	uint32_t known[TRACE_MAX_THREADS][TRACE_MAX_THREADS]; /* signals waited for */
	size_t done[TRACE_MAX_THREADS];
	uint64_t allocs, frees;
	struct slot_state slots[];
};

static bool ordered(const struct checker *checker, const struct slot_state *slot, unsigned thread)
{
	return slot->thread == NO_THREAD || slot->thread == thread ||
	       (thread != NO_THREAD && checker->known[thread][slot->thread] > slot->signals);
}

static void change(struct checker *checker, struct slot_state *slot, unsigned thread, bool live)
{
	slot->live = live;
	slot->thread = (uint8_t)thread;
	slot->signals = thread == NO_THREAD ? 0 : checker->signals[thread];
	checker->allocs += live;
	checker->frees += !live;
}

static const char *check_object(struct checker *checker, const struct trace_step *step,
				unsigned thread)
{
	const struct trace_header *header = checker->trace->header;
	struct slot_state *slot;
	bool by_size = step->kind == TRACE_MALLOC || step->kind == TRACE_MFREE;
	bool alloc = step->kind == TRACE_ALLOC || step->kind == TRACE_MALLOC;

	if (step->target >= header->slots || step->type >= header->types)
		return "a step names a slot or a type that does not exist";
	slot = &checker->slots[step->target];
	if (alloc == slot->live)
		return alloc ? "an allocation reuses the slot of an object that is not freed"
			     : "an object is freed that is not allocated";
	if (!ordered(checker, slot, thread))
		return alloc ? "a slot is reused without waiting for the free before"
			     : "a free does not wait for the allocation of its object";
	if (!alloc && (slot->type != step->type || slot->by_size != by_size))
		return "an object is freed as another type than it was allocated";
	slot->type = step->type;
	slot->by_size = by_size;
	change(checker, slot, thread, alloc);
	return NULL;
}

/* One thread executes a whole stream. */
static const char *check_alone(struct checker *checker, unsigned stream)
{
	size_t n;
	const struct trace_step *step = trace_steps_of(checker->trace, stream, &n);
	const char *why = NULL;

	for (size_t i = 0; i < n && !why; i++)
		why = step[i].kind < TRACE_SIGNAL
			      ? check_object(checker, &step[i], NO_THREAD)
			      : "there is a step that belongs to threads outside of their streams";
	return why;
}

static void know(uint32_t *known, uint32_t signals)
{
	if (*known < signals)
		*known = signals;
}

/* Execute a thread until its end or until it has to wait. */
static const char *check_thread(struct checker *checker, unsigned thread)
{
	size_t n, *done = &checker->done[thread];
	const struct trace_step *first = trace_steps_of(checker->trace, thread + 1, &n);

	for (; *done < n; ++*done) {
		const struct trace_step *step = &first[*done];
		const char *why = NULL;

		if (step->kind < TRACE_SIGNAL) {
			why = check_object(checker, step, thread);
		} else if (step->kind == TRACE_SIGNAL) {
			checker->signals[thread]++;
		} else if (step->kind >= TRACE_KINDS ||
			   step->type >= checker->trace->header->threads) {
			why = "there is an unknown step";
		} else if (checker->signals[step->type] < step->target) {
			return NULL;
		} else {
			know(&checker->known[thread][step->type], step->target);
		}
		if (why)
			return why;
	}
	return NULL;
}

static size_t steps_done(const struct checker *checker)
{
	size_t sum = 0;

	for (unsigned i = 0; i < checker->trace->header->threads; i++)
		sum += checker->done[i];
	return sum;
}

static const char *check_threads(struct checker *checker)
{
	const struct trace *trace = checker->trace;
	size_t all = 0, before;
	const char *why = NULL;

	for (unsigned i = 0; i < trace->header->threads; i++)
		all += trace->streams[i + 1].steps;
	do {
		before = steps_done(checker);
		for (unsigned i = 0; i < trace->header->threads && !why; i++)
			why = check_thread(checker, i);
	} while (!why && steps_done(checker) > before);
	return why || before == all ? why : "threads wait for each other forever";
}

/* After the load all threads have ended: whatever they did comes before the rest. */
static const char *check_rest(struct checker *checker)
{
	for (size_t i = 0; i < checker->trace->header->slots; i++)
		checker->slots[i].thread = NO_THREAD;
	return check_alone(checker, checker->trace->header->threads + 1);
}

static const char *check_streams(struct checker *checker)
{
	const struct trace_header *header = checker->trace->header;
	const char *why = check_alone(checker, 0);
	uint64_t allocs = checker->allocs, frees = checker->frees;

	if (!why)
		why = check_threads(checker);
	if (!why &&
	    (checker->allocs - allocs != header->allocs || checker->frees - frees != header->frees))
		why = "its header counts other allocations or frees than there are";
	if (!why)
		why = check_rest(checker);
	if (!why && checker->allocs != checker->frees)
		why = "an object is never freed";
	return why;
}

static const char *check_sums(const struct trace *trace)
{
	uint64_t steps = 0;

	for (unsigned i = 0; i < trace->header->threads + 2; i++) {
		if (trace->streams[i].steps > trace->header->steps)
			return "its streams are longer than the trace";
		steps += trace->streams[i].steps;
	}
	if (steps != trace->header->steps)
		return "its streams are not as long as the trace";
	for (unsigned i = 0; i < trace->header->types; i++)
		if (trace->types[i].size < sizeof(uintptr_t) ||
		    trace->types[i].name[TRACE_NAME_BYTES - 1])
			return "it has an invalid type of objects";
	return NULL;
}

/* From the system: the allocator that is measured later stays as in a fresh process. */
static struct checker *open_checker(const struct trace *trace, size_t bytes)
{
	struct checker *checker =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (checker == MAP_FAILED)
		return NULL;
	checker->trace = trace;
	for (size_t i = 0; i < trace->header->slots; i++)
		checker->slots[i].thread = NO_THREAD;
	return checker;
}

const char *trace_check(const struct trace *trace)
{
	size_t bytes = sizeof(struct checker) + trace->header->slots * sizeof(struct slot_state);
	const char *why = check_sums(trace);
	struct checker *checker;

	if (why)
		return why;
	checker = open_checker(trace, bytes);
	if (!checker)
		return "there is no memory to check it";
	why = check_streams(checker);
	munmap(checker, bytes);
	return why;
}
