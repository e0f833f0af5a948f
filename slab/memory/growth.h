/* SPDX-License-Identifier: MIT */
/*
 * Growth: before a process grows further, it takes back what caches hold that are not in use.
 *
 * A program that changes what it allocates, as one whose strings grow, leaves free slabs in the
 * caches that it no longer uses. Decay returns them after a time. But a process may grow much in
 * that time, and take page faults for memory that it has. So a *review* runs each time that slabs
 * and large allocations have grown by a 32nd, or that caches took so much from other caches: the
 * program allocates other sizes than before.
 *
 * Free units may not fit a slab that is needed. Before the process gets a new peak of what it
 * holds, a review therefore returns the bytes beyond the old peak to the operating system.
 */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "pages/account.h"

/* The bytes of slabs and large allocations from which on a review is due. */
extern uint64_t growth_from;
/* The most bytes of account_resident() that a review has seen since the last decay pass. Atomic. */
extern uint64_t growth_peak;
/* The bytes of account_resident() from which on a review is due. Atomic. */
extern uint64_t growth_peak_from;

void growth_review(void);

/* growth_check: run a review if one is due. The caller holds no lock. The function keeps errno. */
static inline void growth_check(void)
{
	const uint64_t reaped = __atomic_load_n(&slab_pages.reaped, __ATOMIC_RELAXED);

	if (SLAB_UNLIKELY(account_used() + reaped >=
			  __atomic_load_n(&growth_from, __ATOMIC_RELAXED)) ||
	    SLAB_UNLIKELY(account_resident() >=
			  __atomic_load_n(&growth_peak_from, __ATOMIC_RELAXED)))
		growth_review();
}

/* The bytes at which there is something to do for the soft limit (soft.h) again. */
uint64_t growth_soft_next(void);

/* Memory was returned: a process that has shrunk runs reviews, and meets the soft limit, when it
 * grows again. */
void growth_after_decay(void);

/* The next step behind `used` bytes: 1/part of them, or `least` if that is more. */
static inline uint64_t growth_next(uint64_t used, unsigned part, uint64_t least)
{
	return used + (used / part > least ? used / part : least);
}
