/* SPDX-License-Identifier: MIT */
/*
 * The columns of the table: names, widths, sort keys, and the columns that a narrow screen
 * leaves out. The column that orders the rows is always visible, and so are those with
 * errors and debug flags.
 */
#include "top.h"

#include "select.h"
#include "views.h"

#define NAME_WIDTH_MIN 12
#define NAME_WIDTH_WANTED 20
#define NAME_WIDTH_MAX 48
#define USE_WIDTH_MORE 14 /* on a wide screen */

static const struct {
	const char *title, *word;
	int width;
	bool left; /* else at the right */
} columns[COLUMN_COUNT] = {
	[COLUMN_NAME] = {"NAME", "name", NAME_WIDTH_MIN, true},
	[COLUMN_OBJECTS] = {"OBJECTS", "objects", 7, false},
	[COLUMN_SIZE] = {"SIZE", "size of an object", 5, false},
	[COLUMN_SPACE] = {"SPACE", "space", 7, false},
	[COLUMN_USE] = {"USE", "use", 6, true},
	[COLUMN_LOSS] = {"LOSS", "loss in percent", 4, false},
	[COLUMN_LOST] = {"LOST", "bytes lost", 7, false},
	[COLUMN_SLABS] = {"SLABS", "slabs", 5, false},
	[COLUMN_PARTIAL] = {"PART", "partial slabs", 5, false},
	[COLUMN_CPU] = {"CPU", "slabs of free objects of CPUs", 4, false},
	[COLUMN_ALLOC] = {"ALLOC/s", "allocations", 7, false},
	[COLUMN_FREE] = {"FREE/s", "frees", 6, false},
	[COLUMN_SLOW] = {"SLOW/s", "slow allocations", 6, false},
	[COLUMN_ERRORS] = {"ERR", "errors", 3, false},
	[COLUMN_DEBUG_FLAGS] = {"DEBUG", "debug flags", 6, true},
};

const char *top_column_word(enum column column)
{
	return columns[column].word;
}

/* Numbers */

const char *top_count_text(char text[NUMBER_TEXT], uint64_t count)
{
	char size[SIZE_TEXT];

	if (count < 100000)
		snprintf(text, NUMBER_TEXT, "%" PRIu64, count);
	else if (count < 1000000)
		snprintf(text, NUMBER_TEXT, "%" PRIu64 "K", count / 1000);
	else
		snprintf(text, NUMBER_TEXT, "%s", count_text(size, count));
	return text;
}

const char *top_rate_text(char text[NUMBER_TEXT], double rate)
{
	if (rate < 0)
		snprintf(text, NUMBER_TEXT, "-");
	else if (rate > 0 && rate < 9.95)
		snprintf(text, NUMBER_TEXT, "%.1f", rate);
	else
		top_count_text(text, (uint64_t)(rate + 0.5));
	return text;
}

/* Order */

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static const char *debug_flags_of(const struct cache *cache)
{
	const char *debug_flags = model_text(cache->json, "debug_flags");

	return strcmp(debug_flags, "-") == 0 ? "" : debug_flags;
}

/* The sort key of a row; names are compared separately. */
static double value_of(const struct top_row *row, enum column column)
{
	const struct cache *cache = row->cache;

	switch (column) {
	case COLUMN_OBJECTS:
		return (double)cache->objects;
	case COLUMN_SIZE:
		return (double)cache->object_size;
	case COLUMN_SPACE:
		return (double)cache->slab_bytes;
	case COLUMN_USE:
		return share(cache_used_bytes(cache), cache->slab_bytes);
	case COLUMN_LOSS:
		return share(cache_loss(cache), cache->slab_bytes);
	case COLUMN_LOST:
		return (double)cache_loss(cache);
	case COLUMN_SLABS:
		return (double)cache->slabs;
	case COLUMN_PARTIAL:
		return (double)cache->partial;
	case COLUMN_CPU:
		return (double)cache_cpu_slabs(cache);
	case COLUMN_ALLOC:
		return row->alloc;
	case COLUMN_FREE:
		return row->free;
	case COLUMN_SLOW:
		return row->slow_alloc;
	case COLUMN_ERRORS:
		return (double)cache->errors;
	case COLUMN_DEBUG_FLAGS:
		return (double)strlen(debug_flags_of(cache));
	default:
		return 0;
	}
}

