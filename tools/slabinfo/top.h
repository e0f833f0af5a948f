/* SPDX-License-Identifier: MIT */
/*
 * --top: a live screen. A "look" is one query of the process.
 *
 *   top_source.c   queries the process: statistics, counting, the slabs of a cache
 *   top_rows.c     makes rows with rates from two looks: selects and sorts them
 *   top_columns.c  the table's columns
 *   top_draw.c     pages of the screen, drawn on a picture: table, help
 *   top_detail.c   the page of one cache, with its slabs as a map
 *   top_keys.c     the effect of keys on the state
 *   top_screen.c   the terminal
 *   top_plain.c    blocks of text, where there is no terminal
 *
 * Drawing, keys and rows work on struct top alone.
 */
#pragma once

#include "options.h"
#include "model.h"
#include "occupancy.h"
#include "top_picture.h"
#include "views.h"

#include <slab/slab.h>

/* Shortest and longest time between two looks in seconds, which args.c accepts. */
#define TOP_INTERVAL_MIN 0.01
#define TOP_INTERVAL_MAX 86400.0

#define TOP_SENTENCE 256
#define TOP_INPUT 128

/* An unknown rate. */
#define NO_RATE (-1.0)

/* A cache and its changes since an earlier look; rates are per second. */
struct top_row {
	const struct cache *cache;
	const struct cache *before; /* NULL: it did not exist */
	double alloc, free;         /* NO_RATE: unknown, or too uncertain */
	double slow_alloc, slow_free;
};

enum column {
	COLUMN_NAME,
	COLUMN_OBJECTS,
	COLUMN_SIZE,
	COLUMN_SPACE,
	COLUMN_USE,
	COLUMN_LOSS,
	COLUMN_LOST,
	COLUMN_SLABS,
	COLUMN_PARTIAL,
	COLUMN_CPU,
	COLUMN_ALLOC,
	COLUMN_FREE,
	COLUMN_SLOW,
	COLUMN_ERRORS,
	COLUMN_DEBUG_FLAGS,
	COLUMN_COUNT
};

/* The result of a look. */
struct look {
	struct model model; /* its document is NULL without an answer */
	double at;          /* seconds of the monotonic clock */
	time_t wall;
	double took; /* seconds of work; see top_source.c */
};

enum page {
	PAGE_TABLE,
	PAGE_DETAIL,
	PAGE_HELP,
};

/* The input line. */
enum prompt {
	PROMPT_NONE,
	PROMPT_FILTER,
	PROMPT_INTERVAL,
};

/* The process, and how to query it. */
struct top_source {
	struct process *process; /* the chosen process */
	bool counting; /* it accepts "count" */
	double counted_at; /* when "count" was last sent */
};

struct top {
	struct options options; /* a copy: keys change it */
	struct top_source source;
	struct look now, before; /* before: an earlier one, see top_source.c */
	struct occupancy slabs; /* of the cache on the detail page */
	char slabs_of[SLAB_MAX_NAME + 1]; /* this one; empty: none */
	double interval; /* requested seconds */
	bool ended; /* the process has */

	/* The rows on the screen. */
	struct cache *caches; /* which the rows are of */
	struct top_row *rows;
	size_t count;
	enum column sort;
	bool reverse;
	char filter[TOP_INPUT]; /* empty: none */
	regex_t regex; /* of the filter */

	/* Pages */
	bool utf8;
	enum page page;
	size_t cursor, first; /* the selected row, and the first visible one */
	size_t lines; /* rows of the table that fit the screen, as it was last drawn */
	char selected[SLAB_MAX_NAME + 1];
	int scroll, scroll_max; /* of the detail page */
	bool map_letters; /* states as letters, not occupancy as shades */
	char trouble[TOP_SENTENCE]; /* why there was no answer; empty: there was an answer */
	char count_trouble[TOP_SENTENCE]; /* why nothing is counted */
	char slabs_trouble[TOP_SENTENCE]; /* why there is no map */
	char message[TOP_SENTENCE]; /* until the next key */
	enum prompt prompt;
	char input[TOP_INPUT];
};

/* top_source.c */

/* top_source_open: prepare; nothing is queried yet. */
void top_source_open(struct top *top, struct process *process);
void top_source_close(struct top *top);

/*
 * top_look: query the process, put the answer into top->now, and make the rows. Without an answer
 * nothing changes, and top->trouble has the reason. top->ended is set if the process has ended.
 */
void top_look(struct top *top);

/* top_look_slabs: query the slabs of the selected cache, if its page is open. */
void top_look_slabs(struct top *top);

/* top_clock: seconds of the monotonic clock. */
double top_clock(void);

/* top_pause: seconds between two looks: the interval, or more if a look takes too long. */
double top_pause(const struct top *top);

/* top_rows.c */

/* top_rows: make the rows again from the two looks. */
void top_rows(struct top *top);
void top_rows_free(struct top *top);

/* top_filter: show only caches that match; "": all. False and top->message: not a regular
 * expression. */
bool top_filter(struct top *top, const char *pattern);

/* top_matching: the number of caches that match, shown or not. */
size_t top_matching(const struct top *top);

/* top_select: select a row. */
void top_select(struct top *top, size_t row);

/* top_row_chosen: the row of the selected cache; NULL: none is shown. */
const struct top_row *top_row_chosen(const struct top *top);

/* top_rate: the difference of two counts per second, or NO_RATE. */
double top_rate(const struct top *top, const struct top_row *row, uint64_t now, uint64_t before);

/* top_keys.c */

/* Keys other than characters. */
enum top_key {
	TOP_KEY_UP = 0x1000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE,
};

/* The action after a key. */
enum top_action {
	TOP_DRAW, /* the state may have changed */
	TOP_LOOK, /* query the process now */
	TOP_LOOK_SLABS, /* query the slabs of the chosen cache */
	TOP_QUIT,
};

enum top_action top_press(struct top *top, int key);

/* top_screen.c, top_plain.c: run until the end. */

/* top_screen: true and *ret_status; false: it cannot draw on the terminal. */
bool top_screen(struct top *top, int *ret_status);
int top_plain(struct top *top);

/* top_columns.c */

/* The column's name in messages: "space". */
const char *top_column_word(enum column column);

/* top_compare: the order of two rows. */
int top_compare(const struct top *top, const struct top_row *a, const struct top_row *b);

/* Which columns fit, and where. */
struct top_layout {
	int width[COLUMN_COUNT]; /* 0: not shown */
};

/* top_layout: the columns that fit `columns` places; 0: all columns but bars. */
void top_layout(const struct top *top, int columns, struct top_layout *layout);
int top_layout_width(const struct top_layout *layout);
void top_draw_titles(const struct top *top, const struct top_layout *layout,
		     struct picture *picture, int row);
void top_draw_row(const struct top *top, const struct top_layout *layout,
		  const struct top_row *from, struct picture *picture, int row);

/* Numbers on the pages: counts of up to five digits unchanged; rates, "-" for unknown ones. */
#define NUMBER_TEXT SIZE_TEXT
const char *top_count_text(char text[NUMBER_TEXT], uint64_t count);
const char *top_rate_text(char text[NUMBER_TEXT], double rate);

/* top_draw.c, top_detail.c */

/* The smallest usable screen. */
#define TOP_COLUMNS_MIN 40
#define TOP_ROWS_MIN 8

/* top_draw: the whole screen. */
void top_draw(struct top *top, struct picture *picture);

/* top_draw_detail: the chosen cache, on rows `row` … `row` + rows - 1. */
void top_draw_detail(struct top *top, struct picture *picture, int row, int rows);
