/* SPDX-License-Identifier: MIT */
/* Moving objects together: see defrag.c. */
#ifndef SLAB_MEMORY_DEFRAG_H
#define SLAB_MEMORY_DEFRAG_H

struct slab_cache;

/*
 * defrag_cache: slab_cache_defrag(), but free slabs keep their memory (segment_trim()).
 * *ret_slabs: how many slabs the cache has returned, or, of a type-safe cache, will have
 * returned when a grace period is over.
 */
long defrag_cache(struct slab_cache *cache, unsigned *ret_slabs);

/* In the child of a fork: slabs and objects that another thread had isolated go back. */
void defrag_after_fork_child(struct slab_cache *cache);

#endif /* SLAB_MEMORY_DEFRAG_H */
