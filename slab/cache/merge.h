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
/* Let merge_find() find a new cache. */
void merge_add(struct slab_cache *cache);
/*
 * Names. A merged cache has one for each reference. The handle does not say which of them a
 * destruction means, so the last one goes, and is remembered. If the program then creates a cache by a
 * name that is still there, that one was meant: it is given away, and the other one comes back.
 *
 * merge_add_name: add a reference with a name. false and ENOMEM: there is no memory.
 * merge_drop_name: drop a reference and a name. false: it is the last one.
 * merge_give_name: give the name away. false: it is in use.
 * merge_forget_name: a cache is created by this name. If one has dropped it, that was right.
 */
bool merge_add_name(struct slab_cache *cache, const char *name);
bool merge_drop_name(struct slab_cache *cache);
bool merge_give_name(struct slab_cache *cache, const char *name);
void merge_forget_name(const char *name);
/* The cache is being destroyed: merge_find() finds it no more. */
void merge_remove(struct slab_cache *cache);

#endif /* SLAB_CACHE_MERGE_H */
