/* SPDX-License-Identifier: MIT */
/*
 * The default view: one line for each cache, columns as in the kernel's tool; and the columns of
 * activity (-D, -A). libslab counts what leaves the fast path, and nothing on it, so Alloc and Free
 * are the allocations and frees that left it. Alloc/s has all allocations, if they were counted for
 * some moments (--top does that).
 *
 * Below the default view a line has all memory of the process in libslab, which is more
 * than that of its caches.
 */
#include "select.h"
#include "views.h"

#include <slab/slab.h>

const char *count_text(char text[SIZE_TEXT], uint64_t count)
{
	static const struct {
		uint64_t unit;
		char letter;
	} units[] = {{1000000000, 'G'}, {1000000, 'M'}, {1000, 'K'}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (count > units[i].unit) {
			uint64_t tenths = count / (units[i].unit / 10);

			snprintf(text, SIZE_TEXT, "%" PRIu64 ".%u%c", tenths / 10,
				 (unsigned)(tenths % 10), units[i].letter);
			return text;
		}
	}
	snprintf(text, SIZE_TEXT, "%" PRIu64, count);
	return text;
}

/* Without a decimal from 100 on: seven characters up to 1023 TiB. */
const char *size_text(char text[SIZE_TEXT], uint64_t bytes)
{
	static const char prefixes[] = "KMGT";
	unsigned i = 0;

	if (bytes < 1024) {
		snprintf(text, SIZE_TEXT, "%" PRIu64, bytes);
		return text;
	}
	while (i + 1 < sizeof(prefixes) - 1 && bytes >> 10 * (i + 2))
		i++;

	const uint64_t whole = bytes >> 10 * (i + 1);
	const uint64_t rest = bytes - (whole << 10 * (i + 1));

	if (whole >= 100)
		snprintf(text, SIZE_TEXT, "%" PRIu64 "%ciB", whole, prefixes[i]);
	else
		snprintf(text, SIZE_TEXT, "%" PRIu64 ".%u%ciB", whole,
			 (unsigned)(rest * 10 >> 10 * (i + 1)), prefixes[i]);
	return text;
}

static const char *digits(char text[SIZE_TEXT], uint64_t number)
{
	snprintf(text, SIZE_TEXT, "%" PRIu64, number);
	return text;
}

const char *size_shown(const struct options *options, char text[SIZE_TEXT], uint64_t bytes)
{
	return options->bytes ? digits(text, bytes) : size_text(text, bytes);
}

const char *count_shown(const struct options *options, char text[SIZE_TEXT], uint64_t count)
{
	return options->bytes ? digits(text, count) : count_text(text, count);
}

/* The letters of the Flg column. */
static void flag_letters(char *letters, const struct cache *cache)
{
	static const struct {
		uint64_t flag;
		char letter;
	} table[] = {
		{SLAB_HWCACHE_ALIGN, 'A'},
		{SLAB_POISON, 'P'},
		{SLAB_RECLAIM_ACCOUNT, 'a'},
		{SLAB_RED_ZONE, 'Z'},
		{SLAB_CONSISTENCY_CHECKS, 'F'},
		{SLAB_STORE_USER, 'U'},
		{SLAB_TRACE, 'T'},
		{SLAB_HARDEN_FREE, 'H'},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (cache->flags & table[i].flag)
			*letters++ = table[i].letter;
	}
	*letters = '\0';
}

static void print_sizes(const struct options *options, const struct cache *cache)
{
	const bool loss = options->order == ORDER_LOSS;
	char space[SIZE_TEXT], slabs[72], flags[16];

	snprintf(slabs, sizeof(slabs), "%" PRIu64 "/%" PRIu64 "/%" PRIu64, cache->slabs,
		 cache->partial, cache_cpu_slabs(cache));
	flag_letters(flags, cache);
	printf("%-21s %8" PRIu64 " %7" PRIu64 " %15s %14s %4" PRIu64 " %1" PRIu64 " %3" PRIu64
	       " %3" PRIu64 "%s%s\n",
	       cache->name, cache->objects, cache->object_size,
	       size_shown(options, space, loss ? cache_loss(cache) : cache->slab_bytes), slabs,
	       cache->objects_per_slab, cache->order, percent(cache->partial, cache->slabs),
	       percent(cache_used_bytes(cache), cache->slab_bytes), *flags ? " " : "", flags);
}

/* Allocations above SLAB_MALLOC_MAX_CACHED of the cache's type. */
static void print_large(const struct options *options, const struct cache *cache)
{
	const uint64_t objects = model_number(cache->json, "large_objects");
	char space[SIZE_TEXT];

	if (objects)
		printf("  above 32 KiB        %8" PRIu64 "       - %15s\n", objects,
		       size_shown(options, space, model_number(cache->json, "large_bytes")));
}

static void print_activity(const struct options *options, const struct cache *cache, bool rates)
{
	char text[SIZE_TEXT];
	uint64_t rate;

	printf("%-21s %8" PRIu64 " %10" PRIu64 " %10" PRIu64, cache->name, cache->objects,
	       model_event(cache, "alloc_slowpath"), model_event(cache, "free_slowpath"));
	if (rates)
		printf(" %8s", cache_rate(cache, &rate) ? count_shown(options, text, rate) : "-");
	putchar('\n');
}

static void view_activity(const struct options *options, const struct model *model)
{
	bool rates = false;
	uint64_t rate;

	for (size_t i = 0; i < model->count; i++)
		rates |= cache_rate(&model->caches[i], &rate);
	printf("Name                   Objects      Alloc       Free%s\n",
	       rates ? "  Alloc/s" : "");
	for (size_t i = 0; i < model->count; i++)
		print_activity(options, &model->caches[i], rates);
}

void view_table(const struct options *options, const struct model *model)
{
	if (options->activity) {
		view_activity(options, model);
		return;
	}
	printf("Name                   Objects Objsize           %s Slabs/Part/Cpu  O/S O "
	       "%%Fr %%Ef Flg\n",
	       options->order == ORDER_LOSS ? " Loss" : "Space");
	for (size_t i = 0; i < model->count; i++) {
		print_sizes(options, &model->caches[i]);
		print_large(options, &model->caches[i]);
	}
}

static uint64_t minus(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

uint64_t print_parts(const struct options *options, const char *title,
		     const struct memory_part *parts, size_t count)
{
	char text[SIZE_TEXT];
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += parts[i].bytes;
	printf("%s %s", title, size_shown(options, text, sum));
	for (size_t i = 0; i < count; i++)
		printf("%s %s", parts[i].name, size_shown(options, text, parts[i].bytes));
	putchar('\n');
	return sum;
}

/* Parts of resident memory. Pages of large allocations and of arrays that were never
 * touched are not resident, but libslab does not know which: the sum is an upper bound. */
void view_memory(const struct options *options, const struct model *model)
{
	struct json_object *process = model_member(model->document, "process");
	const uint64_t arrays = model_number(process, "array_bytes");
	const struct memory_part parts[] = {
		{": slabs", model_number(process, "populated_bytes")},
		{", free slabs", model_number(process, "cached_bytes")},
		{", large", model_number(process, "large_bytes")},
		{", heads+maps", minus(model_number(process, "metadata_bytes"), arrays)},
		{", arrays", arrays},
	};

	putchar('\n');
	print_parts(options, "Memory", parts, sizeof(parts) / sizeof(parts[0]));
}

/* --- -n ----------------------------------------------------------------------------------- */

/* -n: slabs on each NUMA node, and the same of one cache for its report. */

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
