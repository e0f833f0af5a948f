/* SPDX-License-Identifier: MIT */
/*
 * --map: a picture of all slabs. A cache is a box, and a slab is a cell in it. The more
 * objects a slab has, the stronger is the colour of its cell; pale cells are memory that is
 * taken from the system and not used. Cells are grouped: partial slabs, full and empty ones, and
 * those of debugging, of each node. The outline has the colour of the state.
 *
 * Cells shrink as their number grows, and from CELLS_MAX on a cell stands for several
 * neighbours, so that the pictures stay readable and small. Caches with many slabs come
 * first and have the full width; the others are in three columns.
 */
#include "occupancy.h"
#include "select.h"
#include "svg.h"
#include "views.h"

#include <math.h>
#include <slab/slab.h>

#define WIDTH 1200.0
#define MARGIN 24.0
#define GAP 12.0
#define INNER (WIDTH - 2 * MARGIN)
#define COLUMNS 3
#define NARROW ((INNER - (COLUMNS - 1) * GAP) / COLUMNS)
#define PADDING 14.0
#define HEAD 56.0       /* of a box: two lines of text */
#define USED_WIDTH 90.0 /* of what stands right of the name */
#define EMPTY_WIDTH (INNER - 200) /* of the names of empty caches */
#define LABEL 17.0      /* of a group */
#define GROUP_GAP 16.0  /* between groups of a row */
#define GROUP_STEP 60.0
#define ROW_GAP 10.0    /* between rows of groups */
#define TALL_WIDE 260.0 /* cells shrink when they would need more height than this */
#define TALL_NARROW 90.0
#define GROUPS_NARROW 12
#define CELLS_MAX 20000
#define OUTLINED 11.0 /* from this pitch on cells have an outline */
#define LEVELS 10    /* none, eight steps, all */

static const struct svg_style style = {
	".o0{fill:#fff}.o1{fill:#f4f5d3}.o2{fill:#dcefc4}.o3{fill:#b5debc}.o4{fill:#85cbbb}\n"
	".o5{fill:#55b3bf}.o6{fill:#3495bd}.o7{fill:#2672ad}.o8{fill:#24509a}.o9{fill:#1b2c63}\n"
	".s0{stroke:#3f86e0}.s1{stroke:#009e73}.s2{stroke:#e69f00}.s3{stroke:#b04fa0}\n"
	".s4{stroke:#8a939c}.s5{stroke:#8c6a3f}\n"
	".k{stroke-width:1.5}.n{stroke:none}\n"
	".n .o0,.n .o1{stroke:#b9c2ca;stroke-width:.5}\n",
	".o0{fill:#14181c}.o1{fill:#2c2f4a}.o2{fill:#323d66}.o3{fill:#2f5480}.o4{fill:#2b6d8e}\n"
	".o5{fill:#2f8790}.o6{fill:#43a286}.o7{fill:#76bc6d}.o8{fill:#b7d157}.o9{fill:#fbe66a}\n"
	".s4{stroke:#a4afba}.s5{stroke:#c39a63}.n .o0,.n .o1{stroke:#55606b}\n",
};

/* A box that is drawn but not placed yet. */
struct section {
	struct svg svg;
	double width, height;
};

struct map {
	struct process *process;
	struct occupancy *slabs; /* of each cache of the model */
	struct section *sections;
	size_t count;
};

/* Cells */

static unsigned level_of(const struct slab_info *slab)
{
	if (slab->used == 0)
		return 0;
	if (slab->used >= slab->room)
		return LEVELS - 1;
	return 1 + (unsigned)((double)slab->used / (double)slab->room * (LEVELS - 2));
}

static void draw_cell(FILE *out, const struct slab_info *slab, double x, double y, double pitch)
{
	double size = pitch >= OUTLINED ? pitch - 4 : pitch - 1;

	fprintf(out, "<path class=\"o%u\" d=\"M%g %gh%gv%gh-%gz\"><title>0x%" PRIx64 ": ",
		level_of(slab), x, y, size, size, size, slab->address);
	if (slab->slabs > 1)
		fprintf(out, "%u slabs, ", slab->slabs);
	fprintf(out, "%" PRIu64 " of %" PRIu64, slab->used, slab->room);
	if (slab->debug_flags[0]) {
		fputs(", ", out);
		svg_escape(out, slab->debug_flags);
	}
	fputs("</title></path>\n", out);
}

/* The largest distance of cells at which their height is within the limit. */
static double choose_pitch(size_t cells, double width, double tall)
{
	static const double pitches[] = {18, 15, 13, 11, 9, 7, 6, 5};
	size_t i = 0;

	while (i + 1 < sizeof(pitches) / sizeof(pitches[0]) &&
	       ceil((double)cells / floor(width / pitches[i])) * pitches[i] > tall)
		i++;
	return pitches[i];
}

