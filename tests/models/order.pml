/* SPDX-License-Identifier: MIT */
/*
 * Two protocols on a machine that delays stores: which part of the fence, and of each release, they depend
 * on. README.md has the mutants. A worker on CPU 0 frees and allocates the only object by the array of its
 * CPU; a driver on CPU 1
 *
 *   CLOSE     lets the pointer lead to no array, fences, empties the array, gives the object away, and lets
 *             the pointer lead to the array again (cache_drain())
 *   ARM       says that no callback is pending, fences, and looks at the array (disarm()). The worker
 *             pushes its object, then looks whether a callback is pending (rcu_arm()). One of them queues one.
 *
 * The fence is membarrier(PRIVATE_EXPEDITED_RSEQ): a full barrier of the caller; on each other CPU the
 * section ends, and a full barrier follows.
 *
 * The machine: each CPU has a buffer with a place for each word. A plain store goes there and reaches memory
 * at any time, a release after all earlier stores of its CPU; loads find their own CPU's delayed value, else
 * memory. A store of order SEQ_CST is a release here, and with TSO (x86-64) a full barrier; with TSO every
 * store is a release.
 */
#define FENCE_LOCAL 1                   /* mutants: -DBUG=NAME */
#define FENCE_WITHOUT_CALLER 2
#define FENCE_WITHOUT_BARRIER 3
#define FENCE_WITHOUT_ABORT 4
#define OPENED_RELAXED 5
#define ENTRY_RELAXED 6                 /* no mistake */
#define FENCE_FIRST 7
#ifndef BUG
#define BUG 0
#endif
#define CHECK(condition, name) assert((condition) || name)

bit object_lost, object_twice, stale_entry, never_recycled;

#define POINTER 0        /* words */
#define COUNT 1
#define ENTRY 2
#define ARMED 3
#define GIVEN 3          /* the object's bit: the worker takes the lock that the driver has dropped */
#define WORDS 4
#define OBJECT 1         /* what an entry holds; it is cleared where the object is taken */
#define PLACE(cpu, w) ((cpu) * WORDS + (w))
#define BIT(w) (1 << (w))

byte memory[WORDS];
byte delayed[2 * WORDS]; /* the value + 1; 0: none */
byte after[2 * WORDS];   /* mask of the words that must reach memory before */
byte pending[2];         /* masks of words */
bit section;             /* CPU 0 is in a section */
byte held = 1, given;    /* ghosts: the worker has the object; it is free in its slab */
byte busy = 2;

#define LOAD(w) (delayed[PLACE(c, w)] -> delayed[PLACE(c, w)] - 1 : memory[w])
#define MAY_STORE(w) ((pending[c] & BIT(w)) == 0)
#define DRAINED(cpu) (pending[cpu] == 0)
#define DELAY(w, x) delayed[PLACE(c, w)] = (x) + 1; pending[c] = pending[c] | BIT(w)
#define RELEASE(w, x) after[PLACE(c, w)] = pending[c]; DELAY(w, x)
#ifdef TSO
#define STORE(w, x) RELEASE(w, x)
#define STORED(w, x) DRAINED(c) -> memory[w] = x
#else
#define STORE(w, x) DELAY(w, x)
#define STORED(w, x) MAY_STORE(w) -> RELEASE(w, x)
#endif
#define REACHED(cpu, v, w) after[PLACE(cpu, v)] = after[PLACE(cpu, v)] & ~BIT(w)
#define MOVE(cpu, w) :: atomic { delayed[PLACE(cpu, w)] != 0 && (after[PLACE(cpu, w)] & pending[cpu]) == 0 -> \
	memory[w] = delayed[PLACE(cpu, w)] - 1; delayed[PLACE(cpu, w)] = 0; after[PLACE(cpu, w)] = 0; \
	pending[cpu] = pending[cpu] & ~BIT(w); \
	REACHED(cpu, 0, w); REACHED(cpu, 1, w); REACHED(cpu, 2, w); REACHED(cpu, 3, w) }

active proctype Machine() {
end:	do
	MOVE(0, 0) MOVE(0, 1) MOVE(0, 2) MOVE(0, 3)
	MOVE(1, 0) MOVE(1, 1) MOVE(1, 2) MOVE(1, 3)
	od
}

