/* SPDX-License-Identifier: MIT */
/*
 * The pages of --top. Above each page are two lines about the process and one for input or
 * messages; below it are the keys.
 */
#include "top.h"

#include "sites.h"

#define SUMMARY_ROWS 2
#define HEAD_ROWS (SUMMARY_ROWS + 1) /* and the line of messages */

/* The two lines about the process */

static const char *way_text(const struct top *top)
{
	const struct top_source *source = &top->source;

	if (source->process->way == WAY_CORE)
		return "from its core file";
	if (source->process->memory || source->process->way == WAY_MEMORY)
		return "from its memory";
	return "from its socket";
}

/* The interval of looks, and the reason if it is longer than requested. */
static void draw_interval(const struct top *top, struct picture *picture, int row, int *column)
{
	double pause = top_pause(top);

	if (pause > top->interval)
		picture_add(picture, row, column, STYLE_STRONG, "every %.3gs (a look takes %.0fms)",
			    pause, top->now.took * 1000);
	else
		picture_add(picture, row, column, STYLE_PLAIN, "every %.6gs", top->interval);
}

static void draw_process(const struct top *top, struct picture *picture, int row)
{
	struct json_object *process = model_member(top->now.model.document, "process");
	uint64_t uptime = model_number(process, "uptime");
	char clock[16], age[AGE_TEXT];
	struct tm when;
	int column = 0;

	localtime_r(&top->now.wall, &when);
	strftime(clock, sizeof(clock), "%H:%M:%S", &when);
	picture_add(picture, row, &column, STYLE_STRONG, "%s", clock);
	picture_add(picture, row, &column, STYLE_STRONG, "%s [%d]", top->source.process->command,
		    top->source.process->pid);
	if (uptime)
		picture_add(picture, row, &column, STYLE_PLAIN, "up %s",
			    age_text(age, uptime * 1000));
	draw_interval(top, picture, row, &column);
	picture_add(picture, row, &column, STYLE_PLAIN, "%s", way_text(top));
	picture_add(picture, row, &column, STYLE_PLAIN, "engine %s", model_text(process, "engine"));
}