/* Groups */

static void group_name(char text[64], const struct slab_info *slab, bool nodes)
{
	if (nodes)
		snprintf(text, 64, "%s, node %d", state_name(slab->state), slab->node);
	else
		snprintf(text, 64, "%s", state_name(slab->state));
}

/* "12 slabs, 49 %". Slabs that have no free objects are full, also while CPUs hold some. */
static void group_numbers(char text[64], const struct slab_info *slabs, size_t count)
{
	uint64_t used = 0, room = 0, number = 0;

	for (size_t i = 0; i < count; i++) {
		used += slabs[i].used;
		room += slabs[i].room;
		number += slabs[i].slabs;
	}
	snprintf(text, 64, "%" PRIu64 " slab%s, %" PRIu64 " %%%s", number, plural(number),
		 percent(used, room),
		 slabs->state == STATE_FULL && used < room ? ", CPUs hold the rest" : "");
}

struct flow {
	FILE *out;
	double x, y, height; /* where the next group stands, and the height of this row */
	double width, pitch;
	double step; /* groups start at multiples of it */
	bool nodes;  /* there are several */
};

static void draw_group(struct flow *flow, const struct slab_info *slabs, size_t count)
{
	size_t fit = (size_t)(flow->width / flow->pitch), in_row = count < fit ? count : fit;
	size_t rows = (count + in_row - 1) / in_row;
	char name[64], numbers[64];
	double width;

	group_name(name, slabs, flow->nodes);
	group_numbers(numbers, slabs, count);
	width = fmax((double)in_row * flow->pitch,
		     16 + svg_text_width(name, 11) + svg_text_width(numbers, 11));
	if (flow->x > 0 && flow->x + width > flow->width) {
		flow->y += flow->height + ROW_GAP;
		flow->x = flow->height = 0;
	}
	fprintf(flow->out,
		"<g transform=\"translate(%g,%g)\"><path class=\"s%d\" stroke-width=\"3\" "
		"d=\"M1.5 1v10\"/><text x=\"8\" y=\"10\" class=\"h3\">%s <tspan class=\"dim\">%s"
		"</tspan></text>\n<g class=\"%s s%d\">\n",
		PADDING + flow->x, HEAD + flow->y, (int)slabs->state, name, numbers,
		flow->pitch >= OUTLINED ? "k" : "n", (int)slabs->state);
	for (size_t i = 0; i < count; i++) {
		const size_t row = i / in_row, column = i % in_row;

		draw_cell(flow->out, &slabs[i], 1 + (double)column * flow->pitch,
			  LABEL + (double)row * flow->pitch, flow->pitch);
	}
	fputs("</g></g>\n", flow->out);
	/* Groups of several rows stand below each other. */
	flow->x += ceil((width + GROUP_GAP) / flow->step) * flow->step;
	flow->height = fmax(flow->height, LABEL + (double)rows * flow->pitch);
}

/* Boxes */

static size_t count_groups(const struct occupancy *occupancy, bool *ret_nodes)
{
	size_t groups = 0;

	*ret_nodes = false;
	for (size_t i = 0; i < occupancy->count; i += occupancy_group(occupancy, i)) {
		groups++;
		*ret_nodes |= occupancy->slabs[i].node != occupancy->slabs[0].node;
	}
	return groups;
}

static void draw_head(struct section *section, const struct cache *cache,
		      const struct occupancy *occupancy, unsigned neighbours)
{
	char bytes[SIZE_TEXT], lost[SIZE_TEXT], name[SLAB_MAX_NAME + 1], part[128] = "";
	double right = section->width - PADDING;
	struct svg *svg = &section->svg;

	snprintf(name, sizeof(name), "%s", cache->name);
	/* Bold letters are wider. */
	svg_fit(name, (right - PADDING - USED_WIDTH) / 1.15, 14);
	svg_text(svg, PADDING, 23, "h2 b", "%s", name);
	svg_text(svg, right, 23, "h2 e", "%" PRIu64 " %% used",
		 percent(cache_used_bytes(cache), cache->slab_bytes));
	svg_text(svg, PADDING, 41, "h3 dim",
		 "%" PRIu64 " bytes, %" PRIu64 " in a new slab · %" PRIu64 " slab%s, %s · %s lost",
		 cache->object_size, cache->objects_per_slab, cache->slabs, plural(cache->slabs),
		 size_text(bytes, cache->slab_bytes), size_text(lost, cache_loss(cache)));
	if (occupancy->total > occupancy->count && neighbours == 1)
		snprintf(part, sizeof(part), "the first %zu of %" PRIu64 " slabs", occupancy->count,
			 occupancy->total);
	else if (neighbours > 1)
		snprintf(part, sizeof(part), "a cell stands for up to %u neighbours", neighbours);
	if (part[0])
		svg_text(svg, right, 41, "h3 e", "%s", part);
}

