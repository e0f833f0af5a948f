/* SPDX-License-Identifier: MIT */
/*
 * The page of one cache. It may be longer than the screen, so it is drawn on a separate
 * sheet; the screen shows a part of the sheet.
 */
#include "top_draw.h"
#include "top_map.h"

#include "select.h"

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
