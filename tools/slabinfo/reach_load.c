/* SPDX-License-Identifier: MIT */
/* The objects of a process, from the answers to "objects" and "regions", and a table from addresses to
 * slabs. */
#include "reach.h"
#include "array.h"
#include "fail.h"
#include "model.h"

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
