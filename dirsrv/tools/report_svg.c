/* SPDX-License-Identifier: MIT */
/*
 * The report as SVG: a heat map with a row and a column for each parameter. They are in the order
 * of the tree, so parameters that are used together are neighbours, and clumps are dark squares on
 * the diagonal. Below it are the bytes per pblock of each workload.
 */
#include "fail.h"
#include "layouts.h"
#include "report.h"
#include "svg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MARGIN 24.0
#define CELL 13.0
#define LABEL_SIZE 10.0
#define LABEL_GAP 6.0
#define BRACKET 30.0 /* left of the labels: names of clumps */
#define SHARE 52.0   /* right of the cells: how many pblocks touch the parameter */
#define HEAD 112.0
#define LEVELS 9
#define BAR_WIDTH 360.0
#define BAR_TEXT 110.0     /* right of the longest bar */
#define STRUCT_WIDTH 360.0 /* of the text about a struct */
#define BAR_HEIGHT 11.0
#define BAR_STEP 14.0
#define BARS_GAP 10.0 /* between workloads */
#define BARS_HEAD 52.0

static const struct svg_style style = {
	".h4{font-size:10px}\n"
	".o1{fill:#f4f5d3}.o2{fill:#dcefc4}.o3{fill:#b5debc}.o4{fill:#85cbbb}\n"
	".o5{fill:#55b3bf}.o6{fill:#3495bd}.o7{fill:#2672ad}.o8{fill:#24509a}.o9{fill:#1b2c63}\n"
	".box{fill:none;stroke:#d8341c;stroke-width:1.5}.frame{fill:none;stroke:#d4dae0}\n"
	".l0{fill:#87919b}.l1{fill:#e69f00}.l2{fill:#0072b2}.l3{fill:#009e73}.l4{fill:#cc3311}\n",
	".o1{fill:#2c2f4a}.o2{fill:#323d66}.o3{fill:#2f5480}.o4{fill:#2b6d8e}\n"
	".o5{fill:#2f8790}.o6{fill:#43a286}.o7{fill:#76bc6d}.o8{fill:#b7d157}.o9{fill:#fbe66a}\n"
	".box{stroke:#ff7f3f}.frame{stroke:#38424c}\n"
	".l1{fill:#f5b731}.l2{fill:#4ba3e3}.l3{fill:#2fc79a}.l4{fill:#f0654a}\n",
};

struct heat {
	const struct study *study;
	struct svg svg;
	double label; /* the longest one */
	double left, top, side; /* of the cells */
};

/* "132 OPERATION" */
static void label_of(char text[80], const struct subject *subject)
{
	const char *name = subject_name(subject);

	snprintf(text, 80, "%" PRIu32 " %s", subject->number,
		 strncmp(name, "SLAPI_", 6) == 0 ? name + 6 : name);
}

static const struct subject *subject_at(const struct heat *heat, size_t place)
{
	return &heat->study->subjects[heat->study->order[place]];
}

static void measure(struct heat *heat)
{
	char text[80];

	for (size_t i = 0; i < heat->study->count; i++) {
		label_of(text, subject_at(heat, i));
		heat->label = fmax(heat->label, svg_text_width(text, LABEL_SIZE));
	}
	heat->left = MARGIN + BRACKET + heat->label + LABEL_GAP;
	heat->top = HEAD + heat->label + LABEL_GAP;
	heat->side = (double)heat->study->count * CELL;
}

/* Head */

static void draw_ramp(struct heat *heat, double y)
{
	struct svg *svg = &heat->svg;
	double x = MARGIN;

	svg_text(svg, x, y + 10, "h3", "used together: never");
	x += 132;
	for (unsigned level = 0; level <= LEVELS; level++) {
		fprintf(svg->out, "<path class=\"%s%u\" d=\"M%g %gh15v12h-15z\"/>",
			level ? "o" : "frame o", level, x, y);
		x += 16;
	}
	svg_text(svg, x + 6, y + 10, "h3", "always");
	fprintf(svg->out, "<path class=\"box\" d=\"M%g %gh12v12h-12z\"/>\n", x + 66, y);
	svg_text(svg, x + 84, y + 10, "h3", "a clump");
	svg_text(svg, x + 148, y + 10, "h3 dim", "grey: only read");
	svg_text(svg, x + 258, y + 10, "h3", "%%: of the pblocks touch it");
}