inline fence() {
#if BUG != FENCE_WITHOUT_CALLER
	atomic { DRAINED(1) -> skip };
#endif
#if BUG == FENCE_LOCAL
	skip
#elif BUG == FENCE_WITHOUT_BARRIER
	atomic { section == 0 -> skip }
#elif BUG == FENCE_WITHOUT_ABORT
	atomic { DRAINED(0) -> skip }
#else
	atomic { section == 0 && DRAINED(0) -> skip }
#endif
}

#ifdef CLOSE
inline check() {
	if
	:: busy == 0 && DRAINED(0) && DRAINED(1) -> CHECK(held + given + memory[COUNT] == 1, object_lost)
	:: else
	fi
}

proctype Worker() {
	byte c = 0;

end:	atomic { busy--; check() };
	if
	:: atomic { held != 0 -> busy++ }; goto PUSH
	:: atomic { held == 0 && LOAD(GIVEN) != 0 && DRAINED(0) -> memory[GIVEN] = 0; given = 0; held = 1; busy++; goto end }
	:: atomic { held == 0 -> busy++ }
	fi;

	if                                              /* rseq_pop() */
	:: atomic { LOAD(POINTER) != 0 -> section = 1 }
	:: atomic { LOAD(POINTER) == 0 -> goto end }
	fi;
	if
	:: atomic { LOAD(COUNT) != 0 && MAY_STORE(COUNT) -> CHECK(LOAD(ENTRY) == OBJECT, stale_entry) }
	:: atomic { LOAD(COUNT) == 0 -> section = 0; goto end }
	fi;
	atomic { STORE(COUNT, 0); section = 0; CHECK(held + given == 0, object_twice); held = 1; goto end };

PUSH:	if                                              /* rseq_push() */
	:: atomic { LOAD(POINTER) != 0 -> section = 1 }
	:: atomic { LOAD(POINTER) == 0 -> goto end }
	fi;
	if
	:: atomic { LOAD(COUNT) == 0 && MAY_STORE(ENTRY) -> STORE(ENTRY, OBJECT) }
	:: atomic { LOAD(COUNT) != 0 -> section = 0; goto end }
	fi;
	atomic { MAY_STORE(COUNT) ->
#if BUG == ENTRY_RELAXED
		STORE(COUNT, 1);
#else
		RELEASE(COUNT, 1);
#endif
		section = 0; held = 0; goto end }
}

proctype Driver() {
	byte c = 1;

end:	atomic { busy--; check() };
	atomic { DRAINED(1) -> busy++ };
	atomic { STORED(POINTER, 0) };
	fence();
	if
	:: atomic { LOAD(COUNT) == 0 -> skip }
	:: atomic { LOAD(COUNT) != 0 && MAY_STORE(COUNT) -> STORE(COUNT, 0) };
	   atomic { CHECK(LOAD(ENTRY) == OBJECT, stale_entry); MAY_STORE(ENTRY) -> STORE(ENTRY, 0) };   /* a stale entry shows */
	   atomic { MAY_STORE(GIVEN) -> CHECK(held + given == 0, object_twice); given = 1; RELEASE(GIVEN, 1) }
	fi;
	atomic { MAY_STORE(POINTER) ->
#if BUG == OPENED_RELAXED
		STORE(POINTER, 1);
#else
		RELEASE(POINTER, 1);
#endif
		goto end }
}
#endif

#ifdef ARM
proctype Worker() {
	byte c = 0;

	atomic { section = 1 };
	atomic { RELEASE(COUNT, 1); section = 0 };
	if
	:: atomic { LOAD(ARMED) != 0 -> skip }
	:: atomic { LOAD(ARMED) == 0 && DRAINED(c) -> memory[ARMED] = 1 }
	fi;
	atomic { busy-- }
}

proctype Driver() {
	byte c = 1;

#if BUG == FENCE_FIRST
	fence();
#endif
	atomic { STORED(ARMED, 0) };
#if BUG != FENCE_FIRST
	fence();
#endif
	if
	:: atomic { LOAD(COUNT) == 0 -> skip }
	:: atomic { LOAD(COUNT) != 0 && DRAINED(c) -> memory[ARMED] = 1 }
	fi;
	atomic { busy-- }
}
#endif

init {
	atomic { memory[POINTER] = 1; memory[ARMED] = 1;
#ifdef CLOSE
	memory[GIVEN] = 0;
#endif
	 run Worker(); run Driver() };
#ifdef ARM
	atomic { busy == 0 && DRAINED(0) && DRAINED(1) -> CHECK(memory[ARMED] != 0, never_recycled) }
#endif
}