static void draw_slabs(struct section *section, const struct occupancy *occupancy, bool wide,
		       bool nodes)
{
	struct flow flow = {.out = section->svg.out, .nodes = nodes};

	flow.width = section->width - 2 * PADDING;
	flow.step = flow.width / floor(flow.width / GROUP_STEP);
	flow.pitch = choose_pitch(occupancy->count, flow.width, wide ? TALL_WIDE : TALL_NARROW);
	for (size_t i = 0, count; i < occupancy->count; i += count) {
		count = occupancy_group(occupancy, i);
		draw_group(&flow, &occupancy->slabs[i], count);
	}
	section->height = HEAD + flow.y + flow.height + ROW_GAP;
}

static bool needs_width(const struct occupancy *occupancy, size_t groups)
{
	double pitch = choose_pitch(occupancy->count, NARROW - 2 * PADDING, TALL_NARROW);

	return pitch < 11 || groups > GROUPS_NARROW;
}

static void draw_section(struct section *section, const struct cache *cache,
			 struct occupancy *slabs)
{
	const unsigned neighbours = (unsigned)((slabs->count + CELLS_MAX - 1) / CELLS_MAX);
	bool nodes, wide = needs_width(slabs, count_groups(slabs, &nodes));

	section->width = wide ? INNER : NARROW;
	draw_head(section, cache, slabs, neighbours);
	if (neighbours > 1)
		occupancy_merge(slabs, neighbours);
	draw_slabs(section, slabs, wide, nodes);
}

/* The page */

static double draw_ramp(struct svg *svg, double x, double y)
{
	svg_text(svg, x, y + 10, "h3", "used: none");
	x += 70;
	fputs("<g class=\"n\">", svg->out);
	for (unsigned i = 0; i < LEVELS; i++)
		fprintf(svg->out, "<path class=\"o%u\" d=\"M%g %gh15v12h-15z\"/>", i, x + i * 16.0,
			y);
	fputs("</g>\n", svg->out);
	svg_text(svg, x + LEVELS * 16.0 + 6, y + 10, "h3", "all");
	return x + LEVELS * 16.0 + 50;
}

static void draw_legend(struct svg *svg, double x, double y)
{
	static const char *const names[STATES] = {"partial",        "full",   "empty",
						  "with debugging", "legacy", "guarded object"};

	x = draw_ramp(svg, x, y);
	for (size_t i = 0; i < STATES; i++) {
		fprintf(svg->out,
			"<path class=\"s%zu\" fill=\"none\" stroke-width=\"2\" d=\"M%g %gh9v9h-9z\"/>\n",
			i, x, y + 1.5);
		svg_text(svg, x + 15, y + 10, "h3", "%s", names[i]);
		x += 32 + svg_text_width(names[i], 11);
	}
}

static void draw_title(struct svg *svg, const struct process *process, const struct model *model)
{
	char bytes[SIZE_TEXT], lost_text[SIZE_TEXT], when[64];
	uint64_t total = 0, lost = 0, slabs = 0;
	time_t now = time(NULL);

	for (size_t i = 0; i < model->count; i++) {
		total += model->caches[i].slab_bytes;
		lost += cache_loss(&model->caches[i]);
		slabs += model->caches[i].slabs;
	}
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %Z", localtime(&now));
	svg_text(svg, MARGIN, 38, "h1 b", "Slabs of %s", process->command);
	svg_text(svg, MARGIN, 59, "dim",
		 "Process %d, %s. %zu cache%s with %" PRIu64 " slab%s of %s, %s of it lost: bytes "
		 "that hold no object.",
		 process->pid, process->way == WAY_CORE ? "from its core file" : when, model->count,
		 plural(model->count), slabs, plural(slabs), size_text(bytes, total),
		 size_text(lost_text, lost));
	draw_legend(svg, MARGIN, 74);
}

static void place_section(struct svg *svg, struct section *section, double x, double y)
{
	fprintf(svg->out, "<g transform=\"translate(%g,%g)\">\n", x, y);
	svg_panel(svg, 0, 0, section->width, section->height);
	fflush(section->svg.out);
	fwrite(section->svg.text, 1, section->svg.size, svg->out);
	fputs("</g>\n", svg->out);
}

