/* SPDX-License-Identifier: MIT */
/*
 * The page of one cache. It may be longer than the screen, so it is drawn on a separate
 * sheet; the screen shows a part of the sheet.
 */
#include "occupancy.h"
#include "select.h"
#include "top.h"
#include "top_picture.h"

/* --- the map of its slabs: one or two characters for each ------------------------------------ */

struct map_form {
	bool utf8;    /* shades of occupancy; else digits 0 … 9 */
	bool letters; /* states as letters if there is no room for state and occupancy */
};

/*
 * Slabs are in the order of occupancy.h: the partial ones, the full ones, the empty ones and the
 * others. The shade shows how much of a slab is in use; the colour, and the letter if there is
 * room, show its state.
 */

static const char state_letters[STATES] = {
	[STATE_PARTIAL] = 'p', [STATE_FULL] = 'F',   [STATE_EMPTY] = 'e',
	[STATE_DEBUG] = 'D',   [STATE_LEGACY] = 'l', [STATE_GUARDED] = 'G',
};

static enum style state_style(enum slab_state state)
{
	static const enum style styles[STATES] = {
		[STATE_PARTIAL] = STYLE_SLAB_PARTIAL, [STATE_FULL] = STYLE_SLAB_FULL,
		[STATE_EMPTY] = STYLE_SLAB_EMPTY,     [STATE_DEBUG] = STYLE_SLAB_DEBUG,
		[STATE_LEGACY] = STYLE_SLAB_LEGACY,   [STATE_GUARDED] = STYLE_SLAB_GUARDED,
	};

	return styles[state];
}

/* An empty slab has the lightest shade, not a blank. */
static const char *shade(const struct map_form *form, const struct slab_info *slab)
{
	static const char *const blocks[] = {"·", "░", "▒", "▓", "█"};
	static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
	const size_t steps = form->utf8 ? 4 : 9;
	size_t step;

	if (slab->used >= slab->room)
		return form->utf8 ? blocks[4] : digits[9];
	/* Only an empty slab has the lowest step, and only a full one the highest. */
	step = slab->used ? 1 + (size_t)(slab->used * (steps - 1) / slab->room) : 0;
	return form->utf8 ? blocks[step] : digits[step];
}

/* --- Legend */

static int draw_states(const struct occupancy *occupancy, const struct map_form *form,
		       struct picture *picture, int row)
{
	uint64_t slabs[STATES] = {0};
	int column = 0;

	for (size_t i = 0; i < occupancy->count; i++)
		slabs[occupancy->slabs[i].state]++;
	for (unsigned state = 0; state < STATES; state++) {
		if (slabs[state])
			picture_flow(picture, &row, &column, 0, state_style((enum slab_state)state),
				     "%c %s %" PRIu64, state_letters[state],
				     state_name((enum slab_state)state), slabs[state]);
	}
	picture_flow(picture, &row, &column, 0, STYLE_FAINT, "%s",
		     form->utf8 ? "· empty ░▒▓ █ full" : "0 empty ... 9 full");
	return row + 1;
}

/* --- Places */

/* A copy merged to fit the places; occupancy_free() it. */
static bool fit(const struct occupancy *occupancy, size_t places, struct occupancy *fitting)
{
	unsigned neighbours = (unsigned)(occupancy->count / places) + 1;

	*fitting = *occupancy;
	fitting->slabs = calloc(occupancy->count, sizeof(*fitting->slabs));
	while (fitting->slabs) {
		memcpy(fitting->slabs, occupancy->slabs,
		       occupancy->count * sizeof(*fitting->slabs));
		fitting->count = occupancy->count;
		occupancy_merge(fitting, neighbours);
		if (fitting->count <= places || neighbours > occupancy->count)
			return true;
		neighbours += neighbours / 16 + 1;
	}
	return false;
}

static void draw_place(const struct slab_info *slab, const struct map_form *form, int width,
		       struct picture *picture, int row, int column)
{
	enum style style = state_style(slab->state);

	if (width == 2 || form->letters)
		column = picture_put(picture, row, column, style, "%c", state_letters[slab->state]);
	if (width == 2 || !form->letters)
		picture_put(picture, row, column, style, "%s", shade(form, slab));
}

static int draw_places(const struct occupancy *slabs, const struct map_form *form, int width,
		       struct picture *picture, int row, int rows)
{
	const int pitch = width == 2 ? 3 : 1, in_row = picture->columns / pitch;
	int i = 0;

	for (; (size_t)i < slabs->count && i / in_row < rows; i++)
		draw_place(&slabs->slabs[i], form, width, picture, row + i / in_row,
			   i % in_row * pitch);
	return row + (i + in_row - 1) / in_row;
}

/* The number of slabs in a place, if more than one. */
static int draw_scale(const struct occupancy *occupancy, const struct occupancy *fitting,
		      struct picture *picture, int row)
{
	unsigned most = 1;
	int column = 0;

