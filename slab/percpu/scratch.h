/* SPDX-License-Identifier: MIT */
/*
 * Scratches: places for many objects on their way between an array and slabs. The stack of a thread
 * that calls malloc() may be small.
 *
 * The threads of a CPU share one, or of CPUs beyond 16. They try its lock, and none waits for it: the holder may be
 * preempted, or interrupted by a handler that frees. A child of fork() does without one that
 * another thread of its parent used.
 */
#pragma once

#include "lock.h"

/* Half of the longest array. */
#define SCRATCH_MAX 512u

struct scratch {
	struct cpu_lock lock;
	void *objs[SCRATCH_MAX + 1];
};

/* NULL: another thread uses it, or there is no memory. errno stays. */
struct scratch *scratch_try(int cpu);

static inline void scratch_drop(struct scratch *scratch)
{
	cpu_lock_drop(&scratch->lock);
}
