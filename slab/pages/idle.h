/* SPDX-License-Identifier: MIT */
/* Since when memory is idle, in epochs: see memory/decay.c. */
#ifndef SLAB_PAGES_IDLE_H
#define SLAB_PAGES_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/maintenance.h"
#include "pages/segment.h"

/* Epochs of a decay time: memory that was unused for this many is returned. */
#define DECAY_EPOCHS 4u

/* slab->idle_since of a listed slab whose unused pages were returned. */
#define IDLE_PURGED UINT32_MAX

/* Set by slow paths, cleared by each pass: something was freed, or may be held. */
extern uint32_t idle_active;
void idle_kick_slow(void);

/*
 * idle_kick: from now on there may be memory to return: passes go on, or start again.
 * Slow paths call it after what they do, so that a pass that misses the flag has seen
 * that. Any thread may call it, with any lock held.
 */
static inline void idle_kick(void)
{
	if (SLAB_UNLIKELY(!__atomic_load_n(&idle_active, __ATOMIC_RELAXED)))
		idle_kick_slow();
}

/* The number of the pass that is running, or of the last one. The next one at the earliest
 * finds memory idle that was used since. */
uint32_t decay_epoch(void);

/* An isolated slab is going to be allocated from, with no lock held. Page faults bring back
 * what it lacks, which is nothing where no pass has ever seen it. */
static inline void decay_begin_use(struct slab *slab)
{
	if (SLAB_UNLIKELY(slab->idle_since)) {
		slab_set_idle_since(slab, 0);
		slab_set_unbacked(slab, 0, 0);
	}
	idle_kick();
	maintenance_resume();
}

/* … has more free objects than it had: there may be more to return. */
static inline void idle_clear_purged(struct slab *slab)
{
	if (slab->idle_since == IDLE_PURGED)
		slab_set_idle_since(slab, decay_epoch() + 1);
}

/* SLAB_DECAY_MS=0: free slabs keep no memory. */
bool decay_at_once(void);

/* Idle since that epoch, which may be the next one: for a whole decay time? */
static inline bool decay_is_ripe(uint32_t idle_since, uint32_t epoch)
{
	return idle_since == IDLE_PURGED || (int32_t)(epoch - idle_since) >= (int32_t)DECAY_EPOCHS;
}

/* --- for decay.c, which runs the passes ------------------------------------------------- */

/* No passes run until idle_kick() is called. */
bool decay_is_asleep(void);
/* Is a pass due? Then the time of the next one is set. now: clock_us(). By one thread at a
 * time, as the next two. */
bool decay_take_due(uint64_t now);
/* The number of the pass that begins: decay_epoch() from now on. */
uint32_t decay_begin_pass(void);
/* It ends; passes end if no pass found the flag for long. */
void decay_end_pass(void);
/* Milliseconds until the next pass is due, at least 1. */
long decay_wait_from(uint64_t now);
/* In the child of a fork. */
void decay_clear_after_fork(void);

#endif /* SLAB_PAGES_IDLE_H */