	for (size_t i = 0; i < fitting->count; i++)
		most = fitting->slabs[i].slabs > most ? fitting->slabs[i].slabs : most;
	if (most > 1)
		picture_add(picture, row, &column, STYLE_FAINT, "each place: up to %u slabs", most);
	if (occupancy->total > occupancy->count)
		picture_add(picture, row, &column, STYLE_BAD, "the first %zu of %" PRIu64 " slabs",
			    occupancy->count, occupancy->total);
	return column ? row + 1 : row;
}

static int map_draw(const struct occupancy *occupancy, const struct map_form *form,
		    struct picture *picture, int row, int rows)
{
	const size_t places = (size_t)picture->columns * (size_t)rows;
	const size_t wide_places = (size_t)(picture->columns / 3) * (size_t)rows;
	struct occupancy fitting;

	row = draw_states(occupancy, form, picture, row);
	if (!fit(occupancy, places, &fitting))
		return row;
	row = draw_scale(occupancy, &fitting, picture, row);
	row = draw_places(&fitting, form, fitting.count <= wide_places ? 2 : 1, picture, row, rows);
	occupancy_free(&fitting);
	return row;
}

#define SHEET_ROWS 400
#define MAP_ROWS_MIN 4
#define MAP_ROWS_MAX 100
#define LABEL_WIDTH 9
#define LEGEND_ROWS 3 /* states, scale */
#define EVENT_ROWS 4

struct sheet {
	const struct top *top;
	const struct top_row *chosen;
	struct picture picture;
	int row, column; /* where the next piece goes */
};

/* Lines of pieces */

static void start_line(struct sheet *sheet, const char *label)
{
	picture_put(&sheet->picture, sheet->row, 0, STYLE_STRONG, "%s", label);
	sheet->column = LABEL_WIDTH - 2;
}

static void end_line(struct sheet *sheet)
{
	sheet->row++;
}

/* A piece of a line, on the next one where this one is full. */
#define add(sheet, style, ...)                                                                     \
	picture_flow(&(sheet)->picture, &(sheet)->row, &(sheet)->column, LABEL_WIDTH, style,       \
		     __VA_ARGS__)

/* Numbers */

static void draw_names(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;

	start_line(sheet, "Cache");
	add(sheet, STYLE_STRONG, "%s", cache->name);
	end_line(sheet);
}

static void draw_objects(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;

	start_line(sheet, "Objects");
	add(sheet, STYLE_PLAIN, "%" PRIu64 " in use", cache->objects);
	add(sheet, STYLE_PLAIN, "room for %" PRIu64, cache->total_objects);
	add(sheet, STYLE_PLAIN, "%" PRIu64 " held by CPUs", cache->cpu_objects);
	add(sheet, STYLE_PLAIN, "%" PRIu64 " bytes each, %" PRIu64 " apart", cache->object_size,
	    cache->slab_size);
	end_line(sheet);
}

static void draw_space(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;
	char text[NUMBER_TEXT];

	start_line(sheet, "Space");
	add(sheet, STYLE_PLAIN, "%s", size_shown(&sheet->top->options, text, cache->slab_bytes));
	add(sheet, STYLE_PLAIN, "in use %s",
	    size_shown(&sheet->top->options, text, cache_used_bytes(cache)));
	add(sheet, STYLE_PLAIN, "lost %s (%" PRIu64 "%%)",
	    size_shown(&sheet->top->options, text, cache_loss(cache)),
	    percent(cache_loss(cache), cache->slab_bytes));
	end_line(sheet);
}

static void draw_slabs(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;
	char text[NUMBER_TEXT];

	start_line(sheet, "Slabs");
	add(sheet, STYLE_PLAIN, "%" PRIu64, cache->slabs);
	add(sheet, STYLE_PLAIN, "partial %" PRIu64, cache->partial);
	add(sheet, STYLE_PLAIN, "full %" PRIu64, cache->full);
	add(sheet, STYLE_PLAIN, "empty %" PRIu64, cache->empty);
	add(sheet, STYLE_PLAIN, "next %s",
	    size_shown(&sheet->top->options, text, cache_slab_bytes(cache)));
	add(sheet, STYLE_PLAIN, "for %" PRIu64 " objects", cache->objects_per_slab);
	end_line(sheet);
}

static void draw_debugging(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;
	const char *debug_flags = model_text(cache->json, "debug_flags");

	start_line(sheet, "Errors");
	add(sheet, cache->errors ? STYLE_BAD : STYLE_PLAIN, "%" PRIu64, cache->errors);
	if (strcmp(debug_flags, "-") != 0)
		add(sheet, STYLE_DEBUG_FLAGS, "debug flags %s", debug_flags);
	else
		add(sheet, STYLE_PLAIN, "no debug flags");
	if (cache->debug_slabs)
		add(sheet, STYLE_PLAIN, "debug slabs %" PRIu64, cache->debug_slabs);
	if (cache->legacy_slabs)
		add(sheet, STYLE_PLAIN, "legacy slabs %" PRIu64, cache->legacy_slabs);
	if (cache->sample)
		add(sheet, STYLE_PLAIN, "one in %" PRIu64 " guarded", cache->sample);
	end_line(sheet);
}