int top_compare(const struct top *top, const struct top_row *a, const struct top_row *b)
{
	double left = value_of(a, top->sort), right = value_of(b, top->sort);
	int result = left < right ? 1 : left > right ? -1 : 0;

	/* Without counted allocations, slow-path operations show which caches are busy. */
	if (!result && (top->sort == COLUMN_ALLOC || top->sort == COLUMN_FREE))
		result = a->slow_alloc < b->slow_alloc ? 1 : a->slow_alloc > b->slow_alloc ? -1 : 0;
	if (!result && top->sort != COLUMN_NAME)
		return strcasecmp(a->cache->name, b->cache->name);
	if (!result)
		result = strcasecmp(a->cache->name, b->cache->name);
	return top->reverse ? -result : result;
}

/* Layout */

int top_layout_width(const struct top_layout *layout)
{
	int width = -1;

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (layout->width[i])
			width += layout->width[i] + 1;
	}
	return width;
}

static int longest_name(const struct top *top)
{
	size_t longest = NAME_WIDTH_MIN;

	for (size_t i = 0; i < top->count; i++) {
		size_t length = strlen(top->rows[i].cache->name);

		longest = length > longest ? length : longest;
	}
	return longest < NAME_WIDTH_MAX ? (int)longest : NAME_WIDTH_MAX;
}

/* Does the column show an error or something unusual? */
static bool is_reporting(const struct top *top, enum column column)
{
	for (size_t i = 0; i < top->count; i++) {
		if ((column == COLUMN_ERRORS || column == COLUMN_DEBUG_FLAGS) &&
		    value_of(&top->rows[i], column) > 0)
			return true;
	}
	return false;
}

static void drop(const struct top *top, int width, struct top_layout *layout, bool all)
{
	static const enum column order[] = {
		COLUMN_DEBUG_FLAGS, COLUMN_ERRORS,  COLUMN_LOST, COLUMN_CPU,
		COLUMN_SIZE,        COLUMN_PARTIAL, COLUMN_USE,  COLUMN_SLOW,
		COLUMN_SLABS,       COLUMN_FREE,    COLUMN_LOSS, COLUMN_OBJECTS,
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum column column = order[i];

		if (top_layout_width(layout) > width && column != top->sort &&
		    (all || !is_reporting(top, column)))
			layout->width[column] = 0;
	}
}

void top_layout(const struct top *top, int width, struct top_layout *layout)
{
	int longest = longest_name(top), *name = &layout->width[COLUMN_NAME], space;

	for (size_t i = 0; i < COLUMN_COUNT; i++)
		layout->width[i] = columns[i].width;
	if (top->options.bytes)
		layout->width[COLUMN_SPACE] = layout->width[COLUMN_LOST] = 12;
	if (!width) {
		*name = longest;
		layout->width[COLUMN_USE] = 0;
		return;
	}
	*name = longest < NAME_WIDTH_WANTED ? longest : NAME_WIDTH_WANTED;
	drop(top, width, layout, false);
	drop(top, width, layout, true);
	space = width - top_layout_width(layout);
	*name += longest - *name < space ? longest - *name : space;
	space = width - top_layout_width(layout);
	if (layout->width[COLUMN_USE])
		layout->width[COLUMN_USE] += space < USE_WIDTH_MORE ? space : USE_WIDTH_MORE;
}

/* Drawing */

