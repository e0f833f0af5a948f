/* SPDX-License-Identifier: MIT */
/*
 * --plot: recordings as lines over time, in three panels with one time axis: objects, bytes
 * of slabs, and wasted bytes. Each of the largest caches has a line, of the same colour in
 * all panels; the other caches share one. The names are at the ends of the lines. A line is
 * interrupted where there are no samples.
 *
 * Of samples that fall on the same pixel the lowest and the highest are drawn, so that
 * a week is not larger than a minute and no peak is lost.
 */
#include "plot.h"
#include "sites.h"
#include "svg.h"
#include "views.h"

#include <math.h>
#include <slab/slab.h>

#define WIDTH 1200.0
#define MARGIN 24.0
#define LEFT 86.0    /* of the plots: numbers stand there */
#define RIGHT 950.0  /* names */
#define HEAD 76.0
#define TITLE 46.0 /* of a panel */
#define PLOT_HEIGHT 170.0
#define BOTTOM 14.0
#define GAP 12.0
#define AXIS_HEIGHT 30.0
#define LINE_HEIGHT 15.0
#define LINES_DEFAULT 8
#define MOST_SHOWN 1e19 /* which an integer can hold */
#define COLOURS 8
#define DASHES 3
#define DOT "m-3 0h6" /* of one sample alone there is no line */

static const struct svg_style style = {
	".l{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}\n"
	".c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#009e73}.c3{stroke:#b8528a}\n"
	".c4{stroke:#dd9500}.c5{stroke:#56b4e9}.c6{stroke:#6a3d9a}.c7{stroke:#8c6d31}\n"
	".other{stroke:#87919b}.d1{stroke-dasharray:7 4}.d2{stroke-dasharray:2 4}\n"
	".lead{stroke-width:1;opacity:.6}.change{stroke:#5a6570;stroke-dasharray:4 3}\n",
	".c0{stroke:#4ba3e3}.c1{stroke:#ff7f3f}.c2{stroke:#2fc79a}.c3{stroke:#e79ac6}\n"
	".c4{stroke:#f5b731}.c5{stroke:#9fdcff}.c6{stroke:#b794e6}.c7{stroke:#c9a968}\n"
	".change{stroke:#a4afba}\n",
};

static const char *const titles[QUANTITIES][2] = {
	{"Objects", "allocated"},
	{"Bytes", "of slabs"},
	{"Waste", "bytes of slabs that hold no object"},
};

struct plot {
	struct svg svg;
	struct samples samples;
	struct series_list list;
	uint64_t start, end; /* milliseconds */
	double height;      /* of each panel's plot */
};

/* One panel. */
struct panel {
	struct plot *plot;
	enum quantity quantity;
	double top;   /* of the plot: y of `most` */
	double most;  /* where the axis ends */
	double step;  /* from one tick to the next */
	unsigned steps;
};

static double x_of(const struct plot *plot, uint64_t ms)
{
	return LEFT +
	       (RIGHT - LEFT) * (double)(ms - plot->start) / (double)(plot->end - plot->start);
}

static double y_of(const struct panel *panel, double value)
{
	return panel->top + panel->plot->height * (1 - value / panel->most);
}

/* "c3 d1" */
static const char *line_class(const struct plot *plot, size_t i)
{
	static char text[16];

	if (!plot->list.series[i].name)
		return "other";
	snprintf(text, sizeof(text), "c%zu d%zu", i % COLOURS, i / COLOURS % DASHES);
	return text;
}

/* Lines */

/* The samples of one pixel column that are not drawn yet. */
struct column {
	double x;
	size_t lowest, highest, count;
};

static void draw_point(const struct panel *panel, const double *values, size_t i)
{
	fprintf(panel->plot->svg.out, " %.1f %.1f",
		x_of(panel->plot, panel->plot->samples.samples[i].ms), y_of(panel, values[i]));
}

static void draw_column(const struct panel *panel, const double *values, struct column *column)
{
	size_t first = column->lowest, second = column->highest;

	if (first > second) {
		first = column->highest;
		second = column->lowest;
	}
	if (column->count)
		draw_point(panel, values, first);
	if (column->count && first != second)
		draw_point(panel, values, second);
	column->count = 0;
}

