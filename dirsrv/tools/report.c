/* SPDX-License-Identifier: MIT */
/* The report of a study: as text, and as SVG. */
#include "study.h"

#include "fail.h"
#include "svg.h"

/* --- text: a table for each clump ----------------------------------------------------------- */

#define NAME_WIDTH 38

static void print_subject(const struct study *study, const struct subject *subject)
{
	const struct parameter *parameter = subject->parameter;

	printf("%6" PRIu32 " %-*s %-13s %5zu %12" PRIu64 " %12" PRIu64 " %6.1f\n",
	       parameter->number, NAME_WIDTH, parameter->name, group_name(parameter->group),
	       size_of_subject(subject), subject->gets, subject->sets,
	       share(subject->pblocks, study->workload->pblocks));
}

static void print_clump(const struct study *study, const struct clump *clump)
{
	printf("\n%s: %zu parameter%s, ", clump->name, clump->count, clump->count == 1 ? "" : "s");
	if (clump->size)
		printf("%zu bytes, set in %.1f %% of the pblocks\n", clump->size,
		       share(clump->pblocks, study->workload->pblocks));
	else
		printf("only read\n");
	for (size_t i = 0; i < clump->count; i++)
		print_subject(study, &study->subjects[study->order[clump->first + i]]);
}

static int report_text(const struct study *study)
{
	printf("%" PRIu64 " pblocks, %" PRIu64 " gets, %" PRIu64 " sets\n",
	       study->workload->pblocks, study->workload->gets, study->workload->sets);
	if (study->count == 0) {
		printf("No parameter was touched.\n");
		return EXIT_DONE;
	}
	printf("\nParameters that the same pblocks use. %%: of the pblocks touch it\n"
	       "%6s %-*s %-13s %5s %12s %12s %6s\n",
	       "number", NAME_WIDTH, "parameter", "home", "bytes", "gets", "sets", "%");
	for (size_t c = 0; c < study->clump_count; c++)
		print_clump(study, &study->clumps[c]);
	return EXIT_DONE;
}

/* --- SVG ------------------------------------------------------------------------------------ */

/*
 * The report as SVG: a heat map with a row and a column for each parameter. They are in the order
 * of the tree, so parameters that are used together are neighbours, and clumps are dark squares on
 * the diagonal.
 */

#define MARGIN 24.0
#define CELL 13.0
#define LABEL 250.0 /* the room for a parameter's name */
#define SHARE 52.0  /* right of the cells: how many pblocks touch the parameter */
#define HEAD 96.0
#define WIDTH_MIN 640.0 /* of the text at the top */

static const char title[] = "Parameters of pblocks that are used together";
static const struct svg_style style = {
	".h4{font-size:10px}.cell{fill:#1b2c63}.frame{fill:none;stroke:#d4dae0}\n"
	".box{fill:none;stroke:#d8341c;stroke-width:1.5}\n",
	".cell{fill:#fbe66a}.frame{stroke:#38424c}.box{stroke:#ff7f3f}\n",
};

struct heat {
	const struct study *study;
	struct svg svg;
	double left, top, side; /* of the cells */
};

static void draw_head(struct heat *heat)
{
	const struct study *study = heat->study;
	struct svg *svg = &heat->svg;

	svg_text(svg, MARGIN, 38, "h1 b", "%s", title);
	svg_text(svg, MARGIN, 59, "dim",
		 "%zu parameter%s in %" PRIu64 " pblocks. The darker a cell, the more of the "
		 "pblocks that touch",
		 study->count, study->count == 1 ? "" : "s", study->workload->pblocks);
	svg_text(svg, MARGIN, 75, "dim",
		 "either parameter touch both. Boxes are clumps. %%: of the pblocks touch it");
}

static void draw_square(struct heat *heat, const char *class, size_t first, size_t count)
{
	double at = (double)first * CELL, size = (double)count * CELL;

	fprintf(heat->svg.out,
		"<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", class,
		heat->left + at, heat->top + at, size, size);
}

static unsigned percent(const struct study *study, size_t row, size_t column)
{
	return (unsigned)(100 * study_likeness(study, study->order[row], study->order[column]) +
			  0.5);
}

