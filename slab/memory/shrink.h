/* SPDX-License-Identifier: MIT */
/* Shrinking: returning the empty slabs of a cache to the page layer. */
#pragma once

struct slab_cache;
/* Release the empty slabs of all shards and nodes; returns the number released. */
unsigned cache_release_empty(struct slab_cache *cache);
/* slab_cache_shrink() without its last step: free slabs keep their memory until the caller
 * calls segment_trim(). */
unsigned cache_shrink(struct slab_cache *cache);
