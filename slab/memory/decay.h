/* SPDX-License-Identifier: MIT */
/*
 * Returning memory after a time without use: see decay.c.
 */
#ifndef SLAB_MEMORY_DECAY_H
#define SLAB_MEMORY_DECAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slab;

/*
 * decay_breaks_up: is a huge page of `bytes`, of which `used` are in use, to be broken
 * up for what is free in it? No while most of it is in use.
 */
bool decay_breaks_up(size_t used, size_t bytes);

/* Is this isolated slab part of a huge page that is not to be broken up? */
bool decay_would_waste(const struct slab *slab);
/* May its memory be returned in this pass? Not if that would waste a huge page, and there
 * are any. */
bool decay_may_discard(const struct slab *slab);

/*
 * decay_used_pages: which pages of a slab have an object that is in use: a bit each.
 * free_map is slab_map_free()'s.
 */
void decay_used_pages(const struct slab *slab, const uint64_t *free_map, uint64_t used[2]);

/* After how many ms decay_tick() is to be called; 0: not before idle_kick() requests it
 * by maintenance_start_ticks(). */
long decay_wait(void);
/* Run a pass, if it is time for one; now: clock_us(). */
void decay_tick(uint64_t now);
/* The same, and when to call again: milliseconds from now, or -1: see slab_maintain(). */
long decay_maintain(uint64_t now);
/* In the child of a fork: a thread that ran a pass is gone. */
void decay_after_fork_child(void);
/* slab_trim(); *ret_slabs: the slabs that were returned. */
size_t decay_trim(unsigned *ret_slabs);

#endif /* SLAB_MEMORY_DECAY_H */
