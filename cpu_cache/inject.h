/* SPDX-License-Identifier: MIT */
/*
 * Injection points: places inside sections where a test can interfere (delay, raise a signal,
 * yield). Only test builds have them.
 *
 * In assembly, INJECT_ASM(n) spins cpu_inject_loops[n] times; a long spin makes preemption and
 * signals arrive exactly there. In C, cpu_inject(n) calls cpu_inject_hook if one is set.
 */
#ifndef CPU_CACHE_INJECT_H
#define CPU_CACHE_INJECT_H

#define CPU_INJECT_POINTS 10

#ifdef SLAB_TESTING
extern unsigned cpu_inject_loops[CPU_INJECT_POINTS];
extern void (*cpu_inject_hook)(int point);

static inline void cpu_inject(int point)
{
	void (*hook)(int) = __atomic_load_n(&cpu_inject_hook, __ATOMIC_RELAXED);

	if (hook)
		hook(point);
}
#else
#define cpu_inject(point) ((void)0)
#endif

#endif /* CPU_CACHE_INJECT_H */
