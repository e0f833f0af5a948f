/* SPDX-License-Identifier: MIT */
/* Which cache a name belongs to, of names and aliases alike. All under registry_lock. */
#ifndef SLAB_REGISTRY_NAME_TABLE_H
#define SLAB_REGISTRY_NAME_TABLE_H

#include <stdbool.h>

struct slab_cache;

/* Is this its name or one of its aliases? With registry_lock, or of a copy. */
bool cache_is_called(const struct slab_cache *cache, const char *name);
/* Makes room for one more name; false: no memory. */
bool name_table_reserve(void);
/* After name_table_reserve(). The cache is called so already (cache_is_called()). */
void name_table_add(const char *name, struct slab_cache *cache);
/* The name is the cache's. */
void name_table_remove(const char *name, const struct slab_cache *cache);
/* NULL: there is none. */
struct slab_cache *name_table_find(const char *name);

#endif /* SLAB_REGISTRY_NAME_TABLE_H */
