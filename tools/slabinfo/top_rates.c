/* SPDX-License-Identifier: MIT */
/*
 * Allocations and frees per second, over the last look, or over several looks if one is too
 * short for a reliable rate.
 *
 * The process sums up its allocations, the time for which it counted, and the variance
 * (docs/control.md, "count"). A rate is shown if its standard error is at most ERROR_MAX of
 * it: then it is within 20 % of the true rate. It must also agree with the allocations off
 * the fast path, which are all counted.
 */
#include "top.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS 12 /* that are remembered */
#define ERROR_MAX 0.05
#define KNOWN_LEAST 0.5    /* of the time that must have been counted */
#define SLOW_MORE 1.2      /* … more of them than allocations are an error, but for */
#define SLOW_MORE_COUNT 16 /* … a few, since both are not of the same moment */

/* A cache's counts in a look. */
struct moment {
	double at;
	uint64_t counted, us, variance, slow, objects;
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
		.variance = model_number(cache->json, "counted_variance"),
		.slow = model_event(cache, "alloc_slowpath"),
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
	double counted, error; /* allocations, and their standard error */
	double slow, more;     /* … off the fast path; objects that stayed */
};

/* False: the counts fell, since a client reset them. */
static bool make_span(struct span *span, const struct moment *from, const struct moment *to)
{
	*span = (struct span){
		.seconds = to->at - from->at,
		.known = (double)(to->us - from->us) / 1e6,
		.counted = (double)(to->counted - from->counted),
		.error = sqrt((double)(to->variance - from->variance)),
		.slow = (double)(to->slow - from->slow),
		.more = (double)to->objects - (double)from->objects,
	};
	return to->us >= from->us && to->counted >= from->counted && to->slow >= from->slow &&
	       span->seconds > 0;
}

static bool is_certain(const struct span *span)
{
	return span->known > 0 && span->known >= KNOWN_LEAST * span->seconds &&
	       span->error <= ERROR_MAX * span->counted &&
	       span->slow <= SLOW_MORE * span->counted + SLOW_MORE_COUNT;
}

/* Frees are allocations minus the growth in objects; NO_RATE: the two numbers are too close
 * for a reliable difference. */
static double free_rate(const struct span *span, double alloc)
{
	double late = fabs(span->seconds - span->known) / span->seconds;
	double freed = alloc * span->seconds - span->more;
	double error = span->error * span->seconds / span->known +
		       (alloc > 0 ? late * fabs(span->more) : 0);

	if (freed <= 0 && error == 0)
		return 0;
	return error <= ERROR_MAX * freed ? freed / span->seconds : NO_RATE;
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
		if (!is_certain(&span))
			continue;
		*ret_alloc = fmax(span.counted / span.known, span.slow / span.seconds);
		*ret_free = free_rate(&span, *ret_alloc);
		return;
	}
}
