/* SPDX-License-Identifier: MIT */
/* Reading the answers to the request "slabs", and sorting and merging slabs for the maps. */
#include "occupancy.h"
#include "array.h"
#include "select.h"

static const char *const state_names[STATES] = {"partial", "full",   "empty",
						"debug",   "legacy", "guarded"};

/* The columns of a row (docs/schema). */
enum { CACHE, ADDRESS, USED, ROOM, STATE, NODE, DEBUG_FLAGS, COLUMNS };

const char *state_name(enum slab_state state)
{
	return state_names[state];
}

static bool load_state(struct slab_info *slab, const char *name)
{
	for (size_t state = 0; name && state < STATES; state++) {
		if (strcmp(name, state_names[state]) == 0) {
			slab->state = (enum slab_state)state;
			return true;
		}
	}
	return false;
}

static bool load_row(struct slab_info *slab, struct json_object *row)
{
	struct json_object *cells[COLUMNS];
	const char *debug_flags;

	for (size_t i = 0; i < COLUMNS; i++)
		cells[i] = json_object_array_get_idx(row, i);
	memset(slab, 0, sizeof(*slab));
	slab->address = json_object_get_uint64(cells[ADDRESS]);
	slab->used = json_object_get_uint64(cells[USED]);
	slab->room = json_object_get_uint64(cells[ROOM]);
	slab->node = json_object_get_int(cells[NODE]);
	slab->slabs = 1;
	debug_flags = json_object_get_string(cells[DEBUG_FLAGS]);
	if (debug_flags && strcmp(debug_flags, "-") != 0)
		snprintf(slab->debug_flags, sizeof(slab->debug_flags), "%s", debug_flags);
	return load_state(slab, json_object_get_string(cells[STATE]));
}

/* Groups are numbered by state, and those of one state by node. */
static int compare_groups(const struct slab_info *a, const struct slab_info *b)
{
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static int compare_slabs(const void *left, const void *right)
{
	const struct slab_info *a = left, *b = right;
	int order = compare_groups(a, b);

	return order ? order : (a->address > b->address) - (a->address < b->address);
}

static bool add_row(struct occupancy *occupancy, struct json_object *row)
{
	struct slab_info *slab = array_with_room(occupancy->slabs, occupancy->count,
						 &occupancy->room, sizeof(*slab));

	if (!slab)
		return false;
	occupancy->slabs = slab;
	return load_row(&slab[occupancy->count++], row);
}

static bool add_rows(struct occupancy *of, const size_t *places, size_t count,
		     struct json_object *answer)
{
	struct json_object *listed = model_member(answer, "caches");
	struct json_object *rows = model_member(answer, "slabs");

	for (size_t i = 0; i < model_length(listed); i++)
		if (places[i] < count)
			of[places[i]].total =
				model_number(json_object_array_get_idx(listed, i), "total");
	for (size_t i = 0; i < model_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		const uint64_t number =
			model_length(row) < COLUMNS
				? UINT64_MAX
				: json_object_get_uint64(json_object_array_get_idx(row, CACHE));

		if (number >= model_length(listed) ||
		    (places[number] < count && !add_row(&of[places[number]], row)))
			return false;
	}
	return json_object_is_type(rows, json_type_array);
}

static bool take(struct occupancy *of, struct process *process, const char *name,
		 const struct cache *caches, size_t count)
{
	struct json_object *answer = attach_query(process, "slabs", name);
	size_t *places =
		answer ? select_places(model_member(answer, "caches"), caches, count) : NULL;
	const bool loaded = places && add_rows(of, places, count, answer);

	if (answer && !loaded)
		fail("process %d (%s) sent slabs in an unknown format", process->pid,
		     process->command);
	for (size_t i = 0; i < count; i++) {
		if (!loaded)
			occupancy_free(&of[i]);
		else if (of[i].count)
			qsort(of[i].slabs, of[i].count, sizeof(*of[i].slabs), compare_slabs);
		if (of[i].total < of[i].count)
			of[i].total = of[i].count;
	}
	free(places);
	json_object_put(answer);
	return loaded;
}

bool occupancy_take(struct occupancy *occupancy, struct process *process, const char *name)
{
	const struct cache cache = {.name = name};

	memset(occupancy, 0, sizeof(*occupancy));
	return take(occupancy, process, name, &cache, 1);
}

bool occupancy_take_all(struct occupancy *of, struct process *process, const struct model *model)
{
	memset(of, 0, model->count * sizeof(*of));
	return take(of, process, NULL, model->caches, model->count);
}

void occupancy_free(struct occupancy *occupancy)
{
	free(occupancy->slabs);
	*occupancy = (struct occupancy){.slabs = NULL};
}

size_t occupancy_group(const struct occupancy *occupancy, size_t first)
{
	size_t after = first + 1;

	while (after < occupancy->count &&
	       compare_groups(&occupancy->slabs[first], &occupancy->slabs[after]) == 0)
		after++;
	return after - first;
}

void occupancy_merge(struct occupancy *occupancy, unsigned neighbours)
{
	size_t count = 0;

	for (size_t i = 0; i < occupancy->count; i++) {
		const struct slab_info *slab = &occupancy->slabs[i];
		struct slab_info *last = count ? &occupancy->slabs[count - 1] : NULL;

		if (last && last->slabs < neighbours && compare_groups(last, slab) == 0) {
			last->used += slab->used;
			last->room += slab->room;
			last->slabs++;
		} else {
			occupancy->slabs[count++] = *slab;
		}
	}
	occupancy->count = count;
}
