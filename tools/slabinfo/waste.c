/* SPDX-License-Identifier: MIT */
/*
 * --waste: the memory of slabs that holds no object, by cache; and by the call sites of the objects
 * that keep it, where they are known (docs/schema).
 */
#include "select.h"
#include "sites.h"
#include "views.h"

/* A cache or a call site. */
struct row {
	const struct cache *cache;
	struct json_object *json;
	uint64_t bytes;
};

struct rows {
	struct row *row;
	size_t count;
	uint64_t bytes, unused;
};

static int by_name(const void *a, const void *b)
{
	const struct cache *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static int by_bytes(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

/* The elements of an array that belong to the caches that are shown, the most bytes first; they
 * stay in the array alone. */
static bool take_rows(struct rows *rows, const struct model *model, struct json_object *array)
{
	const size_t count = model_length(array);

	*rows = (struct rows){.row = calloc(count + 1, sizeof(*rows->row))};
	for (size_t i = 0; rows->row && i < count; i++) {
		struct json_object *json = json_object_array_get_idx(array, i);
		const struct cache like = {.name = model_text(json, "cache")};
		const struct row row = {
			.cache = bsearch(&like, model->caches, model->count, sizeof(like), by_name),
			.json = json,
			.bytes = model_number(json, "bytes"),
		};

		if (!row.cache || !row.bytes)
			continue;
		rows->row[rows->count++] = row;
		rows->bytes += row.bytes;
		rows->unused += model_number(json, "unused");
	}
	if (rows->row)
		qsort(rows->row, rows->count, sizeof(*rows->row), by_bytes);
	return rows->row;
}

/* --- tables ------------------------------------------------------------------------------- */

static void print_caches(const struct options *options, const struct rows *caches)
{
	char waste[SIZE_TEXT], unused[SIZE_TEXT], space[SIZE_TEXT];

	puts("Name                   Objects Objsize     Space     Waste   %    Unused");
	for (size_t i = 0; i < lines_shown(options, caches->count); i++) {
		const struct row *row = &caches->row[i];

		printf("%-21s %8" PRIu64 " %7" PRIu64 " %9s %9s %3" PRIu64 " %9s\n",
		       row->cache->name, row->cache->objects, row->cache->object_size,
		       size_shown(options, space, row->cache->slab_bytes),
		       size_shown(options, waste, row->bytes),
		       percent(row->bytes, row->cache->slab_bytes),
		       size_shown(options, unused, model_number(row->json, "unused")));
	}
}

static void print_holders(const struct options *options, struct symbolizer *symbolizer,
			  const struct rows *holders)
{
	char waste[SIZE_TEXT], objects[SIZE_TEXT], each[SIZE_TEXT];

	puts("\n   Waste  Objects      Each  Cache");
	for (size_t i = 0; i < lines_shown(options, holders->count); i++) {
		const struct row *row = &holders->row[i];
		const uint64_t count = model_number(row->json, "objects");
		const struct site site = {.cache = row->cache, .json = row->json};

		printf("%8s %8s %9s  %s%s\n", size_shown(options, waste, row->bytes),
		       count_shown(options, objects, count),
		       size_shown(options, each, row->bytes / (count ? count : 1)),
		       row->cache->name,
		       json_object_get_boolean(model_member(row->json, "sampled"))
			       ? ", by the heap profile"
			       : "");
		site_print_stack(symbolizer, &site, 0);
		putchar('\n');
	}
}

static void print_waste(const struct options *options, const struct process *process,
			struct symbolizer *symbolizer, const struct rows *caches,
			const struct rows *holders)
{
	const uint64_t known = holders->bytes + caches->unused;
	char text[SIZE_TEXT];

	printf("Slabs of process %d (%s) have %s without an object", process->pid, process->command,
	       size_text(text, caches->bytes));
	printf(", %s of it in unused slabs\n\n", size_text(text, caches->unused));
	print_caches(options, caches);
	if (holders->count)
		print_holders(options, symbolizer, holders);
	/* Each holder's bytes are rounded down. */
	if (caches->bytes > known + holders->count)
		printf("%sWho keeps %s is not recorded; slabinfo -p %d -du REGEXP switches that "
		       "on.\n",
		       holders->count ? "" : "\n", size_text(text, caches->bytes - known),
		       process->pid);
}

/* --- the view ----------------------------------------------------------------------------- */

/* The answer, with the rows that are shown, and with symbols. */
static void print_json(struct symbolizer *symbolizer, const struct rows *caches,
		       const struct rows *holders)
{
	struct json_object *answer = json_object_new_object();
	const struct {
		const char *key;
		const struct rows *rows;
	} part[] = {{"waste", caches}, {"sites", holders}};

	for (size_t i = 0; i < 2; i++) {
		struct json_object *array = json_object_new_array();

		for (size_t j = 0; j < part[i].rows->count; j++) {
			const struct site site = {.json = part[i].rows->row[j].json};

			site_add_symbols(symbolizer, &site);
			json_object_array_add(array, json_object_get(site.json));
		}
		json_object_object_add(answer, part[i].key, array);
	}
	puts(json_object_to_json_string_ext(answer, JSON_STYLE));
	json_object_put(answer);
}

static int show(const struct options *options, const struct process *process,
		const struct model *model, struct json_object *answer)
{
	struct symbolizer *symbolizer = symbols_open();
	struct rows caches = {.row = NULL}, holders = {.row = NULL};
	const bool done = symbolizer && take_rows(&caches, model, model_member(answer, "waste")) &&
			  take_rows(&holders, model, model_member(answer, "sites"));

	if (symbolizer && !done)
		fail("no memory for %zu caches", model->count);
	if (done && options->json)
		print_json(symbolizer, &caches, &holders);
	else if (done)
		print_waste(options, process, symbolizer, &caches, &holders);
	free(caches.row);
	free(holders.row);
	symbols_close(symbolizer);
	return done ? EXIT_DONE : EXIT_NOTHING;
}

int view_waste(const struct options *options, struct process *process, struct model *model)
{
	struct json_object *answer = attach_query(process, "waste", NULL);
	int status = EXIT_NOTHING;

	if (answer) {
		qsort(model->caches, model->count, sizeof(*model->caches), by_name);
		status = show(options, process, model, answer);
	}
	json_object_put(answer);
	return status;
}
