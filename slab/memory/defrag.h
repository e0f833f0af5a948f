/* SPDX-License-Identifier: MIT */
/* Defragmentation: moving objects out of sparse slabs, so that these slabs can be released.
 * defrag.c describes the protocol. */
#ifndef SLAB_MEMORY_DEFRAG_H
#define SLAB_MEMORY_DEFRAG_H

struct slab_cache;

/*
 * defrag_cache: slab_cache_defrag() without its last step: free slabs keep their memory until
 * the caller calls segment_trim().
 * *ret_slabs: the number of slabs that the cache returned to the page layer. A type-safe
 * cache returns them after a grace period.
 */
long defrag_cache(struct slab_cache *cache, unsigned *ret_slabs);

/* In the child of a fork: put back the slab and the objects that another thread had
 * isolated. */
void defrag_after_fork_child(struct slab_cache *cache);

#endif /* SLAB_MEMORY_DEFRAG_H */
