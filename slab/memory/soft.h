/* SPDX-License-Identifier: MIT */
/*
 * The soft limit (SLAB_SOFT_LIMIT): above it libslab acts before anything fails. It tells
 * the limit handler, returns free memory at once, and calls reclaim functions, each time that the
 * process has grown by a step.
 */
#pragma once

#include "memory/growth.h"

void soft_reached(void);

/* After an allocation off the fast path: has the process grown so much that something is due? The
 * caller holds no lock. The function keeps errno. */
static inline void soft_check(void)
{
	growth_check();
	if (SLAB_UNLIKELY(account_used() >=
			  __atomic_load_n(&slab_pages.soft_from, __ATOMIC_RELAXED)))
		soft_reached();
}
