/* SPDX-License-Identifier: MIT */
/*
 * The map of free objects. A slab may have so many objects that its map is too large for the stack
 * of a thread that calls malloc(). So there is one map, which one thread at a time fills and uses.
 * Its lock is taken for moments: between free_map_lock() and free_map_unlock() a thread neither
 * takes another lock nor calls anything that may wait. A fork holds the lock.
 */
#ifndef SLAB_CORE_FREE_MAP_H
#define SLAB_CORE_FREE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/slab.h"

uint64_t *free_map_lock(void);
void free_map_unlock(void);

static inline bool free_map_has(const uint64_t *map, size_t index)
{
	return map[index / 64] >> index % 64 & 1;
}

#endif /* SLAB_CORE_FREE_MAP_H */
