/* SPDX-License-Identifier: MIT */
/* Since when memory is idle, by passes of maintenance: see memory/decay.c. */
#ifndef SLAB_PAGES_IDLE_H
#define SLAB_PAGES_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/maintenance.h"
#include "pages/segment.h"

/* Passes of maintenance to a decay time: what nobody used for so many goes back. */
#define DECAY_TURNS 4u

/* slab->idle_since of a listed slab whose memory went back, as far as it could. */
#define DECAY_SETTLED UINT32_MAX

/* Set by slow paths, cleared by each pass: something was freed, or may be held. */
extern uint32_t decay_stirred;
void decay_stir_slow(void);

/*
 * decay_stir: there may be something to give back from now on: passes go on, or start
 * again. In slow paths, behind what they do, so that a pass that misses the flag has
 * seen that; in any thread and with any lock held.
 */
static inline void decay_stir(void)
{
	if (SLAB_UNLIKELY(!__atomic_load_n(&decay_stirred, __ATOMIC_RELAXED)))
		decay_stir_slow();
}

/* The pass that is running, or the last one. What was used since is seen to be idle by the
 * next one at the earliest. */
uint32_t decay_turn(void);

/* A slab in hand is going to be allocated from, with no lock held. Page faults bring back
 * what it lacks, which is nothing where no pass has ever seen it. */
static inline void decay_begin_use(struct slab *slab)
{
	if (SLAB_UNLIKELY(slab->idle_since)) {
		slab_set_idle_since(slab, 0);
		slab_set_bare(slab, 0, 0);
	}
	decay_stir();
	maintenance_resume();
}

/* … has more free objects than it had: there may be more to give back. */
static inline void decay_unsettle(struct slab *slab)
{
	if (slab->idle_since == DECAY_SETTLED)
		slab_set_idle_since(slab, decay_turn() + 1);
}

/* SLAB_DECAY_MS=0: free slabs keep no memory. */
bool decay_at_once(void);

/* Idle since that turn, which may be the next one: for a whole decay time? */
static inline bool decay_is_ripe(uint32_t idle_since, uint32_t turn)
{
	return idle_since == DECAY_SETTLED || (int32_t)(turn - idle_since) >= (int32_t)DECAY_TURNS;
}

/* --- for decay.c, which runs the passes ------------------------------------------------- */

/* No passes run until decay_stir() is called. */
bool decay_is_asleep(void);
/* Is a pass due? Then the time of the next one is set. now: clock_us(). By one thread at a
 * time, as the next two. */
bool decay_take_due(uint64_t now);
/* The number of the pass that begins: decay_turn() from now on. */
uint32_t decay_begin_pass(void);
/* It ends; passes end if no pass found the flag for long. */
void decay_end_pass(void);
/* Milliseconds until the next pass is due, at least 1. */
long decay_wait_from(uint64_t now);
/* In the child of a fork. */
void decay_clear_after_fork(void);

#endif /* SLAB_PAGES_IDLE_H */
