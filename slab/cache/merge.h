/* SPDX-License-Identifier: MIT */
/* Caches of the same layout that share their slabs. All with registry_lock. */
#ifndef SLAB_CACHE_MERGE_H
#define SLAB_CACHE_MERGE_H

#include <slab/slab.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* May a cache that is created with these be an alias of another one? */
bool merge_is_allowed(const char *name, uint64_t flags, const struct slab_cache_args *args);
/* A cache whose objects serve for this layout without waste of a whole word, or NULL. */
struct slab_cache *merge_find(size_t size, size_t align, uint64_t flags);
/* merge_find() finds the cache from now on, unless others never share it; and no more. */
void merge_add(struct slab_cache *cache);
void merge_remove(struct slab_cache *cache);

#endif /* SLAB_CACHE_MERGE_H */