static void draw_rates(struct sheet *sheet)
{
	const struct top_row *row = sheet->chosen;
	char text[NUMBER_TEXT];

	start_line(sheet, "Rates");
	add(sheet, STYLE_PLAIN, "alloc %s/s", top_rate_text(text, row->alloc));
	add(sheet, STYLE_PLAIN, "free %s/s", top_rate_text(text, row->free));
	add(sheet, STYLE_PLAIN, "slow alloc %s/s", top_rate_text(text, row->slow_alloc));
	add(sheet, STYLE_PLAIN, "slow free %s/s", top_rate_text(text, row->slow_free));
	end_line(sheet);
	if (sheet->top->count_trouble[0])
		picture_put(&sheet->picture, sheet->row++, LABEL_WIDTH, STYLE_FAINT,
			    "not counted: %s", sheet->top->count_trouble);
}

static void draw_nodes(struct sheet *sheet)
{
	struct json_object *nodes = model_member(sheet->chosen->cache->json, "nodes");

	if (model_length(nodes) < 2)
		return;
	for (size_t i = 0; i < model_length(nodes); i++) {
		struct json_object *node = json_object_array_get_idx(nodes, i);

		picture_put(&sheet->picture, sheet->row++, 0, STYLE_PLAIN,
			    "Node %-3zu objects %-9" PRIu64 " slabs %-7" PRIu64 " partial %" PRIu64,
			    i, model_number(node, "objects"), model_number(node, "slabs"),
			    model_number(node, "partial"));
	}
}

/* Event rates since the last look; slabinfo -r has the totals. */
static void draw_events(struct sheet *sheet)
{
	const struct top_row *row = sheet->chosen;
	struct json_object *events = model_member(row->cache->json, "events");
	char text[NUMBER_TEXT];
	bool none = true;

	if (!row->before || !json_object_is_type(events, json_type_object))
		return;
	start_line(sheet, "Events/s");
	struct json_object_iterator it = json_object_iter_begin(events),
				    end = json_object_iter_end(events);

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *name = json_object_iter_peek_name(&it);
		uint64_t count = json_object_get_uint64(json_object_iter_peek_value(&it));
		double rate = top_rate(sheet->top, row, count, model_event(row->before, name));

		none = none && rate <= 0;
		if (rate > 0)
			add(sheet, STYLE_PLAIN, "%s %s", name, top_rate_text(text, rate));
	}
	if (none)
		add(sheet, STYLE_PLAIN, "none");
	end_line(sheet);
}

/* The map, on the rest of the screen. */
static void draw_map(struct sheet *sheet, int rows)
{
	const struct top *top = sheet->top;
	const struct map_form form = {top->utf8, top->map_letters};
	int left = rows - sheet->row - LEGEND_ROWS - EVENT_ROWS;

	left = left < MAP_ROWS_MIN ? MAP_ROWS_MIN : left > MAP_ROWS_MAX ? MAP_ROWS_MAX : left;
	if (top->slabs_trouble[0])
		picture_put(&sheet->picture, sheet->row++, 0, STYLE_FAINT, "No map: %s",
			    top->slabs_trouble);
	else if (strcmp(top->slabs_of, sheet->chosen->cache->name) != 0 || !top->slabs.count)
		picture_put(&sheet->picture, sheet->row++, 0, STYLE_FAINT, "It has no slabs.");
	else
		sheet->row = map_draw(&top->slabs, &form, &sheet->picture, sheet->row, left);
}

static void draw_sheet(struct sheet *sheet, int rows)
{
	draw_names(sheet);
	draw_objects(sheet);
	draw_space(sheet);
	draw_slabs(sheet);
	draw_debugging(sheet);
	draw_rates(sheet);
	draw_nodes(sheet);
	draw_map(sheet, rows);
	draw_events(sheet);
}

void top_draw_detail(struct top *top, struct picture *picture, int row, int rows)
{
	struct sheet sheet = {.top = top, .chosen = top_row_chosen(top)};

	if (!sheet.chosen) {
		picture_put(picture, row, 0, STYLE_FAINT, "There is no cache %s now.",
			    top->selected);
		return;
	}
	if (!picture_make(&sheet.picture, SHEET_ROWS, picture->columns))
		return;
	draw_sheet(&sheet, rows);
	top->scroll_max = sheet.row > rows ? sheet.row - rows : 0;
	top->scroll = top->scroll < top->scroll_max ? top->scroll : top->scroll_max;
	picture_copy(picture, row, rows, &sheet.picture, top->scroll);
	picture_free(&sheet.picture);
}
