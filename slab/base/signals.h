/* SPDX-License-Identifier: MIT */
/*
 * Blocking all signals of the calling thread, where a handler must not find what the
 * thread has locked. All of them: those of the C library too, which sigprocmask() would
 * leave out. Async-signal-safe; not a cancellation point.
 */
#ifndef SLAB_BASE_SIGNALS_H
#define SLAB_BASE_SIGNALS_H

#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* signals_block: the mask that signals_restore() wants back. */
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
