/* SPDX-License-Identifier: MIT */
/*
 * Magazines: how free objects get from a CPU that mostly frees to a CPU that mostly allocates,
 * without a visit to their slabs.
 *
 * A magazine has half of a full array. A CPU whose array is full puts half of it into a magazine of
 * its node; a CPU whose array is empty gets a magazine. If all magazines of the node are full,
 * freed objects go to their slabs; if all are empty, allocations take from slabs. After Bonwick and
 * Adams, "Magazines and Vmem" (USENIX 2001), whose depot this is, bounded and per node.
 *
 * To their slabs, the objects of magazines are in use, as those of arrays are; draining returns
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/cache.h"

/* Move half of this CPU's array into an empty magazine of its node. false: there is none, another
 * thread has the lock, the array has too few objects to be worth it, or the cache is closed. */
bool magazine_put(struct slab_cache *cache, unsigned node);
/* Move the objects of a magazine of the node to this CPU's array, as many as there is room for.
 * false: all are empty, another thread has the lock, or the array takes none. */
bool magazine_get(struct slab_cache *cache, unsigned node);
/* Take up to `most` objects out of the magazines of all nodes; returns their number. */
size_t magazines_take(struct slab_cache *cache, size_t most, void **objs);
/* Return the memory of the magazines of a cache without objects. */
void magazines_destroy(struct slab_cache *cache);
