/* SPDX-License-Identifier: MIT */
/*
 * Memory of a machine that delays stores, for the models order_*.pml.
 *
 * Each CPU has a buffer with one place for each of WORDS words. A store goes there; the machine moves
 * it to memory at any time, those of different words in any order. A thread loads its own CPU's
 * delayed value, else memory. `c` is the CPU of the thread that takes the step.
 *
 *   STORE     a plain store: the machine may delay it beyond later stores and loads
 *   RELEASE   a store that reaches memory after all earlier stores of its CPU (stlr); later loads
 *             may still come first
 *   ACQUIRES  true: a load of order ACQUIRE may take place now: it waits until no earlier stlr is delayed,
 *             as ldar does. With RCPC it does not wait, as ldapr of ARMv8.3.
 *   ORDERED   the same for a load of order SEQ_CST, which is always ldar
 *   STORED(w, x)   a store of order SEQ_CST: stlr; on x86-64 also a full barrier
 *   DRAINED   no store is delayed: what a full barrier waits for
 *
 * With TSO each store is a release, and no load waits: the order of x86-64. Loads take place
 * in the order of the model's steps; where aarch64 may exchange two, a mutant does so. A thread does
 * not store to a word while it has a delayed store to it: it waits. A thread that leaves its CPU has
 * drained it: the kernel has a full barrier there.
 */
#define WORDS 6
#define PLACE(cpu, w) ((cpu) * WORDS + (w))
#define BIT(w) (1 << (w))

byte memory[WORDS];
byte delayed[CPUS * WORDS];      /* the value + 1; 0: none */
byte after[CPUS * WORDS];        /* mask of the words that must reach memory before */
byte pending[CPUS], releases[CPUS];      /* masks of words */

#define LOAD(w) (delayed[PLACE(c, w)] -> delayed[PLACE(c, w)] - 1 : memory[w])
#define MAY_STORE(w) ((pending[c] & BIT(w)) == 0)
#define DRAINED(cpu) (pending[cpu] == 0)
#define DELAY(w, x) delayed[PLACE(c, w)] = (x) + 1; pending[c] = pending[c] | BIT(w)
#define RELEASE(w, x) after[PLACE(c, w)] = pending[c]; DELAY(w, x); releases[c] = releases[c] | BIT(w)
#ifdef TSO
#define STORE(w, x) RELEASE(w, x)
#define ACQUIRES true
#define ORDERED true
#define STORED(w, x) DRAINED(c) -> memory[w] = x
#else
#define STORE(w, x) DELAY(w, x)
#ifdef RCPC
#define ACQUIRES true
#else
#define ACQUIRES ORDERED
#endif
#define ORDERED (releases[c] == 0)
#define STORED(w, x) MAY_STORE(w) -> RELEASE(w, x)
#endif

/* The store of w has reached memory: that of v no longer waits for it. */
#define REACHED(cpu, v, w) after[PLACE(cpu, v)] = after[PLACE(cpu, v)] & ~BIT(w)
#define MOVE(cpu, w) atomic { delayed[PLACE(cpu, w)] != 0 && (after[PLACE(cpu, w)] & pending[cpu]) == 0 -> \
	memory[w] = delayed[PLACE(cpu, w)] - 1; delayed[PLACE(cpu, w)] = 0; after[PLACE(cpu, w)] = 0; \
	pending[cpu] = pending[cpu] & ~BIT(w); releases[cpu] = releases[cpu] & ~BIT(w); \
	REACHED(cpu, 0, w); REACHED(cpu, 1, w); REACHED(cpu, 2, w); REACHED(cpu, 3, w); REACHED(cpu, 4, w); \
	REACHED(cpu, 5, w) }
#define MOVE_ANY(cpu) :: MOVE(cpu, 0) :: MOVE(cpu, 1) :: MOVE(cpu, 2) :: MOVE(cpu, 3) :: MOVE(cpu, 4) :: MOVE(cpu, 5)

active proctype Machine() {
end:	do
	MOVE_ANY(0)
	MOVE_ANY(1)
#if CPUS > 2
	MOVE_ANY(2)
#endif
	od
}
