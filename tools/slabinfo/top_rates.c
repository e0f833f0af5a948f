/* SPDX-License-Identifier: MIT */
/*
 * Allocations and frees per second, over the last look, or over several looks if the process
 * has not added up its counts for most of one (docs/control.md, "count").
 */
#include "top.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS 12 /* that are remembered */
#define KNOWN_LEAST 0.5 /* of the time that must have been counted */

/* A cache's counts in a look. */
struct moment {
	double at;
	uint64_t counted, us, objects;
};

struct top_history {
	char name[SLAB_MAX_NAME + 1];
	unsigned count;
	struct moment moments[LOOKS]; /* the newest first */
};

static void remember(struct top_history *history, const struct cache *cache, double at)
{
	memmove(&history->moments[1], &history->moments[0],
		sizeof(history->moments) - sizeof(history->moments[0]));
	if (history->count < LOOKS)
		history->count++;
	history->moments[0] = (struct moment){
		.at = at,
		.counted = model_number(cache->json, "counted"),
		.us = model_number(cache->json, "counted_us"),
		.objects = cache->objects,
	};
}

/* Both arrays are in the order of creation, so the cache is near the last one found. */
static const struct top_history *find(const struct top_rates *rates, const char *name, size_t *near)
{
	for (size_t i = 0; i < rates->count; i++) {
		size_t at = (*near + i) % rates->count;

		if (strcmp(rates->history[at].name, name) == 0) {
			*near = at + 1;
			return &rates->history[at];
		}
	}
	return NULL;
}

void top_rates_take(struct top_rates *rates, const struct model *model, double at)
{
	struct top_rates next = {.history = calloc(model->count + 1, sizeof(*next.history))};
	size_t near = 0;

	for (size_t i = 0; next.history && i < model->count; i++) {
		const struct cache *cache = &model->caches[i];
		const struct top_history *known = find(rates, cache->name, &near);
		struct top_history *history = &next.history[next.count++];

		if (known)
			*history = *known;
		else
			snprintf(history->name, sizeof(history->name), "%s", cache->name);
		remember(history, cache, at);
	}
	top_rates_free(rates);
	*rates = next;
}

void top_rates_free(struct top_rates *rates)
{
	free(rates->history);
	*rates = (struct top_rates){NULL, 0};
}

/* The differences between two looks. */
struct span {
	double seconds, known; /* in all, and in how many of them it was counted */
	double counted, more;  /* allocations; objects that stayed */
};

/* False: the counts fell, since a client reset them. */
static bool make_span(struct span *span, const struct moment *from, const struct moment *to)
{
	*span = (struct span){
		.seconds = to->at - from->at,
		.known = (double)(to->us - from->us) / 1e6,
		.counted = (double)(to->counted - from->counted),
		.more = (double)to->objects - (double)from->objects,
	};
	return to->us >= from->us && to->counted >= from->counted && span->seconds > 0;
}

static bool is_known(const struct span *span)
{
	return span->known > 0 && span->known >= KNOWN_LEAST * span->seconds;
}

/* Frees are allocations minus the growth in objects. */
static double free_rate(const struct span *span, double alloc)
{
	return fmax(alloc - span->more / span->seconds, 0);
}

void top_rates_find(const struct top_rates *rates, const char *name, size_t *near,
		    double *ret_alloc, double *ret_free)
{
	const struct top_history *history = find(rates, name, near);
	struct span span;

	*ret_alloc = *ret_free = NO_RATE;
	for (unsigned i = 1; history && i < history->count; i++) {
		if (!make_span(&span, &history->moments[i], &history->moments[0]))
			return;
		if (!is_known(&span))
			continue;
		*ret_alloc = span.counted / span.known;
		*ret_free = free_rate(&span, *ret_alloc);
		return;
	}
}
