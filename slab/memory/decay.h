/* SPDX-License-Identifier: MIT */
/*
 * Decay: returning memory to the OS after a time without use. Passes of maintenance look for
 * memory that was idle for SLAB_DECAY_MS. decay.c describes what a pass does and when passes
 * run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slab;

/*
 * decay_breaks_up: should a huge page be broken up to return its free part? `used` of its
 * `bytes` are in use. False while more than half of it is in use.
 */
bool decay_breaks_up(size_t used, size_t bytes);

/* Is this slab part of a huge page that should stay whole? */
bool decay_would_waste(const struct slab *slab);
/* May this pass return the slab's memory? False if the system always uses huge pages and
 * decay_would_waste() is true. */
bool decay_may_discard(const struct slab *slab);

/* Are all objects free, or were never initialized, that have some of these bytes of a slab with
 * objects of this size? */
bool decay_is_unused(const struct slab *slab, size_t size, size_t from, size_t end);

/* Milliseconds until the next call of decay_tick() is due. 0: no passes run; idle_kick() calls
 * maintenance_start_ticks() when there is work again. */
long decay_wait(void);
/* Run a pass if one is due. now: clock_us(). */
void decay_tick(uint64_t now);
/* decay_tick(); returns the milliseconds until the next call is due, or -1 while no passes run
 * (see slab_maintain()). */
long decay_maintain(uint64_t now);
/* The work of slab_trim(). *ret_slabs: the number of slabs that caches
 * returned. */
size_t decay_trim(unsigned *ret_slabs);
