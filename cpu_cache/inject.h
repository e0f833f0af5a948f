/* SPDX-License-Identifier: MIT */
/*
 * Injection points: places inside sections and between the steps of slow paths where a test can
 * interfere (delay, raise a signal, yield). Only test builds have them.
 *
 * In assembly, INJECT_ASM(n) spins cpu_inject_loops[n] times; a long spin makes preemption and
 * signals arrive exactly there. In C, cpu_inject(n) calls cpu_inject_hook if one is set.
 */
#pragma once

#include <stdbool.h>

/*
 * Points 0 to 9 are inside sections, of the layer cpu_cache:
 *
 *   rseq        0 pop, the count is read   8 pop, before the commit   3 push, nothing is read
 *               9 push, 1 take, 5 put, 6 is_newest: before the commit
 *   cmpxchg16b  2 before the exchange of the head   4 before that of an entry
 *               7 an array is touched for the first time, before it opens
 *   mutex       2 under the lock
 */
#define CPU_INJECT_SECTIONS 10

/* Steps of slow paths, of the layer above: what the thread has just done. Between two steps other
 * threads find every slab and every object in a state of its own. */
#define CPU_INJECT_STEPS(STEP)                                                                     \
	STEP(ARRAYS_CLOSED)      /* the user's pointer leads to empty arrays, not fenced */             \
	STEP(ARRAYS_FENCED)      /* fenced, nothing taken from the arrays */                            \
	STEP(ARRAY_EMPTIED)      /* one CPU's array is empty, its objects are this thread's */          \
	STEP(MAGAZINE_TAKEN)     /* the magazine is this thread's */                                   \
	STEP(SLAB_TAKEN)         /* a slab is on no list and in nobody's array */                          \
	STEP(OBJECTS_TAKEN)    /* objects are between slab and array */                               \
	STEP(SLAB_EMPTY)         /* every object of a slab is free, the slab is still listed */            \
	STEP(SLAB_DESTROYED)     /* destructors ran, pages not returned */                             \
	STEP(CONSTRUCTED)        /* constructors ran, objects not free yet */                             \
	STEP(PURGE_BEGUN)        /* pages are chosen, not returned */                                     \
	STEP(RCU_CLOSED)         /* the arrays of waiting objects are closed, not fenced */                \
	STEP(RCU_FENCED)         /* fenced, nothing taken */                                               \
	STEP(PHASE_FLIPPED)      /* a phase waits, its grace period has not begun */                    \
	STEP(DEBUG_SET)          /* flags set, gate open */                                                 \
	STEP(ROOM_TAKEN)         /* an object to move to is taken */                                       \
	STEP(OBJECT_MOVED)       /* moved, the old object not freed */                                   \
	STEP(LOCKING)            /* cpu_lock_take: about to take a lock */                                    \
	STEP(UNLOCKED)           /* cpu_lock_drop: a lock was dropped */

enum cpu_inject_step {
	CPU_INJECT_LAST_SECTION = CPU_INJECT_SECTIONS - 1,
#define CPU_INJECT_STEP_(name) CPU_INJECT_##name,
	CPU_INJECT_STEPS(CPU_INJECT_STEP_)
#undef CPU_INJECT_STEP_
		CPU_INJECT_POINTS
};

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

/*
 * Guards: what keeps threads out of each other's way, each with a name. tests/schedule removes one
 * after the other at run time, in objects that are compiled with CPU_GUARDS; elsewhere a mark is
 * what it encloses. Without the guard
 *
 *   GUARD          the condition counts as true
 *   GUARD_AGAINST  the condition counts as false, the flag or the number as 0
 *   GUARD_STEP     the step is left out
 */
#ifdef CPU_GUARDS
bool cpu_guard_is_off(const char *name);
#define CPU_GUARD_IS_OFF(name)                                                                     \
	__extension__({                                                                            \
		static signed char off_##name;                                                     \
		if (!off_##name)                                                                   \
			off_##name = cpu_guard_is_off(#name) ? 1 : -1;                             \
		off_##name > 0;                                                                    \
	})
#define GUARD(name, condition) (CPU_GUARD_IS_OFF(name) || (condition))
#define GUARD_AGAINST(name, value) (CPU_GUARD_IS_OFF(name) ? 0 : (value))
#define GUARD_STEP(name, step) ((void)(CPU_GUARD_IS_OFF(name) || ((void)(step), 0)))
#else
#define GUARD(name, condition) (condition)
#define GUARD_AGAINST(name, value) (value)
#define GUARD_STEP(name, step) (step)
#endif
