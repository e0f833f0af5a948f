/* SPDX-License-Identifier: MIT */
/* Reading the answer to the request "slabs", and sorting and merging slabs for the maps. */
#include "occupancy.h"

static const char *const state_names[STATES] = {"partial", "full",   "empty",
						"debug",   "legacy", "guarded"};

/* The columns of a row (docs/schema). */
enum { ADDRESS, USED, ROOM, STATE, NODE, DEBUG_FLAGS, COLUMNS };

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

	if (model_length(row) < COLUMNS)
		return false;
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

static bool load(struct occupancy *occupancy, struct json_object *answer)
{
	struct json_object *rows = model_member(answer, "slabs");
	size_t count = model_length(rows);

	if (!json_object_is_type(rows, json_type_array))
		return false;
	occupancy->total = model_number(answer, "total");
	occupancy->slabs = calloc(count ? count : 1, sizeof(*occupancy->slabs));
	if (!occupancy->slabs)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!load_row(&occupancy->slabs[i], json_object_array_get_idx(rows, i)))
			return false;
	}
	occupancy->count = count;
	if (occupancy->total < count)
		occupancy->total = count;
	qsort(occupancy->slabs, count, sizeof(*occupancy->slabs), compare_slabs);
	return true;
}

bool occupancy_take(struct occupancy *occupancy, struct process *process, const char *name)
{
	struct json_object *answer = attach_query(process, "slabs", name);
	bool loaded;

	memset(occupancy, 0, sizeof(*occupancy));
	if (!answer)
		return false;
	loaded = load(occupancy, answer);
	json_object_put(answer);
	if (loaded)
		return true;
	occupancy_free(occupancy);
	fail("process %d (%s) sent slabs of %s in an unknown format", process->pid,
	     process->command, name);
	return false;
}

void occupancy_free(struct occupancy *occupancy)
{
	free(occupancy->slabs);
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
