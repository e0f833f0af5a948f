/* SPDX-License-Identifier: MIT */
/*
 * Loading a heap profile (heap.h).
 *
 * A sample of an object of `size` bytes was taken with the chance 1 - exp(-size / period), so it
 * stands for the inverse of that number of objects.
 */
#include "heap.h"
#include "model.h"
#include "symbolizer.h"

#include <math.h>

/* --- places ---------------------------------------------------------------------------- */

static char *printable_copy(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (copy)
		make_printable(copy);
	return copy;
}

/* The names are lost without memory. */
static void take_frames(struct heap_place *place, const struct symbol_frame *frame, size_t count)
{
	place->call = calloc(count + 1, sizeof(*place->call));
	for (size_t i = 0; place->call && i < count; i++) {
		struct heap_call *call = &place->call[i];

		call->function = printable_copy(frame[i].function);
		call->file = printable_copy(frame[i].file);
		call->line = frame[i].line;
		place->calls += call->function != NULL;
		if (!call->function)
			return;
	}
}

/* A stack that goes on ends in NULL. */
static void look_up(struct heap *heap, struct symbolizer *symbolizer, struct heap_place *place,
		    struct json_object *frame)
{
	const char *file = model_raw_text(frame, "file");
	const struct symbol_frame *functions;
	size_t count;

	place->object = model_text(frame, "file");
	place->offset = model_number(frame, "offset");
	place->is_mapped =
		heap->maps && memory_mapped_at(heap->maps, place->address, &place->mapped);
	if (!(place->address + 1))
		take_frames(place, &(struct symbol_frame){.function = "…"}, 1);
	if (!*file)
		return;
	functions = symbolizer_lookup(symbolizer, file, place->offset, CALLEE_UNKNOWN, &count);
	take_frames(place, functions, count);
}

/* The entry of an address in the hash table: its number + 1, or 0 where it is to be put. */
static size_t *find_entry(const struct heap *heap, uint64_t address)
{
	size_t i = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; i++) {
		size_t *entry = &heap->index[i & (heap->index_room - 1)];

		if (!*entry || heap->place[*entry - 1].address == address)
			return entry;
	}
}

/* The number of the place of a return address. */
static size_t place_of(struct heap *heap, struct symbolizer *symbolizer, struct json_object *frame)
{
	const uint64_t address = model_number(frame, "address") - 1;
	size_t *entry = find_entry(heap, address);

	if (!*entry) {
		struct heap_place *place = &heap->place[heap->places];

		*place = (struct heap_place){.address = address};
		look_up(heap, symbolizer, place, frame);
		*entry = ++heap->places;
	}
	return *entry - 1;
}

const char *heap_place_text(const struct heap_place *place, char text[HEAP_TEXT])
{
	const char *slash = strrchr(place->object, '/');

	if (place->calls)
		snprintf(text, HEAP_TEXT, "%s", place->call[0].function);
	else if (*place->object)
		snprintf(text, HEAP_TEXT, "%.*s+0x%" PRIx64, HEAP_TEXT - 24,
			 slash ? slash + 1 : place->object, place->offset);
	else
		snprintf(text, HEAP_TEXT, "0x%" PRIx64, place->address);
	return text;
}

/* --- sites ------------------------------------------------------------------------------ */

static void take_waste(struct heap *heap, struct heap_site *site, struct json_object *json)
{
	site->inuse_objects = (double)model_number(json, "objects");
	site->inuse_bytes = (double)model_number(json, "bytes");
	heap->inuse_bytes += site->inuse_bytes;
}

static void estimate(struct heap *heap, struct heap_site *site, struct json_object *json)
{
	const uint64_t period = model_number(json, "period"), freed = model_number(json, "freed");
	const double chance = -expm1(-(double)site->size / (double)(period ? period : 1));
	const double weight = chance > 0 ? 1 / chance : 0, size = (double)site->size;
	uint64_t now;

	site->samples = model_number(json, "allocated");
	now = site->samples > freed ? site->samples - freed : 0;
	site->alloc_objects = (double)site->samples * weight;
	site->inuse_objects =
		(double)(heap->part == HEAP_AT_PEAK ? model_number(json, "at_peak") : now) * weight;
	site->alloc_bytes = site->alloc_objects * size;
	site->inuse_bytes = site->inuse_objects * size;
	site->freed_objects = (double)(site->samples - now) * weight;
	site->now_bytes = (double)now * weight * size;
	heap->samples += site->samples;
	heap->inuse_bytes += site->inuse_bytes;
	heap->alloc_bytes += site->alloc_bytes;
	heap->now_bytes += site->now_bytes;
}

