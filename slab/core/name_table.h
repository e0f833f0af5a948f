/* SPDX-License-Identifier: MIT */
/* Finds the cache of a name. registry_lock protects the table. */
#pragma once

#include <stdbool.h>

struct slab_cache;

/* Make room for one more name. false: there is no memory. */
bool name_table_reserve(void);
/* Add a cache by its name, after name_table_reserve(); remove it. */
void name_table_add(struct slab_cache *cache);
void name_table_remove(const struct slab_cache *cache);
/* Returns NULL if no cache has the name. */
struct slab_cache *name_table_find(const char *name);
