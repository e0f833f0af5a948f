/* SPDX-License-Identifier: MIT */
/*
 * The picture that --top draws: rows of glyphs, each with a style. All pages draw on one;
 * only top_screen.c deals with terminals.
 */
#pragma once

#include "posix.h"

/* The style of a glyph; top_screen.c maps styles to colours. */
enum style {
	STYLE_PLAIN,
	STYLE_STRONG,
	STYLE_FAINT,
	STYLE_BAD,         /* errors, and what went wrong */
	STYLE_BAR,         /* the bar of what is in use */
	STYLE_DEBUG_FLAGS, /* debug flags */
	STYLE_HEAD,        /* titles of columns */
	STYLE_SORTED,      /* the title of the column that orders the rows */
	STYLE_SELECTED,    /* the chosen row */
	STYLE_SLAB_PARTIAL, /* slabs by their state (occupancy.h) */
	STYLE_SLAB_FULL,
	STYLE_SLAB_EMPTY,
	STYLE_SLAB_DEBUG,
	STYLE_SLAB_LEGACY,
	STYLE_SLAB_GUARDED,
	STYLE_COUNT
};

/* One place of the screen; empty text is a blank. */
struct glyph {
	char text[7];
	unsigned char style;
};

struct picture {
	int rows, columns;
	struct glyph *glyphs;
};

/* picture_make: blank; false when memory is short. */
bool picture_make(struct picture *picture, int rows, int columns);
void picture_free(struct picture *picture);

static inline struct glyph *picture_glyph(const struct picture *picture, int row, int column)
{
	return &picture->glyphs[(size_t)row * (size_t)picture->columns + (size_t)column];
}

/*
 * picture_put: put text at a place, clipped to the picture. Characters that do not take
 * exactly one place (control characters, wide characters) become "?". Returns the column
 * behind the text.
 */
int picture_put(struct picture *picture, int row, int column, enum style style, const char *format,
		...) __attribute__((format(printf, 5, 6)));

/* picture_add: text two blanks behind *column, or nothing where it does not fit whole.
 * *column is 0 at the start of a row. */
void picture_add(struct picture *picture, int row, int *column, enum style style,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* picture_flow: the same, or at column `start` of the next row where it does not fit. */
void picture_flow(struct picture *picture, int *row, int *column, int start, enum style style,
		  const char *format, ...) __attribute__((format(printf, 6, 7)));

/* picture_style_row: give a whole row one style. */
void picture_style_row(struct picture *picture, int row, enum style style);

/* picture_copy: rows of a picture, from row `first` on, to rows `at` … `at` + rows - 1 of
 * another one that is as wide. */
void picture_copy(struct picture *to, int at, int rows, const struct picture *from, int first);

/* picture_print: rows 0 … rows - 1 as text, without blanks at their ends. */
void picture_print(const struct picture *picture, int rows, FILE *out);
