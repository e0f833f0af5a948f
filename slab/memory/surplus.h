/* SPDX-License-Identifier: MIT */
/*
 * Surplus: free memory beyond a share of the process's peak, which threads that free give back.
 *
 * Decay returns memory while a process goes on. A process without a thread of libslab that frees
 * much and falls asleep would keep it. So slow paths return a piece at a time while empty slabs and
 * free units have more than a sixteenth of the peak. If the process grows again within a decay
 * time, it needs this memory now and then, and keeps it for a decay time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is there a surplus? `now` is in µs, of one clock for both functions. */
bool surplus_is_due(uint64_t now);
/* Return a piece of it. The caller holds no lock. */
void surplus_return(uint64_t now);
