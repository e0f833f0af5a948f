/* SPDX-License-Identifier: MIT */
/*
 * A counter of one CPU that threads on it increment without a lock. The increment is one
 * instruction: otherwise a thread that is preempted in the middle could write back an old value
 * later, and undo all increments in between. Two threads can collide only when one has just been
 * moved to another CPU.
 */
#ifndef CPU_CACHE_TALLY_H
#define CPU_CACHE_TALLY_H

#include "rseq.h"

/* Add n to such a counter. */
static inline void cpu_tally_add(uint64_t *count, uint64_t n)
{
#if defined(__x86_64__) && !defined(CPU_SANITIZED)
	__asm__ volatile("addq %1, %0" : "+m"(*count) : "r"(n) : "cc");
#else
	__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
#endif
}

#endif /* CPU_CACHE_TALLY_H */
