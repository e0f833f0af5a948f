/* SPDX-License-Identifier: MIT */
/*
 * Ticks: a thread's every CALLS-th free looks for work that is due, such as returning memory. The
 * fast path of libslab never looks at the clock, and a program that works on a steady set of blocks
 * may stay on it for ever.
 */
#pragma once

#include <slab/malloc.h>

/* Calls until the thread's next tick. */
extern __thread int tick_calls __attribute__((tls_model("initial-exec"), visibility("hidden")));

void tick(void);

/* Count a free. The free that follows compiles to a jump, so that libslab sees the caller. */
static inline void tick_count(void)
{
	if (__builtin_expect(--tick_calls < 0, 0))
		tick();
}
