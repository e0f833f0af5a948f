/* SPDX-License-Identifier: MIT */
/* Answers about objects and memory: "objects", "object", "regions" and "validate" (docs/schema). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "regions.h"
#include "verify.h"
#include "pages/os.h"
#include "report/report.h"
#include "answer.h"
#include "control/reply.h"

/* --- objects ---------------------------------------------------------------------------- */

/* A bit for each stack id: those that the answer names. Most pages of it stay untouched. */
#define STACK_IDS (DEPOT_CHUNKS_MAX << (DEPOT_CHUNK_SHIFT - 3))
#define STACK_WORDS (STACK_IDS / 64)

struct object_rows {
	struct slab_json *json;
	uint64_t *stacks;
};

static void put_stack_ids(struct object_rows *rows, const struct inspect_objects *seen)
{
	slab_json_open(rows->json, NULL, '[');
	for (unsigned i = 0; seen->stack && i < seen->count; i++) {
		const bool shown = seen->state[i] == SEEN_ALLOCATED && seen->stack[i] < STACK_IDS;
		const uint32_t id = shown ? seen->stack[i] : 0;

		slab_json_number(rows->json, NULL, id);
		rows->stacks[id / 64] |= UINT64_C(1) << id % 64;
	}
	slab_json_close(rows->json, ']');
}

static void put_objects(struct inspection *in, struct inspect_cache *cache,
			const struct inspect_objects *seen, void *arg)
{
	struct object_rows *rows = arg;
	struct slab_json *json = rows->json;

	slab_json_open(json, NULL, '[');
	slab_json_number(json, NULL, (uint64_t)(cache - in->caches));
	slab_json_number(json, NULL, seen->first);
	slab_json_number(json, NULL, seen->stride);
	slab_json_string(json, NULL, seen->state);
	put_stack_ids(rows, seen);
	slab_json_close(json, ']');
}

static void put_stacks(struct slab_json *json, const struct inspection *in, const uint64_t *stacks)
{
	const void *frame[SLAB_STACK_MAX];

	slab_json_open(json, "sites", '[');
	for (uint32_t word = 0; word < STACK_WORDS; word++) {
		for (uint64_t left = stacks[word]; left; left &= left - 1) {
			const uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(left);

			if (!id)
				continue;
			slab_json_open(json, NULL, '{');
			slab_json_number(json, "id", id);
			inspect_put_stack(json, frame, inspect_stack(in, id, frame));
			slab_json_close(json, '}');
		}
	}
	slab_json_close(json, ']');
}

static void put_cache_list(struct slab_json *json, const struct inspection *in)
{
	slab_json_open(json, "caches", '[');
	for (size_t i = 0; i < in->count; i++) {
		slab_json_open(json, NULL, '{');
		slab_json_string(json, "name", in->caches[i].copy->name);
		slab_json_number(json, "object_size", in->caches[i].copy->object_size);
		slab_json_bool(json, "has_ctor", in->caches[i].copy->ctor);
		slab_json_close(json, '}');
	}
	slab_json_close(json, ']');
}

static void put_columns(struct slab_json *json)
{
	static const char *const columns[] = {"cache", "address", "stride", "states", "stacks"};

	slab_json_open(json, "columns", '[');
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		slab_json_string(json, NULL, columns[i]);
	slab_json_close(json, ']');
}

int inspect_put_objects(struct inspection *in, const char *name, struct slab_json *json)
{
	struct object_rows rows = {.json = json};
	int error = inspect_load_meant(in, name, json);

	if (error)
		return error;
	rows.stacks = os_map(STACK_WORDS * sizeof(uint64_t), 1);
	if (!rows.stacks)
		return -ENOMEM;
	control_begin(json, true);
	put_cache_list(json, in);
	put_columns(json);
	slab_json_open(json, "slabs", '[');
	error = inspect_each_objects(in, put_objects, &rows);
	slab_json_close(json, ']');
	put_stacks(json, in, rows.stacks);
	control_end(json);
	os_unmap(rows.stacks, STACK_WORDS * sizeof(uint64_t));
	return error;
}

/* --- one object --------------------------------------------------------------------------- */

struct wanted {
	struct slab_json *json;
	uint64_t address;
	bool found;
};

static const char *state_text(char state)
{
	switch (state) {
	case SEEN_ALLOCATED:
		return "allocated";
	case SEEN_FREE:
		return "free";
	case SEEN_HELD:
		return "free, in an array or a magazine";
	case SEEN_WAITING:
		return "freed, waits for a grace period";
	case SEEN_RESERVE:
		return "free, in the reserve";
	case SEEN_LOST:
		return "damaged, not handed out again";
	default:
		return "never handed out";
	}
}

static void put_track(struct slab_json *json, struct inspection *in, const char *name,
		      const char *record, unsigned which)
{
	struct slab_track told;
	struct track track;

	memcpy(&track, record + sizeof(struct debug_object) + which * sizeof(track), sizeof(track));
	inspect_describe_track(in, &track, &told);
	if (!told.tid)
		return;
	slab_json_open(json, name, '{');
	slab_json_number(json, "when", track.when);
	slab_json_number(json, "tid", (uint64_t)told.tid);
	slab_json_string(json, "thread", told.thread);
	if (told.cpu >= 0)
		slab_json_number(json, "cpu", (uint64_t)told.cpu);
	inspect_put_stack(json, told.frame, told.frames);
	slab_json_close(json, '}');
}

