/* SPDX-License-Identifier: MIT */
/*
 * From looks to rows: rates, the shown caches, their order, and the selected one. A selected
 * cache stays selected when its row moves.
 */
#include "top.h"

#include "select.h"

#include <math.h>

#define KNOWN_LEAST 0.5 /* of the time that must have been counted */

/* Rates */

double top_rate(const struct top *top, const struct top_row *row, uint64_t now, uint64_t before)
{
	double seconds = top->now.at - top->before.at;

	/* Counts fall when they are reset. */
	if (!row->before || seconds <= 0 || now < before)
		return NO_RATE;
	return (double)(now - before) / seconds;
}

static double event_rate(const struct top *top, const struct top_row *row, const char *event)
{
	return row->before ? top_rate(top, row, model_event(row->cache, event),
				      model_event(row->before, event))
			   : NO_RATE;
}

/* The growth of a number of the cache; negative: it was reset. */
static double growth(const struct top_row *row, const char *key)
{
	return (double)model_number(row->cache->json, key) -
	       (double)model_number(row->before->json, key);
}

/* Allocations, over the time in which they were counted, which must be most of the time. Frees are
 * allocations minus the growth in objects. */
static void fill_counted(const struct top *top, struct top_row *row)
{
	const double seconds = top->now.at - top->before.at;
	double counted, known;

	if (!row->before || seconds <= 0)
		return;
	counted = growth(row, "counted");
	known = growth(row, "counted_us") / 1e6;
	if (counted < 0 || known <= 0 || known < KNOWN_LEAST * seconds)
		return;
	row->alloc = fmax(counted / known, row->slow_alloc);
	row->free = fmax(row->alloc - growth(row, "objects") / seconds, 0);
}

static void fill_row(const struct top *top, struct top_row *row, const struct cache *cache,
		     const struct cache *before)
{
	*row = (struct top_row){cache, before, NO_RATE, NO_RATE, NO_RATE, NO_RATE};
	row->slow_alloc = event_rate(top, row, "alloc_slowpath");
	row->slow_free = event_rate(top, row, "free_slowpath");
	fill_counted(top, row);
}

/* The cache of this name in the earlier look. Both looks are in the order of creation, so it
 * is near the last one found. */
static const struct cache *find_before(const struct model *model, const char *name, size_t *near)
{
	for (size_t i = 0; model->document && i < model->count; i++) {
		size_t at = (*near + i) % model->count;

		if (strcmp(model->caches[at].name, name) == 0) {
			*near = at + 1;
			return &model->caches[at];
		}
	}
	return NULL;
}

/* Choosing */

static struct selection selection(const struct top *top)
{
	return select_among(top->now.model.document, top->filter[0] ? top->filter : NULL,
			    &top->regex);
}

bool top_filter(struct top *top, const char *pattern)
{
	regex_t regex;
	char why[128];
	int error = *pattern ? regcomp(&regex, pattern, REG_ICASE | REG_NOSUB | REG_EXTENDED) : 0;

	if (error) {
		regerror(error, &regex, why, sizeof(why));
		snprintf(top->message, sizeof(top->message),
			 "\"%s\" is not a regular expression: %s", pattern, why);
		return false;
	}
	if (top->filter[0])
		regfree(&top->regex);
	if (*pattern)
		top->regex = regex;
	snprintf(top->filter, sizeof(top->filter), "%s", pattern);
	return true;
}

size_t top_matching(const struct top *top)
{
	const struct selection meant = selection(top);
	size_t count = 0;

	for (size_t i = 0; i < top->now.model.count; i++)
		count += select_means(&meant, top->now.model.caches[i].name);
	return count;
}

static void find_cursor(struct top *top)
{
	for (size_t i = 0; top->selected[0] && i < top->count; i++) {
		if (strcmp(top->rows[i].cache->name, top->selected) == 0)
			top->cursor = i;
	}
	if (top->cursor >= top->count)
		top->cursor = top->count ? top->count - 1 : 0;
}

void top_select(struct top *top, size_t row)
{
	if (row >= top->count)
		return;
	top->cursor = row;
	snprintf(top->selected, sizeof(top->selected), "%s", top->rows[row].cache->name);
}

const struct top_row *top_row_chosen(const struct top *top)
{
	const struct top_row *row = top->count ? &top->rows[top->cursor] : NULL;

	/* Another cache is not the one that was requested. */
	if (row && top->selected[0] && strcmp(row->cache->name, top->selected) != 0)
		return NULL;
	return row;
}

/* All of it */

static int compare_rows(const void *a, const void *b, void *arg)
{
	return top_compare(arg, a, b);
}

void top_rows_free(struct top *top)
{
	free(top->rows);
	free(top->caches);
	top->rows = NULL;
	top->caches = NULL;
	top->count = 0;
}

/* Copies of the caches that are shown; false when memory is short. */
static bool take_shown(struct top *top, struct model *shown)
{
	const struct model *model = &top->now.model;
	size_t size = model->count ? model->count : 1;

	top->caches = calloc(size, sizeof(*top->caches));
	top->rows = calloc(size, sizeof(*top->rows));
	if (!top->caches || !top->rows || !model->document)
		return false;
	memcpy(top->caches, model->caches, model->count * sizeof(*top->caches));
	*shown = (struct model){NULL, top->caches, model->count};
	select_shown(&top->options, shown);
	return true;
}

void top_rows(struct top *top)
{
	struct selection meant;
	struct model shown;
	size_t near = 0;

	top_rows_free(top);
	if (!take_shown(top, &shown))
		return;
	meant = selection(top);
	for (size_t i = 0; i < shown.count; i++) {
		const struct cache *cache = &shown.caches[i];

		if (select_means(&meant, cache->name))
			fill_row(top, &top->rows[top->count++], cache,
				 find_before(&top->before.model, cache->name, &near));
	}
	qsort_r(top->rows, top->count, sizeof(*top->rows), compare_rows, top);
	find_cursor(top);
}
