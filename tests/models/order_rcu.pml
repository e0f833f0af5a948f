/* SPDX-License-Identifier: MIT */
/*
 * Frees after a grace period, on a machine that delays stores. README.md has the mistakes;
 * parts/machine.pml has the machine. Three scenes, each with a thread on CPU 0 that frees one object and
 * a driver on CPU 1:
 *
 *   UNLINK    the thread unlinks the object, counts it as pending, reads the phase, and adds it to that
 *             phase (rcu_wait_for()). The driver flips, waits for a grace period, and recycles. A reader
 *             may look at the object while it is linked. The grace period is that of liburcu, with the
 *             weakest promise that all flavours give: a full barrier of the driver, then it waits
 *             for readers that were in a section.
 *   ARM       the thread adds the object to its CPU's LIFO, then sees whether a callback is pending
 *             (rcu_arm()). The driver says that no callback is pending, fences, and looks at the LIFO
 *             (disarm()). Whatever the order, somebody queues a callback.
 *   DIRECT    the same for an object that was added to the phase; with LOCKED the fence is that of
 *             the engines with locks, which loads the locks and is no barrier for other CPUs.
 */
#define PENDING_RELAXED 1               /* mutants: -DBUG=NAME */
#define PHASE_UNORDERED 2
#define PHASE_RELAXED 3
#define DISARM_WITHOUT_FENCE 4
#define DISARM_FENCE_LOCAL 5
#define DISARM_FENCE_WITHOUT_CALLER 6
#define DISARM_FENCE_FIRST 7
#define PHASE_ACQUIRED 8                /* a mistake with RCPC only */
#ifndef BUG
#define BUG 0
#endif
#define CPUS 2
#include "parts/machine.pml"
#define CHECK(condition, name) assert((condition) || name)

bit handed_out_early, never_recycled;

#define PHASE 0          /* words */
#define LINKED 1
#define PENDING 2
#define COUNT 3
#define ARMED 4
byte waiting[2];         /* the object waits in this phase: an exchange, in memory */
byte section, reading, waits, holds, finished;

/* A read-modify-write of order SEQ_CST: the store of a pair of ldaxr and stlxr may be delayed. That of
 * x86-64 is a full barrier. */
#ifdef TSO
#define COUNT_PENDING DRAINED(c) -> memory[PENDING] = 1
#else
#define COUNT_PENDING MAY_STORE(PENDING) -> RELEASE(PENDING, 1)
#endif

inline fence() {
#if BUG == DISARM_WITHOUT_FENCE
	skip
#elif BUG == DISARM_FENCE_LOCAL
	atomic { DRAINED(1) -> skip }
#elif BUG == DISARM_FENCE_WITHOUT_CALLER
	atomic { section == 0 && DRAINED(0) -> skip }
#elif defined(LOCKED)
	atomic { ORDERED -> skip }
#else
	atomic { DRAINED(1) -> skip };
	atomic { section == 0 && DRAINED(0) -> skip }
#endif
}

proctype Thread() {
	byte c = 0, p = 0;

#ifdef UNLINK
	atomic { STORE(LINKED, 0) };
#endif
#if defined(UNLINK) || defined(DIRECT)
#if BUG == PENDING_RELAXED
	skip;
#else
	atomic { COUNT_PENDING };
#endif
#if BUG == PHASE_UNORDERED
	atomic { p = LOAD(PHASE) };
#elif BUG == PHASE_ACQUIRED
	atomic { ACQUIRES -> p = LOAD(PHASE) };
#else
	atomic { ORDERED -> p = LOAD(PHASE) };
#endif
#ifdef UNLINK
	atomic { DRAINED(c) -> waiting[p] = 1 };
#endif
#else
	atomic { section = 1 };
	atomic { RELEASE(COUNT, 1); section = 0 };
#endif
	if                                              /* rcu_arm() */
	:: atomic { LOAD(ARMED) != 0 -> skip }
	:: atomic { LOAD(ARMED) == 0 && DRAINED(c) -> memory[ARMED] = 1 }
	fi;
	atomic { finished++ }
}

proctype Driver() {
	byte c = 1;

#ifdef UNLINK
#if BUG == PHASE_RELAXED
	atomic { STORE(PHASE, 1) };
#else
	atomic { STORED(PHASE, 1) };
#endif
#if BUG == PHASE_RELAXED                        /* and a grace period without a barrier of its own */
	atomic { waits = reading };
#else
	atomic { DRAINED(c) -> waits = reading };
#endif
	atomic { waits == 0 -> skip };
	atomic { CHECK(waiting[0] == 0 || holds == 0, handed_out_early) };
#else
#if BUG == DISARM_FENCE_FIRST
	atomic { section == 0 && DRAINED(0) -> skip };
	atomic { STORED(ARMED, 0) };
#else
	atomic { STORED(ARMED, 0) };
	fence();
#endif
	if
	:: atomic { ORDERED && LOAD(COUNT) == 0 && LOAD(PENDING) == 0 -> skip }
	:: atomic { ORDERED && (LOAD(COUNT) != 0 || LOAD(PENDING) != 0) && DRAINED(c) -> memory[ARMED] = 1 }
	fi;
#endif
	atomic { finished++ }
}

#ifdef UNLINK
proctype Reader() {
end:	do
	:: atomic { reading = 1 };
	   atomic { holds = memory[LINKED] };
	   atomic { holds = 0; reading = 0; waits = 0 }
	od
}
#endif

init {
	atomic {
	memory[LINKED] = 1;
	memory[ARMED] = 1;
	run Thread();
	run Driver();
#ifdef UNLINK
	run Reader()
#endif
	};
#ifndef UNLINK
	atomic { finished == 2 && DRAINED(0) && DRAINED(1) -> CHECK(memory[ARMED] != 0, never_recycled) }
#endif
}
