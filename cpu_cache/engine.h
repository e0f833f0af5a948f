/* SPDX-License-Identifier: MIT */
/* What the engines share; private to this folder. */
#pragma once

#include "cpu_cache.h"
#include "rseq.h"

/* Set the form of all arrays (the engine's `pairs`), before there are any. */
void cpu_arrays_set_form(bool pairs);

/* The form of `count` with pairs: the newest object, and the number of objects. */
#define CPU_PAIR_COUNT_SHIFT 48
#define CPU_PAIR_OBJECT ((UINT64_C(1) << CPU_PAIR_COUNT_SHIFT) - 1)

/* No arrays are created or destroyed meanwhile. */
void cpu_areas_lock(void);
void cpu_areas_unlock(void);

/* The number of rows; 0 before cpu_learn_rows(). */
extern unsigned cpu_rows;

/* The CPU on which the thread runs, or 0 if the kernel does not report it: for engines whose
 * sections may act for any CPU. */
int cpu_by_kernel(void);

static inline char *cpu_arrays_of(char *const *arrays)
{
	return __atomic_load_n(arrays, __ATOMIC_ACQUIRE);
}

/* No load after this is done before the stores that precede it. */
static inline void cpu_full_fence(void)
{
#ifdef CPU_SANITIZED
	/* The thread sanitizer does not know fences. Such builds are for x86-64, where this is
	 * one. */
	static uint32_t word;

	__atomic_fetch_add(&word, 0, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
