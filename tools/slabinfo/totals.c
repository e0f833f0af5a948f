/* SPDX-License-Identifier: MIT */
/*
 * -T: all caches summed up, and the average, smallest and largest of each
 * figure. Caches without objects do not count, except as caches.
 */
#include "select.h"
#include "views.h"

struct figure {
	uint64_t min, max, total, count;
};

/* The rows of both tables, in the order in which they are printed. */
enum row {
	OBJECTS,
	SLABS,
	PARTIAL_SLABS,
	PARTIAL_SLABS_PERCENT,
	PARTIAL_OBJECTS,
	PARTIAL_OBJECTS_PERCENT,
	MEMORY,
	USED,
	LOSS,
	PER_CACHE_ROWS,
	OBJECT_MEMORY = PER_CACHE_ROWS,
	OBJECT_USER,
	OBJECT_LOSS,
	ROWS,
};

static const char *const labels[ROWS] = {
	"#Objects", "#Slabs", "#PartSlab", "%PartSlab", "PartObjs", "% PartObj",
	"Memory",   "Used",   "Loss",      "Memory",    "User",     "Loss",
};

struct totals {
	size_t caches, active;
	struct figure row[ROWS];
};

/* `weight` is how many things have this value. */
static void add(struct figure *figure, uint64_t value, uint64_t weight)
{
	if (figure->count == 0 || value < figure->min)
		figure->min = value;
	if (value > figure->max)
		figure->max = value;
	figure->total += value * weight;
	figure->count += weight;
}

static uint64_t average(const struct figure *figure)
{
	return figure->count ? figure->total / figure->count : 0;
}

static uint64_t loss_of(uint64_t memory, uint64_t used)
{
	return memory > used ? memory - used : 0;
}

/* What CPUs hold counts as allocated in partial slabs, but is no object of the program. */
static uint64_t partial_objects(const struct cache *cache)
{
	return cache->objects_partial < cache->objects ? cache->objects_partial : cache->objects;
}

static void add_cache(struct totals *totals, const struct cache *cache)
{
	uint64_t memory = cache->slab_bytes, used = cache_used_bytes(cache);
	struct figure *row = totals->row;

	totals->caches++;
	if (!cache->slabs || !cache->objects)
		return;
	totals->active++;
	add(&row[OBJECTS], cache->objects, 1);
	add(&row[SLABS], cache->slabs, 1);
	add(&row[PARTIAL_SLABS], cache->partial, 1);
	add(&row[PARTIAL_SLABS_PERCENT], percent(cache->partial, cache->slabs), 1);
	add(&row[PARTIAL_OBJECTS], partial_objects(cache), 1);
	add(&row[PARTIAL_OBJECTS_PERCENT], percent(partial_objects(cache), cache->objects), 1);
	add(&row[MEMORY], memory, 1);
	add(&row[USED], used, 1);
	add(&row[LOSS], loss_of(memory, used), 1);
	add(&row[OBJECT_MEMORY], cache->slab_size, cache->objects);
	add(&row[OBJECT_USER], cache->object_size, cache->objects);
	add(&row[OBJECT_LOSS], loss_of(cache->slab_size, cache->object_size), cache->objects);
}

static void sum_up(struct totals *totals, const struct model *model)
{
	memset(totals, 0, sizeof(*totals));
	for (size_t i = 0; i < model->count; i++)
		add_cache(totals, &model->caches[i]);
}

static void print_heading(const struct options *options, const struct totals *totals)
{
	const struct figure *row = totals->row;
	char first[SIZE_TEXT], second[SIZE_TEXT];

	puts("Slabcache Totals");
	puts("----------------");
	printf("Slabcaches : %15zu   Active   : %15zu\n", totals->caches, totals->active);
	printf("Memory used: %15s   # Loss   : %15s   MRatio:%6" PRIu64 "%%\n",
	       size_shown(options, first, row[MEMORY].total),
	       size_shown(options, second, row[LOSS].total),
	       percent(row[LOSS].total, row[MEMORY].total));
	printf("# Objects  : %15s   # PartObj: %15s   ORatio:%6" PRIu64 "%%\n",
	       count_shown(options, first, row[OBJECTS].total),
	       count_shown(options, second, row[PARTIAL_OBJECTS].total),
	       percent(row[PARTIAL_OBJECTS].total, row[OBJECTS].total));
}