static void add_to_column(struct column *column, const double *values, size_t i)
{
	if (column->count++ == 0) {
		column->lowest = column->highest = i;
		return;
	}
	if (values[i] < values[column->lowest])
		column->lowest = i;
	if (values[i] >= values[column->highest])
		column->highest = i;
}

static void draw_line(const struct panel *panel, size_t number)
{
	const struct plot *plot = panel->plot;
	const double *values = plot->list.series[number].values[panel->quantity];
	struct column column = {0};
	size_t drawn = 0; /* samples without a gap */

	fprintf(plot->svg.out, "<path class=\"l %s\" d=\"", line_class(plot, number));
	for (size_t i = 0; i < plot->samples.count; i++) {
		double x = floor(x_of(plot, plot->samples.samples[i].ms));

		if (drawn && (isnan(values[i]) || series_gap(&plot->samples, i))) {
			draw_column(panel, values, &column);
			fputs(drawn == 1 ? DOT : "", plot->svg.out);
			drawn = 0;
		}
		if (isnan(values[i]))
			continue;
		if (drawn++ == 0)
			fputc('M', plot->svg.out);
		else if (x != column.x)
			draw_column(panel, values, &column);
		column.x = x;
		add_to_column(&column, values, i);
	}
	draw_column(panel, values, &column);
	fprintf(plot->svg.out, "%s\"/>\n", drawn == 1 ? DOT : "");
}

/* Names */

struct label {
	size_t number; /* of the line */
	double value;
	bool lasts; /* to the end of the plot */
	double y;
};

static int compare_labels(const void *left, const void *right)
{
	const struct label *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* The last value of the line; one that has none has no label. */
static bool make_label(const struct panel *panel, size_t number, struct label *label)
{
	const double *values = panel->plot->list.series[number].values[panel->quantity];
	size_t last = panel->plot->samples.count;

	while (last > 0 && isnan(values[last - 1]))
		last--;
	if (last == 0)
		return false;
	label->number = number;
	label->value = values[last - 1];
	label->lasts = panel->plot->samples.samples[last - 1].ms == panel->plot->end;
	return true;
}

/* Below each other, each as near to the end of its line as there is room. */
static void place_labels(const struct panel *panel, struct label *labels, size_t count)
{
	double lowest = panel->top + panel->plot->height;

	for (size_t i = 0; i < count; i++) {
		labels[i].y = y_of(panel, labels[i].value);
		labels[i].y = fmax(labels[i].y, i ? labels[i - 1].y + LINE_HEIGHT : panel->top);
	}
	for (size_t i = count; i-- > 0; lowest = labels[i].y - LINE_HEIGHT)
		labels[i].y = fmin(labels[i].y, lowest);
}

static bool is_bytes(const struct panel *panel)
{
	return panel->quantity != QUANTITY_OBJECTS;
}

static void draw_label(const struct panel *panel, const struct label *label)
{
	const struct plot *plot = panel->plot;
	const char *name = plot->list.series[label->number].name;
	char text[SLAB_MAX_NAME + 1], value[SIZE_TEXT];

	if (name)
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "%zu others", plot->list.others);
	if (is_bytes(panel))
		size_text(value, (uint64_t)fmin(label->value, MOST_SHOWN));
	else
		count_text(value, (uint64_t)fmin(label->value, MOST_SHOWN));
	svg_fit(text, WIDTH - MARGIN - RIGHT - 54 - svg_text_width(value, 11), 11);
	if (label->lasts)
		fprintf(plot->svg.out, "<path class=\"l lead %s\" d=\"M%g %.1fL%g %.1f\"/>\n",
			line_class(plot, label->number), RIGHT, y_of(panel, label->value),
			RIGHT + 16, label->y);
	fprintf(plot->svg.out, "<path class=\"l %s\" d=\"M%g %.1fh14\"/>\n",
		line_class(plot, label->number), RIGHT + 17, label->y);
	fprintf(plot->svg.out, "<text x=\"%g\" y=\"%.1f\" class=\"h3\">", RIGHT + 36, label->y + 4);
	svg_escape(plot->svg.out, text);
	fprintf(plot->svg.out, " <tspan class=\"dim\">%s</tspan></text>\n", value);
}

