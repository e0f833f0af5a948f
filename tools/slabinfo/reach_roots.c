/* SPDX-License-Identifier: MIT */
/*
 * Roots. libslab's own memory is left out: its descriptors have the address of every slab, arrays have
 * those of objects that were freed, and objects themselves are searched only when they are reached. The
 * handles of caches stay in, since a cache keeps the pointer for its constructor.
 */
#include "reach_roots.h"
#include "array.h"
#include "fail.h"
#include "model.h"

/* Below the stack pointer a function may have data, by the ABI of x86-64. */
#define RED_ZONE_BYTES 128u

struct span {
	uint64_t start, end;
};

struct roots {
	const struct root_visitor *visitor;
	struct span *own; /* of libslab, ordered by address, without overlaps */
	size_t owns;
	uint64_t *sp; /* of all threads */
	size_t sps, sp_room;
};

static int by_start(const void *a, const void *b)
{
	const struct span *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

/* Join spans that overlap, so that their ends are in order, too. */
static void join(struct roots *roots)
{
	size_t kept = 0;

	if (roots->owns)
		qsort(roots->own, roots->owns, sizeof(*roots->own), by_start);
	for (size_t i = 0; i < roots->owns; i++) {
		struct span *last = kept ? &roots->own[kept - 1] : NULL;

		if (!last || last->end < roots->own[i].start)
			roots->own[kept++] = roots->own[i];
		else if (last->end < roots->own[i].end)
			last->end = roots->own[i].end;
	}
	roots->owns = kept;
}

/* Large allocations lie in segments, which are listed, too. */
static bool take_own(struct roots *roots, struct json_object *regions)
{
	struct json_object *list = model_member(regions, "regions");

	roots->own = calloc(model_length(list) + 1, sizeof(*roots->own));
	if (!roots->own)
		return false;
	for (size_t i = 0; i < model_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		struct span span;

		if (model_length(row) != 3)
			continue;
		span.start = json_object_get_uint64(json_object_array_get_idx(row, 1));
		span.end = span.start + json_object_get_uint64(json_object_array_get_idx(row, 2));
		if (span.end > span.start)
			roots->own[roots->owns++] = span;
	}
	join(roots);
	return true;
}

/* --- threads ------------------------------------------------------------------------------------- */

static int see_thread(const struct memory_thread *thread, void *arg)
{
	struct roots *roots = arg;
	uint64_t *sp;

	roots->visitor->words(thread->words, thread->count, roots->visitor->arg);
	if (!thread->sp)
		return 0;
	sp = array_with_room(roots->sp, roots->sps, &roots->sp_room, sizeof(*sp));
	if (!sp)
		return -ENOMEM;
	roots->sp = sp;
	roots->sp[roots->sps++] = thread->sp;
	return 0;
}

/* Where the used part of a range begins: at the lowest stack pointer in a stack. */
static uint64_t start_of(const struct roots *roots, const struct memory_range *range)
{
	uint64_t lowest = range->end;

	for (size_t i = 0; range->is_stack && i < roots->sps; i++) {
		const uint64_t sp = roots->sp[i];

		if (sp >= range->start && sp < lowest)
			lowest = sp;
	}
	if (lowest == range->end || lowest - range->start < RED_ZONE_BYTES)
		return range->start;
	return (lowest - RED_ZONE_BYTES) & ~UINT64_C(7);
}

/* --- ranges --------------------------------------------------------------------------------------- */

/* The first span that ends behind an address. */
static size_t find_own(const struct roots *roots, uint64_t address)
{
	size_t low = 0, high = roots->owns;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (roots->own[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int see_range(const struct memory_range *range, void *arg)
{
	const struct roots *roots = arg;
	uint64_t at = start_of(roots, range);

	for (size_t i = find_own(roots, at); at < range->end; i++) {
		uint64_t end = range->end;

		if (i < roots->owns && roots->own[i].start < end)
			end = roots->own[i].start > at ? roots->own[i].start : at;
		if (end > at)
			roots->visitor->range(at, end, roots->visitor->arg);
		if (end == range->end)
			break;
		if (roots->own[i].end > at)
			at = roots->own[i].end;
	}
	return 0;
}

bool roots_visit(struct memory *memory, struct json_object *regions,
		 const struct root_visitor *visitor)
{
	struct roots roots = {.visitor = visitor};
	int error = take_own(&roots, regions) ? 0 : -ENOMEM;

	if (!error)
		error = memory_each_thread(memory, see_thread, &roots);
	if (!error)
		error = memory_each_range(memory, see_range, &roots);
	if (error)
		fail("the memory of process %d (%s) cannot be searched: %s", memory_pid(memory),
		     memory_command(memory), strerror(-error));
	free(roots.own);
	free(roots.sp);
	return !error;
}
