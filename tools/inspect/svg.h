/* SPDX-License-Identifier: MIT */
/*
 * Pictures as SVG: no scripts and nothing loaded from elsewhere, so that they show
 * wherever a browser or a viewer does. They follow the reader's light or dark theme;
 * without one they are light.
 *
 * A picture is drawn into memory, because its height is known at the end, and is
 * then written at once.
 */
#ifndef INSPECT_SVG_H
#define INSPECT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct svg {
	FILE *out; /* elements may be printed here; lengths are pixels */
	char *text;
	size_t size;
};

/* Rules of CSS beside those that all pictures have; `dark` overrides in dark themes. */
struct svg_style {
	const char *light;
	const char *dark;
};

/* svg_begin: false after reporting with fail(). svg_end follows in any case. */
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
 * important, e ends at x, m has its middle there, h1 h2 h3 sizes; what they are not
 * given is plain text of SVG_TEXT pixels.
 */
#define SVG_TEXT 12
void svg_text(struct svg *svg, double x, double y, const char *classes, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* svg_escape: text as it may stand in elements and attributes. */
void svg_escape(FILE *out, const char *text);

/* svg_text_width: about how wide a line of text of this size becomes. */
double svg_text_width(const char *text, double size);

/* svg_fit: leave out the middle of a name, so that it is not wider. Names that are cut
 * often differ in their ends. */
void svg_fit(char *text, double width, double size);

/* A box with round corners, on which parts of the picture stand. */
void svg_panel(struct svg *svg, double x, double y, double width, double height);

#endif /* INSPECT_SVG_H */
