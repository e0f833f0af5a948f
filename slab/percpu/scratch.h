/* SPDX-License-Identifier: MIT */
/*
 * Scratches: places for many objects on their way between an array and slabs. The stack of a thread
 * that calls malloc() may be small.
 *
 * The threads of a CPU share one, or of CPUs beyond 16. They try its lock, and none waits for it:
 * the holder may be preempted, or interrupted by a handler that frees. One that is not in use has
 * no address of an object: `slabinfo --find-leaks` would take it for the program's.
 */
#pragma once

#include <string.h>

#include "lock.h"

/* Half of the longest array. */
#define SCRATCH_MAX 512u

struct scratch {
	struct cpu_lock lock;
	uintptr_t holder; /* atomic: a thread */
	void *objs[SCRATCH_MAX + 1];
};

/* NULL: another thread uses it. */
struct scratch *scratch_try(int cpu);
/* The first `used` places had objects. */
void scratch_drop(struct scratch *scratch, unsigned used);
/* In the child of a fork: drop those of threads of its parent. */
void scratch_after_fork_child(void);
