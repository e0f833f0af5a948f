/* SPDX-License-Identifier: MIT */
/*
 * Pictures as SVG, without scripts or external resources, so that any browser or viewer shows
 * them. They follow the reader's light or dark theme; the default is light.
 *
 * A picture is drawn in memory, because its height is known only at the end, and is then
 * written at once.
 */
#pragma once

#include "posix.h"

struct svg {
	FILE *out; /* elements may be printed here; lengths are pixels */
	char *text;
	size_t size;
};

/* CSS rules besides those of all pictures; `dark` overrides in dark themes. */
struct svg_style {
	const char *light;
	const char *dark;
};

/* svg_begin: false after an error message by fail(). svg_end follows in any case. */
bool svg_begin(struct svg *svg);

/*
 * svg_write: the whole document, to a file (output.h). `label` is the text for
 * screen readers. Returns the exit status.
 */
int svg_write(struct svg *svg, const char *path, const struct svg_style *style, double width,
	      double height, const char *label);
void svg_end(struct svg *svg);

/*
 * svg_text: a line of text with its baseline at x, y. Classes: b bold, dim less
 * important, e ends at x, m has its middle there, h1 h2 h3 sizes. The default is plain text
 * of SVG_TEXT pixels.
 */
#define SVG_TEXT 12
void svg_text(struct svg *svg, double x, double y, const char *classes, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* svg_escape: text, escaped for elements and attributes. */
void svg_escape(FILE *out, const char *text);

/* svg_text_width: the approximate width of a line of text of this size. */
double svg_text_width(const char *text, double size);

/* svg_fit: shorten a name to a width by leaving out its middle, since similar names often
 * differ at their ends. */
void svg_fit(char *text, double width, double size);

/* A box with round corners behind a part of the picture. */
void svg_panel(struct svg *svg, double x, double y, double width, double height);