/* Equal neighbours are one rectangle. */
static void draw_row(struct heat *heat, size_t row)
{
	size_t count = heat->study->count;

	for (size_t start = 0, end; start < count; start = end) {
		unsigned likeness = percent(heat->study, row, start);

		for (end = start + 1; end < count; end++)
			if (percent(heat->study, row, end) != likeness)
				break;
		if (likeness)
			fprintf(heat->svg.out,
				"<path class=\"cell\" opacity=\"%.2g\" d=\"M%g %gh%gv%gH%gz\"/>\n",
				likeness / 100.0, heat->left + (double)start * CELL,
				heat->top + (double)row * CELL, (double)(end - start) * CELL, CELL,
				heat->left + (double)start * CELL);
	}
}

static void draw_label(struct heat *heat, size_t place)
{
	const struct subject *subject = &heat->study->subjects[heat->study->order[place]];
	const char *name = subject->parameter->name + strlen("SLAPI_"),
		   *classes = subject->sets ? "h4" : "h4 dim";
	double middle = ((double)place + 0.5) * CELL + 3.5;
	struct svg *svg = &heat->svg;

	fprintf(svg->out, "<text x=\"%g\" y=\"%g\" class=\"%s e\">%" PRIu32 " %s</text>",
		heat->left - 6, heat->top + middle, classes, subject->parameter->number, name);
	fprintf(svg->out,
		"<text transform=\"translate(%g,%g)rotate(-90)\" class=\"%s\">%" PRIu32
		" %s</text>\n",
		heat->left + middle, heat->top - 6, classes, subject->parameter->number, name);
	svg_text(svg, heat->left + heat->side + SHARE - 4, heat->top + middle, "h4 e dim",
		 "%.1f %%", share(subject->pblocks, heat->study->workload->pblocks));
}

static void draw(struct heat *heat)
{
	const struct study *study = heat->study;

	draw_head(heat);
	for (size_t i = 0; i < study->count; i++) {
		draw_row(heat, i);
		draw_label(heat, i);
	}
	draw_square(heat, "frame", 0, study->count);
	for (size_t c = 0; c < study->clump_count; c++)
		draw_square(heat, "box", study->clumps[c].first, study->clumps[c].count);
}

static int report_svg(const struct study *study, const char *path)
{
	struct heat heat = {.study = study, .left = MARGIN + LABEL, .top = HEAD + LABEL};
	int status = EXIT_USAGE;
	double width;

	if (study->count == 0) {
		fail("%s: there is nothing to draw: no parameter was touched", path);
		return status;
	}
	heat.side = (double)study->count * CELL;
	width = heat.left + heat.side + SHARE + MARGIN;
	if (svg_begin(&heat.svg)) {
		draw(&heat);
		status = svg_write(&heat.svg, path, &style, width < WIDTH_MIN ? WIDTH_MIN : width,
				   heat.top + heat.side + MARGIN, title);
	}
	svg_end(&heat.svg);
	return status;
}

/* --- the program ----------------------------------------------------------------------------- */

static const char help_text[] =
	"usage: pblock-profile [--svg=FILE] TRACE...    pblock-profile(1)\n"
	"Parameters of pblocks: how often they are used, which are used together, and\n"
	"what sub-structs would need. Programs that use libslab_dirsrv write a trace\n"
	"with SLAB_PBLOCK_TRACE=FILE in their environment.\n"
	"  --svg=FILE   draw which parameters are used together; - is standard output\n"
	"  -h --help  --version\n"
	"Exit status: 0 done, 2 bad usage, a file that cannot be used\n";

static int read_and_show(char **paths, const char *svg)
{
	struct workload workload = {0};
	struct study study = {0};
	int status = EXIT_USAGE;
	bool done = true;

	for (; done && *paths; paths++)
		done = workload_add(&workload, *paths);
	if (done && study_make(&study, &workload))
		status = svg ? report_svg(&study, svg) : report_text(&study);
	study_free(&study);
	workload_free(&workload);
	return status;
}

const struct tool tool = {
	.name = "pblock-profile",
	.help = help_text,
	.option = "svg",
	.run = read_and_show,
};
