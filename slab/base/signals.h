/* SPDX-License-Identifier: MIT */
/*
 * Blocking all signals of the calling thread, so that no handler runs while the thread holds a
 * lock. It uses the system call, because sigprocmask() leaves out the C library's own signals.
 * Async-signal-safe; not a cancellation point.
 */
#ifndef SLAB_BASE_SIGNALS_H
#define SLAB_BASE_SIGNALS_H

#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* signals_block: returns the mask for signals_restore(). */
static inline uint64_t signals_block(void)
{
	uint64_t all = UINT64_MAX, before = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
	return before;
}

static inline void signals_restore(uint64_t mask)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

#endif /* SLAB_BASE_SIGNALS_H */
