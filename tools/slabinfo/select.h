/* SPDX-License-Identifier: MIT */
/*
 * The caches of a run, and their order. All views select caches by the same steps, so "the
 * three largest caches that are not reclaimable" (-S -N3 -U) are the same caches in every
 * view and action.
 */
#pragma once

#include "options.h"
#include "model.h"

#include <slab/slab.h>

/* What large allocations are called, as if they were a cache. */
#define LARGE_NAME "size-large"

/* What a REGEXP means: the cache that is called exactly so alone, or else all whose names match. */
struct selection {
	const char *pattern; /* NULL: all caches */
	const regex_t *regex; /* compiled from it */
	bool alone;
};

/* select_has: is a cache called exactly so? `answer` has an array "caches". */
bool select_has(struct json_object *answer, const char *name);

/* select_among: what the pattern means among the caches of an answer. select_means: this cache? */
struct selection select_among(struct json_object *answer, const char *pattern,
			      const regex_t *regex);
bool select_means(const struct selection *selection, const char *name);

/*
 * select_take: query the process's statistics and keep the caches that the options mean.
 * False after an error message by fail(); otherwise the caller frees *model.
 */
bool select_take(const struct options *options, struct process *process, struct model *model);

/*
 * select_places: the number among `count` caches of each element of a list with names; `count`: it
 * is none of them. The caller frees them. NULL: no memory.
 */
size_t *select_places(struct json_object *listed, const struct cache *caches, size_t count);

/* select_fail: an error message that no cache matches the pattern; EXIT_NOTHING. */
int select_fail(const struct options *options, const struct process *process);

/* select_shown: remove caches that the view does not show: reclaimable ones with -U, all but
 * empty ones with -e, and in tables empty ones without -z. */
void select_shown(const struct options *options, struct model *model);

/* select_sort: sort in the order of the options; equal caches by name. */
void select_sort(const struct options *options, struct model *model);

/* select_first: keep the first caches in this order; -N gives their number. */
void select_first(const struct options *options, struct model *model);

/*
 * select_query: attach_query() on a cache that was selected. *ret_gone: the process has destroyed
 * it since; there is no error message. select_is_gone: is that what a call failed for? `why` is
 * from fail_capture(), and reported otherwise.
 */
#define WHY_TEXT 1024
struct json_object *select_query(struct process *process, const char *request, const char *name,
				 bool *ret_gone);
bool select_is_gone(const char why[WHY_TEXT]);

/*
 * select_pattern: a REGEXP that matches only the cache of this name, quoted for a shell:
 * '^a\.b$'. Names longer than a cache can have are truncated.
 */
#define PATTERN_TEXT ((size_t)4 * SLAB_MAX_NAME + sizeof("'^$'"))
const char *select_pattern(char text[PATTERN_TEXT], const char *name);

/* cache_loss: bytes of its slabs outside of objects in use. */
uint64_t cache_loss(const struct cache *cache);

/* cache_rate: allocations per second while the process counted them ("count" of the control
 * protocol, which --top uses). False: it never did, or the number is too uncertain. */
bool cache_rate(const struct cache *cache, uint64_t *ret_rate);
