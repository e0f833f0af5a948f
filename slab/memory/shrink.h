/* SPDX-License-Identifier: MIT */
/* Free slabs of a cache go to the page layer. */
#ifndef SLAB_MEMORY_SHRINK_H
#define SLAB_MEMORY_SHRINK_H

#include "core/isolated.h"

struct slab_cache;
/* Empty slabs of the nodes go, the others are sorted: how many went. */
unsigned cache_release_empty(struct slab_cache *cache, enum flush_lock_mode how);
/* slab_cache_shrink(), but free slabs keep their memory. */
unsigned cache_shrink(struct slab_cache *cache);

#endif /* SLAB_MEMORY_SHRINK_H */
