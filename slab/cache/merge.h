/* SPDX-License-Identifier: MIT */
/*
 * Merging: caches of the same layout share their slabs, and the second becomes an alias of the
 * first. The caller of each function holds registry_lock.
 */
#ifndef SLAB_CACHE_MERGE_H
#define SLAB_CACHE_MERGE_H

#include <slab/slab.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* May a cache with this name, these flags and these arguments become an alias? */
bool merge_is_allowed(const char *name, uint64_t flags, const struct slab_cache_args *args);
/* Find a cache whose objects have this size (with padding), this alignment and these flags; NULL:
 * there is none. */
struct slab_cache *merge_find(size_t size, size_t align, uint64_t flags);
/* Let merge_find() find a new cache, if other caches may ever share it. */
void merge_add(struct slab_cache *cache);
/* The cache is being destroyed: merge_find() finds it no more. */
void merge_remove(struct slab_cache *cache);

#endif /* SLAB_CACHE_MERGE_H */