static void draw_head(struct heat *heat)
{
	const struct study *study = heat->study;
	struct svg *svg = &heat->svg;

	svg_text(svg, MARGIN, 38, "h1 b", "Parameters of pblocks that are used together");
	svg_text(svg, MARGIN, 59, "dim",
		 "%zu parameter%s in %" PRIu64 " pblocks of %zu workload%s. A cell: of the pblocks "
		 "that touch any of two",
		 study->count, study->count == 1 ? "" : "s", study->pblocks, study->workload_count,
		 study->workload_count == 1 ? "" : "s");
	svg_text(svg, MARGIN, 75, "dim", "parameters, how many touch both. Clumps by " METHOD ".");
	draw_ramp(heat, 86);
}

/* Cells */

static unsigned level_of(double likeness)
{
	if (likeness <= 0)
		return 0;
	return likeness >= 1 ? LEVELS : 1 + (unsigned)(likeness * (LEVELS - 1));
}

/* Draw all cells of a level as one path; equal neighbours in a row are one rectangle. */
static void draw_level(struct heat *heat, unsigned level)
{
	size_t count = heat->study->count;

	fprintf(heat->svg.out, "<path class=\"o%u\" d=\"", level);
	for (size_t row = 0; row < count; row++) {
		for (size_t start = 0, end; start < count; start = end + 1) {
			for (end = start; end < count; end++) {
				if (level_of(study_likeness(heat->study, heat->study->order[row],
							    heat->study->order[end])) != level)
					break;
			}
			if (end > start)
				fprintf(heat->svg.out, "M%g %gh%gv%gh-%gz", (double)start * CELL,
					(double)row * CELL, (double)(end - start) * CELL, CELL,
					(double)(end - start) * CELL);
		}
	}
	fputs("\"/>\n", heat->svg.out);
}

static void draw_cells(struct heat *heat)
{
	FILE *out = heat->svg.out;

	fprintf(out, "<g transform=\"translate(%g,%g)\">\n", heat->left, heat->top);
	for (unsigned level = 1; level <= LEVELS; level++)
		draw_level(heat, level);
	fprintf(out, "<path class=\"frame\" d=\"M0 0h%gv%gh-%gz\"/>\n", heat->side, heat->side,
		heat->side);
	for (size_t c = 0; c < heat->study->clump_count; c++) {
		double at = (double)heat->study->clumps[c].first * CELL;
		double size = (double)heat->study->clumps[c].count * CELL;

		fprintf(out, "<path class=\"box\" d=\"M%g %gh%gv%gh-%gz\"/>\n", at, at, size, size,
			size);
	}
	fputs("</g>\n", out);
}

/* Labels */

static void draw_label(struct heat *heat, size_t place)
{
	const struct subject *subject = subject_at(heat, place);
	double middle = (double)place * CELL + CELL / 2 + 3.5;
	struct svg *svg = &heat->svg;
	const char *classes = subject->sets ? "h4" : "h4 dim";
	char text[80];

	label_of(text, subject);
	fputs("<g>", svg->out);
	fprintf(svg->out, "<text x=\"%g\" y=\"%g\" class=\"%s e\">", heat->left - LABEL_GAP,
		heat->top + middle, classes);
	svg_escape(svg->out, text);
	fprintf(svg->out, "</text><text transform=\"translate(%g,%g)rotate(-90)\" class=\"%s\">",
		heat->left + middle, heat->top - LABEL_GAP, classes);
	svg_escape(svg->out, text);
	fputs("</text></g>\n", svg->out);
	svg_text(
		svg, heat->left + heat->side + SHARE - 4, heat->top + middle, "h4 e dim", "%.1f %%",
		heat->study->pblocks ? 100 * (double)subject->pblocks / (double)heat->study->pblocks
				     : 0.0);
}