/* The narrow boxes, each in the column that is shortest; returns where they end. */
static double place_narrow(struct svg *svg, struct map *map, double y)
{
	double bottom[COLUMNS] = {y, y, y}, end = y;

	for (size_t i = 0; i < map->count; i++) {
		struct section *section = &map->sections[i];
		size_t column = 0;

		if (section->width > NARROW)
			continue;
		for (size_t other = 1; other < COLUMNS; other++) {
			if (bottom[other] < bottom[column])
				column = other;
		}
		place_section(svg, section, MARGIN + (double)column * (NARROW + GAP),
			      bottom[column]);
		bottom[column] += section->height + GAP;
		end = fmax(end, bottom[column]);
	}
	return end;
}

/* Wide boxes below each other, then the narrow ones. */
static double place_sections(struct svg *svg, struct map *map, double y)
{
	for (size_t i = 0; i < map->count; i++) {
		if (map->sections[i].width > NARROW) {
			place_section(svg, &map->sections[i], MARGIN, y);
			y += map->sections[i].height + GAP;
		}
	}
	return place_narrow(svg, map, y);
}

/* The names of caches without slabs that fit in a line. */
static double draw_empty(struct svg *svg, const struct model *model, double y)
{
	char text[512] = "", separator[] = ": ";
	double width = 0;
	size_t empty = 0, named = 0;

	for (size_t i = 0; i < model->count; i++) {
		const char *name = model->caches[i].name;
		size_t len = strlen(text);

		if (model->caches[i].slabs)
			continue;
		width += svg_text_width(name, SVG_TEXT) + svg_text_width(separator, SVG_TEXT);
		if (empty++ != named || width > EMPTY_WIDTH)
			continue;
		named++;
		snprintf(text + len, sizeof(text) - len, "%s%s", separator, name);
		separator[0] = ',';
	}
	if (!empty)
		return y;
	svg_text(svg, MARGIN, y + 12, "dim", "%zu cache%s without slabs%s%s", empty, plural(empty),
		 text, named < empty ? " …" : ".");
	return y + 24;
}

static int draw_page(struct map *map, const struct options *options, const struct model *model)
{
	struct svg page;
	char label[128];
	int status = EXIT_USAGE;
	double y;

	snprintf(label, sizeof(label), "Slabs of process %d (%s)", map->process->pid,
		 map->process->command);
	if (svg_begin(&page)) {
		draw_title(&page, map->process, model);
		y = place_sections(&page, map, 102);
		y = draw_empty(&page, model, y);
		status = svg_write(&page, options->file, &style, WIDTH, y + MARGIN - GAP, label);
	}
	svg_end(&page);
	return status;
}

/* Query a cache by its name. It may be gone, and then has no slabs. */
static bool take_alone(struct occupancy *slabs, struct process *process, const struct cache *cache)
{
	char why[WHY_TEXT] = "";
	bool taken;

	fail_capture(why, sizeof(why));
	taken = occupancy_take(slabs, process, cache->name);
	fail_capture(NULL, 0);
	return taken || select_is_gone(why);
}

/* An answer about all caches may have no room for all slabs. */
static bool take_slabs(struct map *map, const struct model *model)
{
	struct occupancy *slabs = map->slabs;

	if (model->count == 1)
		return take_alone(slabs, map->process, model->caches);
	if (!occupancy_take_all(slabs, map->process, model))
		return false;
	for (size_t i = 0; i < model->count; i++) {
		if (slabs[i].count == slabs[i].total)
			continue;
		occupancy_free(&slabs[i]);
		if (!take_alone(&slabs[i], map->process, &model->caches[i]))
			return false;
	}
	return true;
}

static bool draw_sections(struct map *map, const struct model *model)
{
	for (size_t i = 0; i < model->count; i++) {
		struct section *section = &map->sections[map->count];

		if (!model->caches[i].slabs || !map->slabs[i].total)
			continue;
		if (!svg_begin(&section->svg))
			return false;
		map->count++;
		draw_section(section, &model->caches[i], &map->slabs[i]);
	}
	return true;
}

int view_map(const struct options *options, struct process *process, const struct model *model)
{
	struct map map = {.process = process};
	int status = EXIT_USAGE;

	map.sections = calloc(model->count + 1, sizeof(*map.sections));
	map.slabs = calloc(model->count + 1, sizeof(*map.slabs));
	if (!map.sections || !map.slabs)
		fail("no memory for %zu caches", model->count);
	else if (take_slabs(&map, model) && draw_sections(&map, model))
		status = draw_page(&map, options, model);
	for (size_t i = 0; i < map.count; i++)
		svg_end(&map.sections[i].svg);
	for (size_t i = 0; i < model->count && map.slabs; i++)
		occupancy_free(&map.slabs[i]);
	free(map.slabs);
	free(map.sections);
	return status;
}
