/* SPDX-License-Identifier: MIT */
/* Finds the cache of a name or an alias. registry_lock protects the table. */
#ifndef SLAB_CORE_NAME_TABLE_H
#define SLAB_CORE_NAME_TABLE_H

#include <stdbool.h>

struct slab_cache;

/* Is this the cache's name or one of its aliases? The caller holds registry_lock, or passes a
 * copy of the cache. */
bool cache_is_called(const struct slab_cache *cache, const char *name);
/* Make room for one more name. false: there is no memory. */
bool name_table_reserve(void);
/* Add a name after name_table_reserve(). The cache must already have it (cache_is_called()). */
void name_table_add(const char *name, struct slab_cache *cache);
/* Remove a name that the cache has, or has dropped: a dropped name stays in the table. */
void name_table_remove(const char *name, const struct slab_cache *cache);
/* Returns NULL if no cache has the name. */
struct slab_cache *name_table_find(const char *name);
/* The cache that has dropped this name (cache/merge.h), or NULL. */
struct slab_cache *name_table_find_dropped(const char *name);

#endif /* SLAB_CORE_NAME_TABLE_H */
