/* SPDX-License-Identifier: MIT */
/*
 * Blocking signals of the calling thread: all, so that no handler forks while the thread has
 * something that the child would take for that of a thread which is gone, or those that a write may
 * cause. It uses the system call, because sigprocmask() leaves out the C library's own signals.
 * Async-signal-safe; not a cancellation point.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "one_thread.h"

/* No thread has this mask: SIGKILL cannot be blocked. */
#define SIGNALS_NOT_BLOCKED UINT64_MAX

/* Block the signals of a set (signal N is bit N - 1). Returns the mask for signals_restore(). */
static inline uint64_t signals_block_set(uint64_t set)
{
	uint64_t before = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &before, sizeof(set));
	return before;
}

/*
 * signals_block: returns the mask for signals_restore(). In a process with one thread, signals stay
 * as they are: a child continues what its only thread did (cache/fork.c), and a system call filter
 * may forbid rt_sigprocmask.
 */
static inline uint64_t signals_block(void)
{
	return process_has_one_thread() ? SIGNALS_NOT_BLOCKED : signals_block_set(UINT64_MAX);
}

static inline void signals_restore(uint64_t mask)
{
	if (mask != SIGNALS_NOT_BLOCKED)
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}
