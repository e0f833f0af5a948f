/* SPDX-License-Identifier: MIT */
/* Defragmentation: moving objects out of sparse slabs, so that these slabs can be released.
 * defrag.c describes the protocol. */
#pragma once

#include <stdbool.h>

struct slab_cache;

/*
 * defrag_cache: slab_cache_defrag() without its last step: free slabs keep their memory until
 * the caller calls segment_trim().
 * *ret_slabs: the number of slabs that the cache returned to the page layer. A type-safe
 * cache returns them after a grace period.
 */
long defrag_cache(struct slab_cache *cache, unsigned *ret_slabs);

/* Under flush_lock: list some of the slabs whose old objects wait for a grace period, all but the
 * one that is being emptied. true: there are more. An allocation that would fail calls it. */
bool defrag_give_back(struct slab_cache *cache);

/* In the child of a fork: list the slabs that another thread had taken off the lists. */
void defrag_after_fork_child(struct slab_cache *cache);
