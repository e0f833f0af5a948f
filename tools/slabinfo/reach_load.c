/* SPDX-License-Identifier: MIT */
/* The objects of a process, from the answers to "objects" and "regions", and a table from addresses
 * to slabs. */
#include "array.h"
#include "fail.h"
#include "model.h"
#include "reach.h"

#include <slab/slab.h>

/* A slab of more units is none. */
#define UNITS_MAX (UINT64_C(1) << 32)

static bool add(struct reach *reach, const struct reach_slab *slab)
{
	struct reach_slab *slabs;

	if (slab->end <= slab->first || !slab->count)
		return true;
	slabs = array_with_room(reach->slab, reach->slabs, &reach->slab_room, sizeof(*slabs));
	if (!slabs)
		return false;
	reach->slab = slabs;
	reach->slab[reach->slabs++] = *slab;
	return true;
}

static uint64_t element(struct json_object *row, size_t i)
{
	return json_object_get_uint64(json_object_array_get_idx(row, i));
}

/* [cache, address, stride, "states", [stack, …]] */
static bool add_row(struct reach *reach, struct json_object *caches, struct json_object *row)
{
	struct json_object *states = json_object_array_get_idx(row, 3);
	struct json_object *stacks = json_object_array_get_idx(row, 4);
	struct reach_slab slab = {.first = element(row, 1), .stride = element(row, 2)};
	const uint64_t cache = element(row, 0);

	if (cache >= model_length(caches) || !json_object_is_type(states, json_type_string))
		return true;
	slab.cache = (uint32_t)cache;
	slab.states = json_object_get_string(states);
	slab.count = (uint32_t)json_object_get_string_len(states);
	slab.size = model_number(json_object_array_get_idx(caches, cache), "object_size");
	if (model_length(stacks) == slab.count)
		slab.stacks = stacks;
	if (!slab.size || slab.size > SLAB_MAX_OBJECT_SIZE || slab.stride < slab.size ||
	    slab.stride > SLAB_MAX_OBJECT_SIZE * 16)
		return true;
	slab.end = slab.first + (uint64_t)slab.count * slab.stride;
	return add(reach, &slab);
}

static bool add_rows(struct reach *reach)
{
	struct json_object *caches = model_member(reach->objects, "caches");
	struct json_object *rows = model_member(reach->objects, "slabs");
	bool added = true;

	for (size_t i = 0; i < model_length(rows) && added; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (model_length(row) == 5)
			added = add_row(reach, caches, row);
	}
	return added;
}

static bool add_large(struct reach *reach)
{
	struct json_object *regions = model_member(reach->regions, "regions");
	bool added = true;

	for (size_t i = 0; i < model_length(regions) && added; i++) {
		struct json_object *row = json_object_array_get_idx(regions, i);
		struct reach_slab slab = {.cache = REACH_LARGE, .count = 1, .states = "a"};

		if (model_length(row) != 3 ||
		    strcmp(json_object_get_string(json_object_array_get_idx(row, 0)), "large") != 0)
			continue;
		slab.first = element(row, 1);
		slab.stride = slab.size = element(row, 2);
		slab.end = slab.first + slab.size;
		added = add(reach, &slab);
	}
	return added;
}

static int by_address(const void *a, const void *b)
{
	const struct reach_slab *left = a, *right = b;

	return (left->first > right->first) - (left->first < right->first);
}

/* Slabs do not overlap, unless the process was damaged: the first one counts. */
static void sort_slabs(struct reach *reach)
{
	size_t kept = 0;

	if (reach->slabs)
		qsort(reach->slab, reach->slabs, sizeof(*reach->slab), by_address);
	for (size_t i = 0; i < reach->slabs; i++) {
		if (!kept || reach->slab[kept - 1].end <= reach->slab[i].first)
			reach->slab[kept++] = reach->slab[i];
	}
	reach->slabs = kept;
	reach->lowest = kept ? reach->slab[0].first : 0;
	reach->highest = kept ? reach->slab[kept - 1].end : 0;
}

static uint64_t units_of(const struct reach_slab *slab)
{
	return ((slab->end - 1) >> REACH_UNIT_SHIFT) - (slab->first >> REACH_UNIT_SHIFT) + 1;
}

/* Number the marks, and count units. 0: there are too many. */
static uint64_t count_all(struct reach *reach)
{
	uint64_t units = 0;

	for (size_t i = 0; i < reach->slabs; i++) {
		struct reach_slab *slab = &reach->slab[i];

		slab->mark = reach->count;
		reach->count += slab->count;
		units += units_of(slab);
		if (units > UNITS_MAX)
			return 0;
	}
	return units + 1;
}

static bool make_tables(struct reach *reach)
{
	uint64_t units = count_all(reach);

	if (!units || reach->slabs >= UINT32_MAX)
		return false;
	reach->units = 64;
	while (reach->units < 2 * units)
		reach->units *= 2;
	reach->unit = calloc(reach->units, sizeof(*reach->unit));
	reach->mark = calloc(reach->count + 1, 1);
	reach->work = calloc(reach->count + 1, sizeof(*reach->work));
	reach->buffer = malloc(REACH_BUFFER);
	return reach->unit && reach->mark && reach->work && reach->buffer;
}

static void fill_table(struct reach *reach)
{
	for (size_t i = 0; i < reach->slabs; i++) {
		const struct reach_slab *slab = &reach->slab[i];

		for (uint64_t unit = 0; unit < units_of(slab); unit++)
			*reach_entry(reach, slab->first + (unit << REACH_UNIT_SHIFT)) =
				(uint32_t)i + 1;
	}
}

bool reach_load(struct reach *reach, struct memory *memory, struct json_object *objects,
		struct json_object *regions)
{
	*reach = (struct reach){.memory = memory, .objects = objects, .regions = regions};
	if (!add_rows(reach) || !add_large(reach)) {
		fail("no memory for %zu slabs", reach->slabs);
		return false;
	}
	sort_slabs(reach);
	if (!make_tables(reach)) {
		fail("no memory for %zu objects", reach->count);
		return false;
	}
	fill_table(reach);
	return true;
}

void reach_free(struct reach *reach)
{
	json_object_put(reach->objects);
	json_object_put(reach->regions);
	free(reach->slab);
	free(reach->unit);
	free(reach->mark);
	free(reach->work);
	free(reach->buffer);
	free(reach->leak);
	*reach = (struct reach){.memory = NULL};
}

/* --- roots -------------------------------------------------------------------------------- */

/*
 * Roots. libslab's own memory is left out: its descriptors have the address of every slab, arrays
 * have those of objects that were freed, and objects themselves are searched only when they are
 * reached. The handles of caches stay in, since a cache keeps the pointer for its constructor.
 */

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

/* --- threads ---------------------------------------------------------------------------------- */

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

/* --- ranges ----------------------------------------------------------------------------------- */

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
