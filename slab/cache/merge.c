/* SPDX-License-Identifier: MIT */
/*
 * Which caches are merged. Caches that others may share are in lists by object size, the newest
 * first, so that a creation does not search all caches.
 */
#include "cache/merge.h"

#include "base/compiler.h"
#include "base/options.h"
#include "core/cache.h"
#include "core/name_table.h"
#include "core/pin.h"
#include "core/registry.h"
#include "debug/guard.h"
#include "pages/os.h"

#include <string.h>

#define LISTS 256u

/* Merged caches must agree in these flags. */
#define FLAGS_SAME (SLAB_ZERO | SLAB_RECLAIM_ACCOUNT | SLAB_HARDEN_FREE)

static SLAB_EARLY struct slab_cache *mergeable[LISTS];

bool merge_is_allowed(const char *name, uint64_t flags, const struct slab_cache_args *args)
{
	return (slab_options()->merge || flags & SLAB_MERGE) &&
	       !(flags & (SLAB_NO_MERGE | SLAB_APART)) && !args->ctor && !args->dtor &&
	       !args->limit && !args->reserve && !args->reclaim && !args->rcu &&
	       !(flags & SLAB_DEBUG_FLAGS) && !sample_options(name);
}

/* All sizes are multiples of a word, so the low bits are dropped. */
static struct slab_cache **list_of(size_t size)
{
	return &mergeable[size / sizeof(void *) % LISTS];
}

/* Behind the aliases lie the names that were dropped, the newest first. */
static char *dropped_name(const struct slab_cache *cache, unsigned i)
{
	return cache->alias[cache->aliases + i];
}

/* Does the cache still have its initial settings? The application may have set a limit, attached
 * counters, or switched on debug flags since its creation. */
static bool is_plain_now(const struct slab_cache *cache)
{
	return !cache_is_dying(cache) &&
	       !__atomic_load_n(&cache->account.limit, __ATOMIC_RELAXED) &&
	       !(cache_debug_flags(cache) & SLAB_DEBUG_FLAGS);
}

struct slab_cache *merge_find(size_t size, size_t align, uint64_t flags)
{
	for (struct slab_cache *c = *list_of(size); c; c = c->next_mergeable)
		if (c->size == size && c->align % align == 0 &&
		    (c->flags & FLAGS_SAME) == (flags & FLAGS_SAME) &&
		    c->aliases + c->dropped < SLAB_STATS_MAX_ALIASES && is_plain_now(c))
			return c;
	return NULL;
}

void merge_add(struct slab_cache *cache)
{
	struct slab_cache **first = list_of(cache->size);

	cache->next_mergeable = *first;
	cache->prev_mergeable = first;
	if (*first)
		(*first)->prev_mergeable = &cache->next_mergeable;
	*first = cache;
}

void merge_remove(struct slab_cache *cache)
{
	while (cache->dropped)
		name_table_remove(dropped_name(cache, --cache->dropped), cache);
	if (!cache->prev_mergeable)
		return;
	*cache->prev_mergeable = cache->next_mergeable;
	if (cache->next_mergeable)
		cache->next_mergeable->prev_mergeable = cache->prev_mergeable;
}

/* --- names ----------------------------------------------------------------------------- */

void merge_forget_name(const char *name)
{
	struct slab_cache *cache = name_table_find_dropped(name);
	unsigned i = 0;

	if (!cache)
		return;
	while (strcmp(dropped_name(cache, i), name) != 0)
		i++;
	name_table_remove(name, cache);
	memmove(dropped_name(cache, i), dropped_name(cache, --cache->dropped),
		sizeof(*cache->alias));
}

bool merge_add_name(struct slab_cache *cache, const char *name)
{
	if (!cache->alias)
		cache->alias = os_map(CACHE_ALIAS_BYTES, 1);
	if (!cache->alias)
		return false;
	/* There is room (merge_find()): the newest dropped name moves to the end. */
	memmove(dropped_name(cache, cache->dropped), dropped_name(cache, 0), sizeof(*cache->alias));
	registry_write_begin();
	strcpy(cache->alias[cache->aliases++], name);
	registry_write_end();
	cache->refs++;
	name_table_add(name, cache);
	return true;
}

bool merge_drop_name(struct slab_cache *cache)
{
	if (cache->refs == 1)
		return false;
	cache->refs--;
	registry_write_begin();
	cache->aliases--;
	registry_write_end();
	cache->dropped++;
	return true;
}

/* The place of a name that the cache has. */
static char *place_of(struct slab_cache *cache, const char *name)
{
	unsigned i = 0;

	if (strcmp(cache->name, name) == 0)
		return cache->name;
	while (strcmp(cache->alias[i], name) != 0)
		i++;
	return cache->alias[i];
}

bool merge_give_name(struct slab_cache *cache, const char *name)
{
	if (!cache->dropped || cache_is_dying(cache))
		return false;
	name_table_remove(name, cache);
	registry_write_begin();
	strcpy(place_of(cache, name), dropped_name(cache, --cache->dropped));
	registry_write_end();
	return true;
}
