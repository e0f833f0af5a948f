/* SPDX-License-Identifier: MIT */
/* --top: columns and pages, drawn on a picture. */
#pragma once

#include "top.h"
#include "top_picture.h"
#include "views.h"

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

/* top_draw_summary: rows `row` and the one below it: the process. */
void top_draw_summary(const struct top *top, struct picture *picture, int row);

/* top_draw_detail: the chosen cache, on rows `row` … `row` + rows - 1. */
void top_draw_detail(struct top *top, struct picture *picture, int row, int rows);
