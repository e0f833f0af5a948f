/* SPDX-License-Identifier: MIT */
/*
 * The page of one cache. It may be longer than the screen: it is drawn on a sheet
 * of its own, of which the screen shows a part.
 */
#include "top.h"
#include "top_map.h"

#include "select.h"

#include <inttypes.h>
#include <string.h>

#define SHEET_ROWS 400
#define MAP_ROWS_MIN 4
#define MAP_ROWS_MAX 100
#define EVENT_WIDTH 28

struct sheet {
	const struct top *top;
	const struct top_row *chosen;
	struct picture picture;
	int row; /* the next one to be drawn on */
};

/* Numbers */

static void draw_names(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;
	int column = 0;

	picture_add(&sheet->picture, sheet->row, &column, STYLE_STRONG, "%s", cache->name);
	for (size_t i = 0; i < cache->aliases; i++)
		picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "= %s",
			    cache_other_name(cache, i));
	sheet->row++;
}

static void draw_objects(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;
	char text[NUMBER_TEXT];
	int column = 0;

	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN,
		    "Objects  %" PRIu64 " of %" PRIu64, cache->objects, cache->total_objects);
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN,
		    "of %" PRIu64 " bytes (%" PRIu64 " in the slab, aligned to %" PRIu64 ")",
		    cache->object_size, cache->slab_size, cache->align);
	sheet->row++;
	column = 0;
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "Space    %s",
		    top_size_text(sheet->top, text, cache_bytes(cache)));
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "in use %s",
		    top_size_text(sheet->top, text, cache_used_bytes(cache)));
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "lost %s (%" PRIu64 "%%)",
		    top_size_text(sheet->top, text, cache_loss(cache)),
		    percent(cache_loss(cache), cache_bytes(cache)));
	sheet->row++;
}

static void draw_slabs(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;
	char text[NUMBER_TEXT];
	int column = 0;

	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "Slabs    %" PRIu64 " of %s",
		    cache->slabs, top_size_text(sheet->top, text, cache_slab_bytes(cache)));
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN,
		    "%" PRIu64 " objects in each", cache->objects_per_slab);
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN,
		    "CPUs %" PRIu64 "  partial %" PRIu64 "  full %" PRIu64, cache->cpu_slabs,
		    cache->partial, cache->full);
	sheet->row++;
}

static void draw_debugging(struct sheet *sheet)
{
	const struct cache *cache = sheet->chosen->cache;
	const char *letters = model_text(cache->json, "letters");
	int column = 0;

	picture_add(&sheet->picture, sheet->row, &column, cache->errors ? STYLE_BAD : STYLE_PLAIN,
		    "Errors   %" PRIu64, cache->errors);
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "debug letters");
	picture_put(&sheet->picture, sheet->row, column + 1, STYLE_LETTERS, "%s", letters);
	column += 1 + (int)strlen(letters);
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN,
		    "debug slabs %" PRIu64 "  draining %" PRIu64, cache->debug_slabs,
		    cache->draining_slabs);
	if (cache->sample)
		picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN,
			    "one in %" PRIu64 " guarded", cache->sample);
	sheet->row++;
}

static void draw_rates(struct sheet *sheet)
{
	const struct top_row *row = sheet->chosen;
	char alloc[NUMBER_TEXT], freed[NUMBER_TEXT];
	int column = 0;

	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "A second %s allocations",
		    top_rate_text(alloc, row->alloc));
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "%s frees",
		    top_rate_text(freed, row->free));
	picture_add(&sheet->picture, sheet->row, &column, STYLE_PLAIN, "slow %s and %s",
		    top_rate_text(alloc, row->slow_alloc), top_rate_text(freed, row->slow_free));
	sheet->row++;
	if (sheet->top->count_trouble[0])
		picture_put(&sheet->picture, sheet->row++, 0, STYLE_FAINT, "Not counted: %s",
			    sheet->top->count_trouble);
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

/* Events */

static void draw_event(struct sheet *sheet, const char *name, uint64_t now, int column)
{
	const struct top_row *row = sheet->chosen;
	uint64_t before = row->before ? model_event(row->before, name) : 0;
	double rate = top_rate(sheet->top, row, now, before);
	char text[NUMBER_TEXT];

	picture_put(&sheet->picture, sheet->row, column, rate > 0 ? STYLE_PLAIN : STYLE_FAINT,
		    "%-19s %6s", name, top_rate_text(text, rate));
}

static void draw_events(struct sheet *sheet)
{
	struct json_object *events = model_member(sheet->chosen->cache->json, "events");
	const int in_row = sheet->picture.columns / EVENT_WIDTH + 1;
	const int across = in_row * EVENT_WIDTH - 2 <= sheet->picture.columns ? in_row : in_row - 1;
	int place = 0;

	if (!json_object_is_type(events, json_type_object))
		return;
	picture_put(&sheet->picture, sheet->row++, 0, STYLE_STRONG, "Events a second");
	json_object_object_foreach(events, name, count)
	{
		draw_event(sheet, name, json_object_get_uint64(count), place * EVENT_WIDTH);
		place = (place + 1) % across;
		sheet->row += place == 0;
	}
	sheet->row += place != 0;
}

/* The map, on what is left of the screen. */
static void draw_map(struct sheet *sheet, int rows)
{
	const struct top *top = sheet->top;
	const struct map_form form = {top->utf8, top->map_letters};
	int left = rows - sheet->row - 4; /* title, legend, owners, scale */

	left = left < MAP_ROWS_MIN ? MAP_ROWS_MIN : left > MAP_ROWS_MAX ? MAP_ROWS_MAX : left;
	picture_put(&sheet->picture, sheet->row++, 0, STYLE_STRONG, "Slabs, one by one");
	if (top->slabs_trouble[0])
		picture_put(&sheet->picture, sheet->row++, 0, STYLE_FAINT, "No map: %s",
			    top->slabs_trouble);
	else if (strcmp(top->slabs_of, sheet->chosen->cache->name) != 0 || !top->slabs.count)
		picture_put(&sheet->picture, sheet->row++, 0, STYLE_FAINT, "There are none.");
	else
		sheet->row = map_draw(&top->slabs, &form, &sheet->picture, sheet->row, left);
}

static void draw_sheet(struct sheet *sheet, int rows)
{
	draw_names(sheet);
	draw_objects(sheet);
	draw_slabs(sheet);
	draw_debugging(sheet);
	draw_rates(sheet);
	draw_nodes(sheet);
	draw_events(sheet);
	draw_map(sheet, rows);
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