/* The total of percentages is the percentage of the totals. */
static uint64_t total(const struct totals *totals, enum row row)
{
	const struct figure *figure = totals->row;

	if (row == PARTIAL_SLABS_PERCENT)
		return percent(figure[PARTIAL_SLABS].total, figure[SLABS].total);
	if (row == PARTIAL_OBJECTS_PERCENT)
		return percent(figure[PARTIAL_OBJECTS].total, figure[OBJECTS].total);
	return figure[row].total;
}

static bool is_percentage(enum row row)
{
	return row == PARTIAL_SLABS_PERCENT || row == PARTIAL_OBJECTS_PERCENT;
}

static void cell(const struct options *options, enum row row, uint64_t value)
{
	char text[SIZE_TEXT + 1];

	if (row >= MEMORY)
		size_shown(options, text, value);
	else
		count_shown(options, text, value);
	if (is_percentage(row))
		snprintf(text, sizeof(text), "%" PRIu64 "%%", value);
	printf(" %16s", text);
}

static void print_row(const struct options *options, const struct totals *totals, enum row row)
{
	const struct figure *figure = &totals->row[row];

	printf("%-10s", labels[row]);
	cell(options, row, average(figure));
	cell(options, row, figure->min);
	cell(options, row, figure->max);
	if (row < PER_CACHE_ROWS)
		cell(options, row, total(totals, row));
	putchar('\n');
}

void view_totals(const struct options *options, const struct model *model)
{
	static const char rule[] =
		"------------------------------------------------------------------------------";
	struct totals totals;

	sum_up(&totals, model);
	if (!totals.active) {
		puts("No objects");
		return;
	}
	print_heading(options, &totals);
	printf("\n%-10s %16s %16s %16s %16s\n%s\n", "Per Cache", "Average", "Min", "Max", "Total",
	       rule);
	for (int row = 0; row < PER_CACHE_ROWS; row++)
		print_row(options, &totals, (enum row)row);
	printf("\n%-10s %16s %16s %16s\n%.61s\n", "Per Object", "Average", "Min", "Max", rule);
	for (int row = PER_CACHE_ROWS; row < ROWS; row++)
		print_row(options, &totals, (enum row)row);
}

/* --- for programs --------------------------------------------------------------- */

static const char *const keys[ROWS] = {
	"objects",         "slabs",           "partial",
	"partial_percent", "objects_partial", "objects_partial_percent",
	"bytes",           "used_bytes",      "loss_bytes",
	"bytes",           "user_bytes",      "loss_bytes",
};

static struct json_object *rows_json(const struct totals *totals, int from, int to)
{
	struct json_object *rows = json_object_new_object();

	for (int row = from; row < to; row++) {
		const struct figure *figure = &totals->row[row];
		struct json_object *object = json_object_new_object();

		model_add_number(object, "average", average(figure));
		model_add_number(object, "min", figure->min);
		model_add_number(object, "max", figure->max);
		if (row < PER_CACHE_ROWS)
			model_add_number(object, "total", total(totals, (enum row)row));
		json_object_object_add(rows, keys[row], object);
	}
	return rows;
}

struct json_object *totals_json(const struct model *model)
{
	struct json_object *object = json_object_new_object();
	struct totals totals;

	sum_up(&totals, model);
	model_add_number(object, "caches", totals.caches);
	model_add_number(object, "active", totals.active);
	json_object_object_add(object, "per_cache", rows_json(&totals, 0, PER_CACHE_ROWS));
	json_object_object_add(object, "per_object", rows_json(&totals, PER_CACHE_ROWS, ROWS));
	return object;
}

/* --- -X ----------------------------------------------------------------------------------- */

/*
 * -X: the totals, and which caches are first by size, by loss and by the number of
 * partial slabs: one each unless -N says otherwise, all sizes in bytes.
 */

static void print_first(const struct options *options, enum order order, const char *title,
			struct model *model)
{
	struct options shown = *options;
	struct model first;

	shown.order = order;
	printf("\n%s\n--------------------------------------\n", title);
	select_sort(&shown, model);
	first = *model;
	select_first(&shown, &first);
	view_table(&shown, &first);
}

void view_extended_totals(const struct options *options, struct model *model)
{
	struct options shown = *options;

	shown.bytes = true;
	shown.activity = false;
	if (!shown.lines)
		shown.lines = 1;
	view_totals(&shown, model);
	shown.view = VIEW_TABLE;
	select_shown(&shown, model);
	print_first(&shown, ORDER_SIZE, "Slabs sorted by size", model);
	print_first(&shown, ORDER_LOSS, "Slabs sorted by loss", model);
	print_first(&shown, ORDER_PARTIAL, "Slabs sorted by number of partial slabs", model);
}