static void draw_labels(const struct panel *panel)
{
	struct label *labels = calloc(panel->plot->list.count + 1, sizeof(*labels));
	size_t count = 0;

	if (!labels)
		return;
	for (size_t i = 0; i < panel->plot->list.count; i++)
		count += make_label(panel, i, &labels[count]);
	qsort(labels, count, sizeof(*labels), compare_labels);
	place_labels(panel, labels, count);
	for (size_t i = 0; i < count; i++)
		draw_label(panel, &labels[i]);
	free(labels);
}

/* Panels */

static void choose_axis(struct panel *panel)
{
	const struct plot *plot = panel->plot;
	double most = 1;

	for (size_t i = 0; i < plot->list.count; i++) {
		for (size_t j = 0; j < plot->samples.count; j++)
			most = fmax(most, plot->list.series[i].values[panel->quantity][j]);
	}
	panel->step = axis_step(most, 5, is_bytes(panel));
	panel->steps = (unsigned)ceil(most / panel->step);
	panel->most = panel->steps * panel->step;
}

static void draw_values(const struct panel *panel)
{
	char text[AXIS_TEXT];

	for (unsigned i = 0; i <= panel->steps; i++) {
		double value = i * panel->step, y = y_of(panel, value);

		fprintf(panel->plot->svg.out, "<path class=\"grid\" d=\"M%g %.1fH%g\"/>\n", LEFT, y,
			RIGHT);
		svg_text(&panel->plot->svg, LEFT - 8, round(y) + 4, "h3 dim e", "%s",
			 axis_number(text, value, panel->step, is_bytes(panel)));
	}
}

/* Lines across the panel; the last panel has the times below them. */
static void draw_times(const struct panel *panel)
{
	struct plot *plot = panel->plot;
	uint64_t step = axis_time_step(plot->end - plot->start, 9);
	double bottom = panel->top + plot->height;
	char text[AXIS_TEXT];

	for (uint64_t ms = axis_first_time(plot->start, step); ms <= plot->end; ms += step) {
		fprintf(plot->svg.out, "<path class=\"grid\" d=\"M%.1f %gV%g\"/>\n", x_of(plot, ms),
			panel->top, bottom);
		if (panel->quantity == QUANTITIES - 1)
			svg_text(&plot->svg, round(x_of(plot, ms)), bottom + BOTTOM + 18,
				 "h3 dim m", "%s", axis_time(text, ms, step));
	}
}

/* Where another process begins; the names of some stand over the first panel, as many
 * as there is room for. */
static void draw_changes(const struct panel *panel)
{
	struct plot *plot = panel->plot;
	char name[32];
	double named = 0; /* up to there */

	for (size_t i = 1; i < plot->samples.count; i++) {
		const struct sample *sample = &plot->samples.samples[i];
		double x = x_of(plot, sample->ms), half;

		if (sample->pid == sample[-1].pid)
			continue;
		fprintf(plot->svg.out, "<path class=\"change\" d=\"M%.1f %gV%g\"/>\n", x,
			panel->top - 6, panel->top + plot->height);
		snprintf(name, sizeof(name), "process %d", sample->pid);
		half = svg_text_width(name, 11) / 2;
		if (panel->quantity != 0 || x - half < named)
			continue;
		svg_text(&plot->svg, round(x), panel->top - 10, "h3 dim m", "%s", name);
		named = x + half + GAP;
	}
}

static void draw_panel(struct plot *plot, enum quantity quantity, double y)
{
	struct panel panel = {.plot = plot, .quantity = quantity, .top = y + TITLE};

	choose_axis(&panel);
	svg_panel(&plot->svg, MARGIN, y, WIDTH - 2 * MARGIN, TITLE + plot->height + BOTTOM);
	fprintf(plot->svg.out,
		"<text x=\"%g\" y=\"%g\" class=\"h2 b\">%s<tspan class=\"dim h3\" dx=\"8\" "
		"font-weight=\"normal\">%s</tspan></text>\n",
		MARGIN + 14, y + 22, titles[quantity][0], titles[quantity][1]);
	draw_values(&panel);
	draw_times(&panel);
	draw_changes(&panel);
	for (size_t i = plot->list.count; i-- > 0;)
		draw_line(&panel, i);
	draw_labels(&panel);
}

/* The page */