/* The bar of used memory, in eighths of a character if the terminal has them. */
static void draw_bar(const struct top *top, const struct top_row *row, int width,
		     struct picture *picture, int at, int column)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
	int filled = (int)(value_of(row, COLUMN_USE) * 8 * width + 0.5);

	for (int i = 0; i < width; i++) {
		int here = filled - 8 * i;

		here = here < 0 ? 0 : here > 8 ? 8 : here;
		if (top->utf8)
			picture_put(picture, at, column + i, STYLE_BAR, "%s", eighths[here]);
		else
			picture_put(picture, at, column + i, STYLE_BAR, here >= 4 ? "#" : ".");
	}
}

static void format_cell(const struct top *top, const struct top_row *row, enum column column,
			char text[NUMBER_TEXT])
{
	double value = value_of(row, column);

	switch (column) {
	case COLUMN_SPACE:
	case COLUMN_LOST:
		size_shown(&top->options, text, (uint64_t)value);
		break;
	case COLUMN_LOSS:
		snprintf(text, NUMBER_TEXT, "%.0f%%", value * 100);
		break;
	case COLUMN_ALLOC:
	case COLUMN_FREE:
	case COLUMN_SLOW:
		top_rate_text(text, value);
		break;
	case COLUMN_DEBUG_FLAGS:
		snprintf(text, NUMBER_TEXT, "%s", debug_flags_of(row->cache));
		break;
	default:
		top_count_text(text, (uint64_t)value);
		break;
	}
}

static enum style cell_style(enum column column, const char *text)
{
	if (column == COLUMN_ERRORS && strcmp(text, "0") != 0)
		return STYLE_BAD;
	if (column == COLUMN_DEBUG_FLAGS)
		return STYLE_DEBUG_FLAGS;
	return STYLE_PLAIN;
}

static void draw_name(const struct top *top, const char *name, int width, struct picture *picture,
		      int at)
{
	if (strlen(name) <= (size_t)width)
		picture_put(picture, at, 0, STYLE_STRONG, "%s", name);
	else
		picture_put(picture, at, 0, STYLE_STRONG, "%.*s%s", width - 1, name,
			    top->utf8 ? "…" : "~");
}

void top_draw_row(const struct top *top, const struct top_layout *layout, const struct top_row *row,
		  struct picture *picture, int at)
{
	char text[NUMBER_TEXT];
	int x = 0;

	draw_name(top, row->cache->name, layout->width[COLUMN_NAME], picture, at);
	for (enum column column = COLUMN_NAME; column < COLUMN_COUNT; column++) {
		int width = layout->width[column];

		if (!width)
			continue;
		if (column == COLUMN_USE) {
			draw_bar(top, row, width, picture, at, x);
		} else if (column != COLUMN_NAME) {
			format_cell(top, row, column, text);
			picture_put(picture, at, x, cell_style(column, text), "%*s",
				    columns[column].left ? -width : width, text);
		}
		x += width + 1;
	}
}

/* The arrow shows the direction in which values fall. */
static const char *arrow(const struct top *top)
{
	bool falling = (top->sort == COLUMN_NAME) == top->reverse;

	if (top->utf8)
		return falling ? "▼" : "▲";
	return falling ? "v" : "^";
}

void top_draw_titles(const struct top *top, const struct top_layout *layout,
		     struct picture *picture, int at)
{
	int x = 0;

	picture_style_row(picture, at, STYLE_HEAD);
	for (enum column column = COLUMN_NAME; column < COLUMN_COUNT; column++) {
		int width = layout->width[column], length = (int)strlen(columns[column].title);
		bool sorted = column == top->sort, left = columns[column].left;
		int start = left ? x : x + width - length;
		enum style style = sorted ? STYLE_SORTED : STYLE_HEAD;

		if (!width)
			continue;
		picture_put(picture, at, start, style, "%s", columns[column].title);
		if (sorted)
			picture_put(picture, at, left ? start + length : start - 1, style, "%s",
				    arrow(top));
		x += width + 1;
	}
}