static void put_record(struct slab_json *json, struct inspection *in,
		       const struct inspect_objects *seen, uint64_t index)
{
	const struct slab_debug *debug = &seen->slab->debug;
	const char *record = seen->records + index * debug->stride;
	struct debug_object object;

	memcpy(&object, record, sizeof(object));
	slab_json_number(json, "requested", object.requested);
	if (!seen->stack || debug->stride < sizeof(object) + 2 * sizeof(struct track))
		return;
	put_track(json, in, "allocated", record, TRACK_ALLOC);
	put_track(json, in, "freed", record, TRACK_FREE);
}

static void put_object(struct inspection *in, struct inspect_cache *cache,
		       const struct inspect_objects *seen, void *arg)
{
	const struct inspect_slab *slab = seen->slab;
	struct wanted *wanted = arg;
	struct slab_json *json = wanted->json;
	uint64_t index;

	if (wanted->found || wanted->address - slab->address >= slab->bytes || !seen->count)
		return;
	wanted->found = true;
	index = (wanted->address - slab->address) / seen->stride;
	slab_json_string(json, "cache", cache->copy->name);
	slab_json_number(json, "objects", seen->count);
	slab_json_number(json, "used", slab->used);
	control_put_debug_flags(json, "debug_flags", slab->debug.debug_flags);
	slab_json_bool(json, "legacy", slab->is_legacy);
	if (index >= seen->count)
		return;
	slab_json_number(json, "index", index);
	slab_json_number(json, "address", seen->first + index * seen->stride);
	slab_json_number(json, "size",
			 seen->records ? slab->debug.object_size : cache->copy->object_size);
	slab_json_string(json, "state", state_text(seen->state[index]));
	if (seen->records && index < slab->slab.initialized)
		put_record(json, in, seen, index);
}

/* A segment is told of before the large allocations in it. */
static void put_place(enum region_kind kind, uint64_t address, uint64_t bytes, void *arg)
{
	struct wanted *wanted = arg;

	if (wanted->address - address >= bytes)
		return;
	if (!wanted->found)
		slab_json_bool(wanted->json, "own", true);
	wanted->found = true;
	if (kind != REGION_LARGE)
		return;
	slab_json_number(wanted->json, "address", address);
	slab_json_number(wanted->json, "size", bytes);
}

int inspect_put_object(struct inspection *in, const char *rest, struct slab_json *json)
{
	struct wanted wanted = {.json = json, .address = strtoull(rest, NULL, 0)};
	int error = inspect_load(in);

	if (error)
		return error;
	control_begin(json, true);
	error = inspect_each_objects(in, put_object, &wanted);
	if (!error && !wanted.found)
		error = inspect_each_region(in, put_place, &wanted);
	control_end(json);
	return error;
}

/* --- regions ---------------------------------------------------------------------------- */

static void put_region(enum region_kind kind, uint64_t address, uint64_t bytes, void *arg)
{
	static const char *const kinds[] = {
		[REGION_SEGMENT] = "segment", [REGION_LARGE] = "large",   [REGION_ARENA] = "arena",
		[REGION_ARRAYS] = "arrays",   [REGION_STACKS] = "stacks",
	};
	struct slab_json *json = arg;

	slab_json_open(json, NULL, '[');
	slab_json_string(json, NULL, kinds[kind]);
	slab_json_number(json, NULL, address);
	slab_json_number(json, NULL, bytes);
	slab_json_close(json, ']');
}

int inspect_put_regions(struct inspection *in, const char *rest, struct slab_json *json)
{
	int error = inspect_load(in);

	(void)rest;
	if (error)
		return error;
	control_begin(json, true);
	slab_json_open(json, "regions", '[');
	error = inspect_each_region(in, put_region, json);
	slab_json_close(json, ']');
	slab_json_number(json, "head_bytes", SEGMENT_HEAD_END);
	control_end(json);
	return error;
}

/* --- validate ----------------------------------------------------------------------------- */

/* The most reports of an answer: some hundred megabytes of text. */
#define REPORTS_MAX 65536u

struct report_list {
	struct inspection *in;
	struct slab_json *json;
	unsigned count;
};

static void put_report(const struct bug_info *bug, size_t cache, void *arg)
{
	struct report_list *list = arg;
	const struct bug_tracks tracks = {inspect_describe_track, list->in,
					  list->in->reader->now_ms != 0};
	char text[REPORT_MAX];

	if (list->count++ >= REPORTS_MAX || !bug_info_text(bug, &tracks, text))
		return;
	slab_json_open(list->json, NULL, '[');
	slab_json_number(list->json, NULL, cache);
	slab_json_string(list->json, NULL, text);
	slab_json_close(list->json, ']');
}

static void put_verified(struct slab_json *json, const char *name,
			 const struct inspect_verified *verified)
{
	slab_json_open(json, NULL, '{');
	slab_json_string(json, "name", name);
	slab_json_number(json, "problems", verified->problems);
	slab_json_number(json, "slabs", verified->slabs);
	slab_json_number(json, "left_out", verified->left_out);
	slab_json_number(json, "locked", verified->locked);
	slab_json_close(json, '}');
}

int inspect_put_verified(struct inspection *in, const char *name, struct slab_json *json)
{
	struct report_list list = {.in = in, .json = json};
	struct inspect_verified large = {.problems = 0};
	int error = inspect_load_meant(in, name, json);

	if (error)
		return error;
	control_begin(json, true);
	slab_json_open(json, "reports", '[');
	error = inspect_verify(in, put_report, &list);
	if (!error && !*name)
		error = inspect_verify_large(in, put_report, &list, &large);
	slab_json_close(json, ']');
	slab_json_open(json, "caches", '[');
	for (size_t i = 0; i < in->count; i++)
		put_verified(json, in->caches[i].copy->name, &in->caches[i].verified);
	if (large.slabs)
		put_verified(json, LARGE_NAME, &large);
	slab_json_close(json, ']');
	control_end(json);
	return error;
}