static size_t count_processes(const struct samples *samples)
{
	size_t count = 1;

	for (size_t i = 1; i < samples->count; i++)
		count += samples->samples[i].pid != samples->samples[i - 1].pid;
	return count;
}

static void draw_title(struct plot *plot)
{
	const struct samples *samples = &plot->samples;
	uint64_t first = samples->samples[0].ms, last = samples->samples[samples->count - 1].ms;
	char date[AXIS_TEXT], from[AXIS_TEXT], age[AGE_TEXT], processes[64];
	size_t count = count_processes(samples);

	if (count == 1)
		snprintf(processes, sizeof(processes), "Process %d", samples->samples[0].pid);
	else
		snprintf(processes, sizeof(processes), "%zu processes after each other", count);
	svg_text(&plot->svg, MARGIN, 38, "h1 b", "Caches of %s", samples->command);
	svg_text(&plot->svg, MARGIN, 59, "dim",
		 "%s, from %s %s on, %s. %zu sample%s of %zu cache%s%s", processes,
		 axis_time(date, first, UINT64_C(86400000)), axis_time(from, first, 1000),
		 age_text(age, last - first), samples->count, plural(samples->count),
		 samples->names_count, plural(samples->names_count),
		 plot->list.others ? "; those that had the most bytes have lines of their own."
				   : ".");
}

static void choose_times(struct plot *plot)
{
	const struct sample *first = plot->samples.samples;

	plot->start = first->ms;
	plot->end = first[plot->samples.count - 1].ms;
	if (plot->end == plot->start) { /* one moment stands in the middle */
		plot->start -= first->interval_ms < plot->start ? first->interval_ms : 0;
		plot->end += first->interval_ms + 1;
	}
}

static int draw_page(struct plot *plot, const char *path)
{
	char label[128];
	double y = HEAD;

	snprintf(label, sizeof(label), "Objects, bytes and waste of the caches of %s over time",
		 plot->samples.command);
	choose_times(plot);
	plot->height = fmax(PLOT_HEIGHT, (double)plot->list.count * LINE_HEIGHT);
	draw_title(plot);
	for (size_t i = 0; i < QUANTITIES; i++) {
		draw_panel(plot, (enum quantity)i, y);
		y += TITLE + plot->height + BOTTOM + GAP;
	}
	return svg_write(&plot->svg, path, &style, WIDTH, y - GAP + AXIS_HEIGHT + MARGIN - 8,
			 label);
}

/* Reading */

struct span {
	uint64_t first, last;
};

/* The lines of several processes at the same time would be mixed up. */
static bool check_spans(char **paths, const struct span *spans, size_t last)
{
	for (size_t i = 0; i < last; i++) {
		if (spans[i].first <= spans[last].last && spans[last].first <= spans[i].last) {
			fail("%s and %s are of the same time; plot them one by one", paths[i],
			     paths[last]);
			return false;
		}
	}
	return true;
}

static bool read_recordings(struct samples *samples, char **paths, struct span *spans)
{
	for (size_t i = 0; paths[i]; i++) {
		size_t first = samples->count;

		if (!samples_read(samples, paths[i]))
			return false;
		spans[i] = (struct span){UINT64_MAX, 0};
		for (size_t j = first; j < samples->count; j++) {
			uint64_t ms = samples->samples[j].ms;

			spans[i].first = ms < spans[i].first ? ms : spans[i].first;
			spans[i].last = ms > spans[i].last ? ms : spans[i].last;
		}
		if (!check_spans(paths, spans, i))
			return false;
	}
	samples_sort(samples);
	return true;
}

int view_plot(const struct options *options)
{
	struct plot plot = {.samples = {0}};
	size_t files = 0, most = options->lines ? options->lines : LINES_DEFAULT;
	struct span *spans;
	int status = EXIT_USAGE;

	while (options->operands[files])
		files++;
	spans = calloc(files + 1, sizeof(*spans));
	if (!spans)
		fail("no memory for %zu files", files);
	else if (read_recordings(&plot.samples, options->operands, spans) &&
		 series_make(&plot.list, &plot.samples, most) && svg_begin(&plot.svg))
		status = draw_page(&plot, options->file);
	free(spans);
	svg_end(&plot.svg);
	series_free(&plot.list);
	samples_free(&plot.samples);
	return status;
}
