/* SPDX-License-Identifier: MIT */
/*
 * Counters that a program attached to a cache (<slab/stats.h>), checked: names are valid
 * labels of metrics and unique, and the number is within the limit.
 */
#ifndef INSPECT_ATTACHED_H
#define INSPECT_ATTACHED_H

#include "model.h"

#include <slab/stats.h>

struct attached {
	const char *name;
	const char *help; /* fit to be printed */
	enum slab_counter_kind kind;
	uint64_t value;
};

/* attached_kind: the name of a kind in answers. */
const char *attached_kind(enum slab_counter_kind kind);

/* attached_take: all of a cache; how many. */
size_t attached_take(const struct cache *cache, struct attached list[SLAB_COUNTERS_MAX]);

/* attached_find: the one of this name, NULL: none. */
const struct attached *attached_find(const struct attached *list, size_t count, const char *name);

/* A hit ratio. */
struct hit_ratio {
	char name[SLAB_COUNTER_NAME_MAX + sizeof("hit_ratio")]; /* "cache_hit_ratio" */
	const struct attached *hits, *misses;
};

/* attached_ratio: true if counter number i is called "hits" with any prefix, and there is one
 * called "misses" with the same prefix. */
bool attached_ratio(const struct attached *list, size_t count, size_t i, struct hit_ratio *ratio);

/* hit_percent: 0 to 100; 0 without hits and misses. */
double hit_percent(uint64_t hits, uint64_t misses);

#endif /* INSPECT_ATTACHED_H */
