/* SPDX-License-Identifier: MIT */
/*
 * -a: caches that were merged, with all their names, one line each, or with -i one
 * line for each name. With -1 caches of a single name are listed, too, under it.
 *
 * -o: what a cache does to its objects beside handing them out.
 */
#include "select.h"
#include "views.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct alias {
	const char *name;
	const struct cache *cache;
};

/* How many lines -i has for a cache, without its own. */
static size_t names_of(const struct options *options, const struct cache *cache)
{
	return cache->aliases ? cache->aliases : options->single;
}

static const char *name_of(const struct cache *cache, size_t i)
{
	return cache->aliases ? cache_other_name(cache, i) : cache->name;
}

static bool is_last(const struct options *options, long line)
{
	return options->lines && (size_t)line >= options->lines;
}

/* Returns how many lines there were. */
static long print_caches(const struct options *options, const struct model *model)
{
	long lines = 0;

	for (size_t i = 0; i < model->count && !is_last(options, lines); i++) {
		const struct cache *cache = &model->caches[i];
		const size_t names = names_of(options, cache);

		if (!names)
			continue;
		printf("%-12s <-", cache->name);
		for (size_t n = 0; n < names; n++)
			printf(" %s", name_of(cache, n));
		putchar('\n');
		lines++;
	}
	return lines;
}

static int compare(const void *left, const void *right)
{
	const struct alias *a = left, *b = right;

	return strcasecmp(a->name, b->name);
}

static long print_names(const struct options *options, const struct model *model,
			struct alias *alias)
{
	long count = 0, line;

	for (size_t i = 0; i < model->count; i++) {
		for (size_t n = 0; n < names_of(options, &model->caches[i]); n++) {
			alias[count].name = name_of(&model->caches[i], n);
			alias[count++].cache = &model->caches[i];
		}
	}
	qsort(alias, (size_t)count, sizeof(*alias), compare);
	for (line = 0; line < count && !is_last(options, line); line++)
		printf("%-15s -> %s\n", alias[line].name, alias[line].cache->name);
	return line;
}

/* Returns how many lines there were, -1: no memory. */
static long print_inverted(const struct options *options, const struct model *model)
{
	struct alias *alias;
	size_t count = 1;
	long lines;

	for (size_t i = 0; i < model->count; i++)
		count += names_of(options, &model->caches[i]);
	alias = calloc(count, sizeof(*alias));
	if (!alias) {
		fail("no memory for %zu names", count);
		return -1;
	}
	lines = print_names(options, model, alias);
	free(alias);
	return lines;
}

int view_aliases(const struct options *options, const struct model *model)
{
	long lines =
		options->inverted ? print_inverted(options, model) : print_caches(options, model);

	if (lines == 0)
		puts("No aliases");
	return lines < 0 ? EXIT_NOTHING : EXIT_DONE;
}

/* The process does not report a destructor and a reclaim callback. */
void view_ops(const struct model *model)
{
	for (size_t i = 0; i < model->count; i++) {
		const struct cache *cache = &model->caches[i];

		if (cache->has_ctor)
			printf("\n%s: cache operations\n"
			       "--------------------------------------------\n"
			       "ctor : objects are constructed once, when their slab is made\n",
			       cache->name);
		else
			printf("\n%s has no constructor\n", cache->name);
	}
}