static void draw_brackets(struct heat *heat)
{
	struct svg *svg = &heat->svg;

	for (size_t c = 0; c < heat->study->clump_count; c++) {
		const struct clump *clump = &heat->study->clumps[c];
		double y = heat->top + (double)clump->first * CELL;
		double height = (double)clump->count * CELL;

		fprintf(svg->out, "<path class=\"box\" d=\"M%g %gh-4v%gh4\"/>\n",
			MARGIN + BRACKET - 6, y + 2, height - 4);
		svg_text(svg, MARGIN + BRACKET - 15, y + height / 2 + 4, "h3 b e", "%s",
			 clump->name);
	}
}

/* Bytes */

static void draw_bar(struct heat *heat, const struct workload *workload, enum layout layout,
		     double most, double y)
{
	double bytes = workload_bytes(heat->study, workload, layout);
	double x = heat->left, width = most > 0 ? bytes / most * BAR_WIDTH : 0;

	fprintf(heat->svg.out,
		"<rect class=\"l%u\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n",
		(unsigned)layout, x, y, round(width * 10) / 10, BAR_HEIGHT);
	svg_text(&heat->svg, x + width + 6, y + BAR_HEIGHT - 2, "h4", "%.0f %s", bytes,
		 layout_name(layout));
}

/* Draw the bars of all workloads; returns the y coordinate below them. */
static double draw_bars(struct heat *heat, double y)
{
	const struct study *study = heat->study;
	double most = 0;

	for (size_t w = 0; w < study->workload_count; w++) {
		for (enum layout layout = 0; layout < LAYOUTS; layout++)
			most = fmax(most, workload_bytes(study, &study->workloads[w], layout));
	}
	svg_text(&heat->svg, MARGIN, y + 30, "h2 b", "Bytes per pblock");
	y += BARS_HEAD;
	for (size_t w = 0; w < study->workload_count; w++) {
		char name[128];

		snprintf(name, sizeof(name), "%s", study->workloads[w].name);
		svg_fit(name, heat->left - MARGIN - LABEL_GAP, SVG_TEXT);
		svg_text(&heat->svg, heat->left - LABEL_GAP, y + 10, "e", "%s", name);
		for (enum layout layout = 0; layout < LAYOUTS; layout++) {
			draw_bar(heat, &study->workloads[w], layout, most, y);
			y += BAR_STEP;
		}
		y += BARS_GAP;
	}
	return y;
}

/* Draw the proposed structs, right of the bars; returns the y coordinate below them. */
static double draw_structs(struct heat *heat, double y)
{
	const struct study *study = heat->study;
	double x = heat->left + BAR_WIDTH + BAR_TEXT;

	svg_text(&heat->svg, x, y + 30, "h2 b", "Proposed: a top of %zu bytes, and clumps",
		 study->top_size);
	y += BARS_HEAD;
	for (size_t c = 0; c < study->clump_count; c++) {
		const struct clump *clump = &study->clumps[c];

		if (!clump->size)
			continue;
		svg_text(&heat->svg, x, y + 10, "h3",
			 "%s: %zu bytes%s, set in %.1f %% of the pblocks", clump->name, clump->size,
			 clump->in_top ? " of the top" : "",
			 100 * (double)clump->pblocks / fmax(1, (double)study->pblocks));
		y += BAR_STEP + 2;
	}
	return y;
}

int report_svg(const struct study *study, const char *path)
{
	struct heat heat = {.study = study};
	int status = EXIT_USAGE;
	double width, bottom;

	if (study->count == 0) {
		fail("%s: there is nothing to draw: no parameter was touched", path);
		return status;
	}
	measure(&heat);
	if (svg_begin(&heat.svg)) {
		draw_head(&heat);
		draw_cells(&heat);
		for (size_t i = 0; i < study->count; i++)
			draw_label(&heat, i);
		draw_brackets(&heat);
		bottom = draw_structs(&heat, heat.top + heat.side);
		bottom = fmax(bottom, draw_bars(&heat, heat.top + heat.side));
		width = heat.left + MARGIN +
			fmax(heat.side + SHARE, BAR_WIDTH + BAR_TEXT + STRUCT_WIDTH);
		status = svg_write(&heat.svg, path, &style, width, bottom + MARGIN,
				   "Parameters of pblocks that are used together");
	}
	svg_end(&heat.svg);
	return status;
}
