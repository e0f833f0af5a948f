/* SPDX-License-Identifier: MIT */
/* -n: slabs on each NUMA node, and the same of one cache for its report. */
#include "views.h"

/* What the kernel's tool takes for a column at least. */
#define WIDTH_MIN 4

static struct json_object *nodes_of(const struct cache *cache)
{
	return model_member(cache->json, "nodes");
}

static uint64_t number_of(const struct cache *cache, size_t node, const char *key)
{
	return model_number(json_object_array_get_idx(nodes_of(cache), node), key);
}

/* The width that all numbers of this kind have room in. */
static int width_of(const struct options *options, const struct cache *cache, const char *key)
{
	const size_t nodes = model_length(nodes_of(cache));
	size_t width = WIDTH_MIN;
	char text[SIZE_TEXT];

	for (size_t n = 0; n < nodes; n++) {
		size_t len = strlen(count_shown(options, text, number_of(cache, n, key)));

		if (len > width)
			width = len;
	}
	return (int)width;
}

static void print_header(const char *title, size_t nodes, int width)
{
	printf("%-21s:", title);
	for (size_t n = 0; n < nodes; n++)
		printf(" %*zu", width, n);
	puts("\n------------------------------------------------------------------------");
}

static void print_row(const struct options *options, const char *title, const struct cache *cache,
		      const char *key, int width)
{
	const size_t nodes = model_length(nodes_of(cache));
	char text[SIZE_TEXT];

	printf("%-21s ", title);
	for (size_t n = 0; n < nodes; n++)
		printf(" %*s", width, count_shown(options, text, number_of(cache, n, key)));
	putchar('\n');
}

void view_numa(const struct options *options, const struct model *model)
{
	const size_t nodes = model_number(model_member(model->document, "process"), "nodes");
	int width = WIDTH_MIN;

	if (nodes < 2) {
		puts("No NUMA information available.");
		return;
	}
	for (size_t i = 0; i < model->count; i++) {
		int needed = width_of(options, &model->caches[i], "slabs");

		width = needed > width ? needed : width;
	}
	print_header("Slab", nodes, width);
	for (size_t i = 0; i < model->count; i++)
		print_row(options, model->caches[i].name, &model->caches[i], "slabs", width);
}

void numa_report(const struct options *options, const struct cache *cache)
{
	static const char *const rows[][2] = {
		{"All slabs", "slabs"}, {"Partial slabs", "partial"}, {"Objects", "objects"}};
	const size_t nodes = model_length(nodes_of(cache));
	int width = WIDTH_MIN;

	if (nodes < 2)
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int needed = width_of(options, cache, rows[i][1]);

		width = needed > width ? needed : width;
	}
	putchar('\n');
	print_header("NUMA nodes", nodes, width);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		print_row(options, rows[i][0], cache, rows[i][1], width);
}