static size_t count_frames(struct json_object *sites)
{
	size_t frames = 0;

	for (size_t i = 0; i < model_length(sites); i++)
		frames += model_length(model_member(json_object_array_get_idx(sites, i), "stack"));
	return frames;
}

static bool make_room(struct heap *heap, size_t sites, size_t frames)
{
	heap->index_room = 64;
	while (heap->index_room < 2 * frames)
		heap->index_room *= 2;
	heap->site = calloc(sites + 1, sizeof(*heap->site));
	heap->frame = calloc(frames + 1, sizeof(*heap->frame));
	heap->place = calloc(frames + 1, sizeof(*heap->place));
	heap->index = calloc(heap->index_room, sizeof(*heap->index));
	if (heap->site && heap->frame && heap->place && heap->index)
		return true;
	fail("no memory for %zu call sites", sites);
	return false;
}

static void load_site(struct heap *heap, struct symbolizer *symbolizer, struct json_object *json,
		      size_t *frame)
{
	struct json_object *stack = model_member(json, "stack");
	struct heap_site *site = &heap->site[heap->sites++];

	*site = (struct heap_site){
		.place = frame,
		.frames = model_length(stack),
		.size = model_number(json, "size"),
		.type = model_text(json, "type"),
		.json = json,
	};
	for (size_t i = 0; i < site->frames; i++)
		frame[i] = place_of(heap, symbolizer, json_object_array_get_idx(stack, i));
	if (heap->part == HEAP_WASTE)
		take_waste(heap, site, json);
	else
		estimate(heap, site, json);
}

static bool load_sites(struct heap *heap, struct symbolizer *symbolizer)
{
	struct json_object *sites = model_member(heap->answer, "sites");
	size_t frames = 0;

	if (!make_room(heap, model_length(sites), count_frames(sites)))
		return false;
	for (size_t i = 0; i < model_length(sites); i++) {
		load_site(heap, symbolizer, json_object_array_get_idx(sites, i),
			  heap->frame + frames);
		frames += heap->site[i].frames;
	}
	return true;
}

/* --- the whole ---------------------------------------------------------------------------- */

static int report_nothing(const struct heap *heap, const struct process *process)
{
	if (heap->part == HEAP_WASTE)
		fail("no cache of process %d (%s) records who allocates; slabinfo -p %d -du REGEXP "
		     "switches that on, and --profile=512k for samples",
		     process->pid, process->command, process->pid);
	else if (heap->period)
		fail("process %d (%s) has allocated nothing that was sampled since its heap profile was "
		     "switched on",
		     process->pid, process->command);
	else if (process->way == WAY_CORE)
		fail("the heap profile of process %d (%s) was off; SLAB_PROFILE=512k switches it on",
		     process->pid, process->command);
	else
		fail("the heap profile of process %d (%s) is off; to switch it on: slabinfo -p %d "
		     "--profile=512k",
		     process->pid, process->command, process->pid);
	return EXIT_NOTHING;
}

int heap_load(struct heap *heap, struct process *process, enum heap_part part)
{
	struct symbolizer *symbolizer;
	bool loaded;

	memset(heap, 0, sizeof(*heap));
	heap->part = part;
	heap->answer = attach_query(process, part == HEAP_WASTE ? "waste" : "profile", NULL);
	if (!heap->answer)
		return EXIT_NOTHING;
	heap->period = model_number(heap->answer, "period");
	heap->missed = model_number(heap->answer, "missed");
	if (!model_length(model_member(heap->answer, "sites")))
		return report_nothing(heap, process);
	if (!process->memory)
		heap->own_maps = memory_open_maps(process->pid);
	heap->maps = process->memory ? process->memory : heap->own_maps;
	symbolizer = symbolizer_open();
	if (!symbolizer) {
		fail("no memory for symbols");
		return EXIT_NOTHING;
	}
	loaded = load_sites(heap, symbolizer);
	symbolizer_close(symbolizer);
	return loaded ? EXIT_DONE : EXIT_NOTHING;
}

void heap_free(struct heap *heap)
{
	for (size_t i = 0; i < heap->places; i++) {
		for (size_t j = 0; j < heap->place[i].calls; j++) {
			free(heap->place[i].call[j].function);
			free(heap->place[i].call[j].file);
		}
		free(heap->place[i].call);
	}
	free(heap->site);
	free(heap->frame);
	free(heap->place);
	free(heap->index);
	memory_close(heap->own_maps);
	json_object_put(heap->answer);
}
