/* SPDX-License-Identifier: MIT */
/*
 * Which caches a run is about, and in which order. All views go through here in
 * the same steps, so that "the three largest that are not reclaimable" (-S -N3 -U)
 * means the same whether they are listed, reported on or shrunk.
 */
#ifndef SLABINFO_SELECT_H
#define SLABINFO_SELECT_H

#include "args.h"
#include "model.h"

#include <slab/slab.h>

/*
 * select_take: query the process's statistics and keep the caches that the
 * pattern means. False after reporting with fail(); else the caller frees *model.
 */
bool select_take(const struct options *options, struct process *process, struct model *model);

/* select_shown: leave out what the view does not show: reclaimable caches with -U,
 * others than empty ones with -e, and in tables empty ones without -z. */
void select_shown(const struct options *options, struct model *model);

/* select_sort: the order that the options ask for; names where it is the same. */
void select_sort(const struct options *options, struct model *model);

/* select_first: the first caches in this order, as many as -N says. */
void select_first(const struct options *options, struct model *model);

/* select_is_called: this is exactly its name, or one of its aliases. */
bool select_is_called(const struct cache *cache, const char *name);

/*
 * select_pattern: a REGEXP that means the cache of this name and no other, as it is
 * typed in a shell: '^a\.b$'. Longer names than a cache can have are cut.
 */
#define PATTERN_TEXT ((size_t)4 * SLAB_MAX_NAME + sizeof("'^$'"))
const char *select_pattern(char text[PATTERN_TEXT], const char *name);

/* cache_other_name: number i of its names beside the one that it is shown by, which
 * with -f is its first alias; there are cache->aliases of them. */
const char *cache_other_name(const struct cache *cache, size_t i);

/* cache_loss: bytes of its slabs that no object in use takes. */
uint64_t cache_loss(const struct cache *cache);

/* cache_rate: allocations per second while all were counted ("count" of the control
 * protocol, which --top uses). False: they never were, or the number is too uncertain. */
bool cache_rate(const struct cache *cache, uint64_t *ret_rate);

#endif /* SLABINFO_SELECT_H */
