/* SPDX-License-Identifier: MIT */
/*
 * -T: all caches summed up, and the average, smallest and largest of each
 * figure. Caches without objects do not count, except as caches.
 */
#include "views.h"

#include <inttypes.h>
#include <stdio.h>

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
	size_t caches, active, aliases, aliased;
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

static void add_cache(struct totals *totals, const struct cache *cache)
{
	uint64_t memory = cache_bytes(cache), used = cache_used_bytes(cache);
	struct figure *row = totals->row;

	totals->caches++;
	totals->aliases += cache->aliases;
	totals->aliased += cache->aliases > 0;
	if (!cache->slabs || !cache->objects)
		return;
	totals->active++;
	add(&row[OBJECTS], cache->objects, 1);
	add(&row[SLABS], cache->slabs, 1);
	add(&row[PARTIAL_SLABS], cache->partial, 1);
	add(&row[PARTIAL_SLABS_PERCENT], percent(cache->partial, cache->slabs), 1);
	add(&row[PARTIAL_OBJECTS], cache->objects_partial, 1);
	add(&row[PARTIAL_OBJECTS_PERCENT], percent(cache->objects_partial, cache->objects), 1);
	add(&row[MEMORY], memory, 1);
	add(&row[USED], used, 1);
	add(&row[LOSS], loss_of(memory, used), 1);
	add(&row[OBJECT_MEMORY], cache->slab_size, cache->objects);
	add(&row[OBJECT_USER], cache->object_size, cache->objects);
	add(&row[OBJECT_LOSS], loss_of(cache->slab_size, cache->object_size), cache->objects);
}

static void print_heading(const struct totals *totals)
{
	const struct figure *row = totals->row;
	char first[SIZE_TEXT], second[SIZE_TEXT];

	puts("Slabcache Totals");
	puts("----------------");
	printf("Slabcaches : %15zu   Aliases  : %11zu->%-3zu  Active:    %3zu\n", totals->caches,
	       totals->aliases, totals->aliased, totals->active);
	printf("Memory used: %15s   # Loss   : %15s   MRatio:%6" PRIu64 "%%\n",
	       size_text(first, row[MEMORY].total), size_text(second, row[LOSS].total),
	       percent(row[LOSS].total, row[MEMORY].total));
	printf("# Objects  : %15s   # PartObj: %15s   ORatio:%6" PRIu64 "%%\n",
	       size_text(first, row[OBJECTS].total), size_text(second, row[PARTIAL_OBJECTS].total),
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

static void cell(enum row row, uint64_t value)
{
	char text[SIZE_TEXT + 1];

	size_text(text, value);
	if (row == PARTIAL_SLABS_PERCENT || row == PARTIAL_OBJECTS_PERCENT)
		snprintf(text, sizeof(text), "%" PRIu64 "%%", value);
	printf(" %16s", text);
}

static void print_row(const struct totals *totals, enum row row)
{
	const struct figure *figure = &totals->row[row];

	printf("%-10s", labels[row]);
	cell(row, average(figure));
	cell(row, figure->min);
	cell(row, figure->max);
	if (row < PER_CACHE_ROWS)
		cell(row, total(totals, row));
	putchar('\n');
}

void view_totals(const struct options *options, const struct model *model)
{
	(void)options;
	static const char rule[] =
		"------------------------------------------------------------------------------";
	struct totals totals = {0};

	for (size_t i = 0; i < model->count; i++)
		add_cache(&totals, &model->caches[i]);
	if (!totals.active) {
		puts("No objects");
		return;
	}
	print_heading(&totals);
	printf("\n%-10s %16s %16s %16s %16s\n%s\n", "Per Cache", "Average", "Min", "Max", "Total",
	       rule);
	for (int row = 0; row < PER_CACHE_ROWS; row++)
		print_row(&totals, (enum row)row);
	printf("\n%-10s %16s %16s %16s\n%.61s\n", "Per Object", "Average", "Min", "Max", rule);
	for (int row = PER_CACHE_ROWS; row < ROWS; row++)
		print_row(&totals, (enum row)row);
}