static void draw_sums(const struct top *top, struct picture *picture, int row)
{
	static const struct {
		const char *label, *key;
	} sizes[] = {{"Slabs", "slab_bytes"}, {"cached", "cached_bytes"}, {"large", "large_bytes"}};
	const struct model *model = &top->now.model;
	struct json_object *process = model_member(model->document, "process");
	uint64_t objects = 0, errors = 0;
	char text[NUMBER_TEXT];
	int column = 0;

	for (size_t i = 0; i < model->count; i++) {
		objects += model->caches[i].objects;
		errors += model->caches[i].errors;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		picture_add(picture, row, &column, STYLE_PLAIN, "%s %s", sizes[i].label,
			    size_shown(&top->options, text, model_number(process, sizes[i].key)));
	picture_add(picture, row, &column, STYLE_PLAIN, "objects %s",
		    top_count_text(text, objects));
	picture_add(picture, row, &column, STYLE_PLAIN, "caches %zu of %zu", top->count,
		    model->count);
	picture_add(picture, row, &column, errors ? STYLE_BAD : STYLE_PLAIN, "errors %s",
		    top_count_text(text, errors));
}

/* Rows `row` and the one below it: the process. */
static void draw_summary(const struct top *top, struct picture *picture, int row)
{
	draw_process(top, picture, row);
	draw_sums(top, picture, row + 1);
}

/* The line of messages: the most urgent one. */
static void draw_message(const struct top *top, struct picture *picture, int row)
{
	if (top->prompt != PROMPT_NONE)
		picture_put(picture, row, 0, STYLE_STRONG, "%s: %s_",
			    top->prompt == PROMPT_FILTER ? "Show caches that match"
							 : "Seconds between two looks",
			    top->input);
	else if (top->message[0])
		picture_put(picture, row, 0, STYLE_BAD, "%s", top->message);
	else if (top->ended)
		picture_put(picture, row, 0, STYLE_BAD, "process %d has ended; q quits",
			    top->source.process->pid);
	else if (top->trouble[0])
		picture_put(picture, row, 0, STYLE_BAD, "%s; trying again", top->trouble);
	else if (top->filter[0])
		picture_put(picture, row, 0, STYLE_STRONG, "Only caches that match: %s",
			    top->filter);
}

/* The table */

/* Keep the selected row visible. */
static void scroll_table(struct top *top)
{
	if (top->cursor < top->first)
		top->first = top->cursor;
	if (top->lines && top->cursor >= top->first + top->lines)
		top->first = top->cursor - top->lines + 1;
	if (top->first + top->lines > top->count)
		top->first = top->count > top->lines ? top->count - top->lines : 0;
}

static void draw_table(struct top *top, struct picture *picture, int row, int rows)
{
	size_t limit = top->options.lines ? top->options.lines : SIZE_MAX;
	struct top_layout layout;

	top->lines = (size_t)rows - 1 < limit ? (size_t)rows - 1 : limit;
	scroll_table(top);
	top_layout(top, picture->columns, &layout);
	top_draw_titles(top, &layout, picture, row++);
	if (top->count == 0)
		picture_put(picture, row, 0, STYLE_FAINT, "%s",
			    top->filter[0] ? "no cache matches; / and Enter show all"
					   : "no cache has slabs; z shows empty ones");
	for (size_t i = 0; i < top->lines && top->first + i < top->count; i++, row++) {
		top_draw_row(top, &layout, &top->rows[top->first + i], picture, row);
		if (top->first + i == top->cursor)
			picture_style_row(picture, row, STYLE_SELECTED);
	}
}

/* Help */

static void draw_help(struct picture *picture, int row, int rows)
{
	static const char *const lines[] = {
		"up down PgUp PgDn Home End   choose a cache",
		"Enter    all about it, with a map of its slabs",
		"Esc      back; so does Backspace",
		"< >      sort by the column left, right of this one",
		"R        the other way round",
		"/        show only caches that match a regular expression",
		"z        show empty caches, too",
		"B        sizes in bytes",
		"s d      seconds between two looks",
		"space    look now",
		"m        in a map: states as letters, or occupancy as shades",
		"h ?      this page",
		"q        quit",
		"",
		"LOSS is the part of a cache's slabs that objects in use do not take.",
		"SLOW/s are allocations that left the fast path, where all are known.",
		"ALLOC/s is exact, or \"-\" while the process does not count.",
	};

	for (int i = 0; i < rows && (size_t)i < sizeof(lines) / sizeof(lines[0]); i++)
		picture_put(picture, row + i, 0, STYLE_PLAIN, "%s", lines[i]);
}

/* All of it */

static void draw_keys(const struct top *top, struct picture *picture, int row)
{
	static const char *const keys[][9] = {
		[PAGE_TABLE] = {"q quit", "h help", "<> sort", "R reverse", "Enter details",
				"/ filter", "s interval", "z empty", NULL},
		[PAGE_DETAIL] = {"q quit", "Esc back", "h help", "up down scroll", "m letters",
				 "s interval", NULL},
		[PAGE_HELP] = {"q quit", "Esc back", NULL},
	};
	int column = 0;

	for (const char *const *key = keys[top->page]; *key; key++)
		picture_add(picture, row, &column, STYLE_FAINT, "%s", *key);
	if (top->page == PAGE_TABLE)
		picture_add(picture, row, &column, STYLE_STRONG, "by %s",
			    top_column_word(top->sort));
}

void top_draw(struct top *top, struct picture *picture)
{
	const int rows = picture->rows - HEAD_ROWS - 1;

	if (picture->columns < TOP_COLUMNS_MIN || picture->rows < TOP_ROWS_MIN) {
		picture_put(picture, 0, 0, STYLE_PLAIN, "%d x %d is too small,", picture->columns,
			    picture->rows);
		picture_put(picture, 1, 0, STYLE_PLAIN, "please: %d x %d", TOP_COLUMNS_MIN,
			    TOP_ROWS_MIN);
		return;
	}
	draw_summary(top, picture, 0);
	draw_message(top, picture, SUMMARY_ROWS);
	if (top->page == PAGE_TABLE)
		draw_table(top, picture, HEAD_ROWS, rows);
	else if (top->page == PAGE_DETAIL)
		top_draw_detail(top, picture, HEAD_ROWS, rows);
	else
		draw_help(picture, HEAD_ROWS, rows);
	draw_keys(top, picture, picture->rows - 1);
}
