/* SPDX-License-Identifier: MIT */
/*
 * Counters that an application attached to a cache (<slab/stats.h>), as a process answers them.
 * They are checked: names are unique and valid as labels of metrics, and the number of counters is
 * within the limit.
 */
#ifndef INSPECT_ATTACHED_H
#define INSPECT_ATTACHED_H

#include "model.h"

#include <slab/stats.h>

struct attached {
	const char *name;
	const char *help; /* printable */
	enum slab_counter_kind kind;
	uint64_t value;
};

/* attached_kind: the name of a kind in answers. */
const char *attached_kind(enum slab_counter_kind kind);

/* attached_take: read all counters of a cache; returns their number. */
size_t attached_take(const struct cache *cache, struct attached list[SLAB_COUNTERS_MAX]);

/* attached_find: the counter with this name; NULL: there is none. */
const struct attached *attached_find(const struct attached *list, size_t count, const char *name);

/* A hit ratio. */
struct hit_ratio {
	char name[SLAB_COUNTER_NAME_MAX + sizeof("hit_ratio")]; /* "cache_hit_ratio" */
	const struct attached *hits, *misses;
};

/* attached_ratio: true if the name of counter number i is "hits" with any prefix, and there is a
 * counter "misses" with the same prefix. */
bool attached_ratio(const struct attached *list, size_t count, size_t i, struct hit_ratio *ratio);

/* hit_percent: 0 to 100; 0 without hits and misses. */
double hit_percent(uint64_t hits, uint64_t misses);

#endif /* INSPECT_ATTACHED_H */
