/* SPDX-License-Identifier: MIT */
/* For how long memory is idle, in epochs, and when decay passes run. A slow path that frees or may
 * hold memory calls idle_kick(); memory/decay.c has the passes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/maintenance.h"
#include "pages/segment.h"

/* Epochs in a decay time. Memory that was unused for this number of epochs is returned. */
#define DECAY_EPOCHS 4u

/* Something was freed, or CPUs may hold something. Slow paths set it, each pass clears it. */
extern uint32_t idle_active;
void idle_kick_slow(void);

/*
 * idle_kick: let decay passes go on, or start again, because there may be memory to return. A slow
 * path calls it after its work: a pass that misses the flag has seen that work. Any thread may call
 * it, with any lock held.
 */
static inline void idle_kick(void)
{
	if (SLAB_UNLIKELY(!__atomic_load_n(&idle_active, __ATOMIC_RELAXED)))
		idle_kick_slow();
}

/* The array of a CPU got an object: a decay pass must return it to its slab if the CPU stays idle.
 * The caller holds no lock. */
void idle_begin_slow(void);
static inline void idle_begin(void)
{
	if (SLAB_UNLIKELY(!__atomic_load_n(&idle_active, __ATOMIC_RELAXED) ||
			  __atomic_load_n(&maintenance_resumes, __ATOMIC_RELAXED)))
		idle_begin_slow();
}

/* The number of the running pass, or of the last one. Memory that was used since can be found idle
 * by the next pass at the earliest. */
uint32_t decay_epoch(void);

/* SLAB_DECAY_MS=0: free slabs keep no memory. */
bool decay_at_once(void);

/* Has the memory been idle for a decay time? `idle_since` may be the next epoch. */
static inline bool decay_is_ripe(uint32_t idle_since, uint32_t epoch)
{
	return (int32_t)(epoch - idle_since) >= (int32_t)DECAY_EPOCHS;
}

/* --- for decay.c, which runs the passes ------------------------------------------------- */

/* No passes run until idle_kick() is called. */
bool decay_is_asleep(void);
/* Is a pass due? If so, the function sets the time of the next one. `now` is clock_us(). Only one
 * thread at a time calls this and the next two functions. */
bool decay_take_due(uint64_t now);
/* Begin a pass; returns its number, which decay_epoch() returns from now on. */
uint32_t decay_begin_pass(void);
/* End a pass. Passes stop if none of the last QUIET_EPOCHS found the flag set. */
void decay_end_pass(void);
/* Milliseconds until the next pass is due, at least 1. */
long decay_wait_from(uint64_t now);
/* In the child of a fork: clear a flag whose passes were not started yet. */
void decay_clear_after_fork(void);
