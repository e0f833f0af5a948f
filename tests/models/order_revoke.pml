/* SPDX-License-Identifier: MIT */
/*
 * Revocation on a machine that delays stores: which part of each fence, and of each release, it
 * depends on. README.md has the mistakes; parts/machine.pml has the machine.
 *
 * A thread on CPU 0 frees and allocates the only object by the LIFO of its CPU: rseq_push(),
 * rseq_pop(), and open_lifo() when the LIFO is closed. A thread on CPU 1 revokes CPU 0: it closes the
 * slot, fences, sets the limit to 0, fences, takes the object, and opens the slot. An object that it
 * took is free for the first thread at once.
 *
 * A fence is membarrier(PRIVATE_EXPEDITED_RSEQ): a full barrier of the caller; on each other CPU the
 * section ends, and a full barrier follows; again a full barrier of the caller.
 */
#define FENCE_1_LOCAL 1                 /* mutants: -DBUG=NAME */
#define FENCE_2_LOCAL 2
#define FENCES_WITHOUT_CALLER 3
#define FENCES_WITHOUT_BARRIER 4
#define FENCES_WITHOUT_ABORT 5
#define OPENED_RELAXED 6
#define ENTRY_RELAXED 7                 /* no mistake */
#define OPEN_UNORDERED 8
#ifndef BUG
#define BUG 0
#endif
#define CPUS 2
#include "parts/machine.pml"
#define CHECK(condition, name) assert((condition) || name)

bit object_lost, object_twice, stale_entry;

#define CLOSED 0         /* words */
#define LIMIT 1
#define COUNT 2
#define ENTRY 3
#define OBJECT 1         /* what an entry holds; it is cleared where the object is taken */

byte section;            /* CPU 0 is in a section */
byte held = 1, taken;    /* ghost: the first thread has the object; the second has it */
byte busy = 2;
byte early;              /* OPEN_UNORDERED: count + 1, loaded before closed; a fence discards it */

inline check() {
	if
	:: busy == 0 && DRAINED(0) && DRAINED(1) -> CHECK(held + taken + memory[COUNT] == 1, object_lost)
	:: else
	fi
}

active proctype Worker() {
	byte c = 0, v = 0;

IDLE:	atomic { v = 0; busy--; check() };
	if
	:: atomic { held != 0 -> busy++ }; goto PUSH
	:: atomic { held == 0 && taken != 0 -> taken = 0; held = 1; busy++; goto IDLE }
	:: atomic { held == 0 -> busy++ }; goto POP
	fi;

PUSH:	if
	:: atomic { LOAD(LIMIT) == 0 -> goto OPEN }
	:: atomic { LOAD(LIMIT) != 0 && LOAD(COUNT) < LOAD(LIMIT) && MAY_STORE(ENTRY) -> section = 1 }
	:: atomic { LOAD(LIMIT) != 0 && LOAD(COUNT) >= LOAD(LIMIT) -> goto IDLE }
	fi;
	atomic { STORE(ENTRY, OBJECT) };
	atomic { MAY_STORE(COUNT) ->
#if BUG == ENTRY_RELAXED
		STORE(COUNT, 1);
#else
		RELEASE(COUNT, 1);
#endif
		section = 0; held = 0; goto IDLE };

POP:	if
	:: atomic { early > 1 && LOAD(LIMIT) != 0 && MAY_STORE(COUNT) -> early = 0; section = 1 }
	:: atomic { LOAD(COUNT) != 0 && LOAD(LIMIT) != 0 && MAY_STORE(COUNT) -> section = 1 }
	:: atomic { LOAD(COUNT) == 0 || LOAD(LIMIT) == 0 -> if :: LOAD(LIMIT) == 0 -> goto OPEN :: else -> goto IDLE fi }
	fi;
	atomic { CHECK(LOAD(ENTRY) == OBJECT, stale_entry) };
	atomic { STORE(COUNT, 0); section = 0; CHECK(held + taken == 0, object_twice); held = 1; goto IDLE };

OPEN:
#if BUG == OPEN_UNORDERED                       /* the count of a later section is loaded before closed */
	atomic { early = LOAD(COUNT) + 1 };
#endif
	if
	:: atomic { ORDERED && LOAD(CLOSED) != 0 -> goto IDLE }
	:: atomic { ORDERED && LOAD(CLOSED) == 0 && MAY_STORE(LIMIT) -> section = 1 }
	fi;
	atomic { RELEASE(LIMIT, 1); section = 0;
		if :: held != 0 -> goto PUSH :: else -> goto POP fi }
}

inline fence(only_caller) {
#if BUG == FENCES_WITHOUT_CALLER
	atomic { section == 0 && DRAINED(0) -> early = 0 }
#elif BUG == FENCES_WITHOUT_BARRIER
	atomic { DRAINED(1) -> skip };
	atomic { section == 0 -> early = 0 }
#elif BUG == FENCES_WITHOUT_ABORT
	atomic { DRAINED(1) -> skip };
	atomic { DRAINED(0) -> early = 0 }
#else
	atomic { DRAINED(1) -> skip };
	if
	:: only_caller -> skip
	:: else -> atomic { section == 0 && DRAINED(0) -> early = 0 }
	fi
#endif
}

active proctype Revoker() {
	byte c = 1;

IDLE:	atomic { busy--; check() };
	atomic { DRAINED(1) -> busy++ };
	atomic { STORED(CLOSED, 1) };
	fence(BUG == FENCE_1_LOCAL);
	atomic { STORED(LIMIT, 0) };
	fence(BUG == FENCE_2_LOCAL);
	if
	:: atomic { LOAD(COUNT) == 0 -> skip }
	:: atomic { LOAD(COUNT) != 0 -> skip };
	   atomic { CHECK(LOAD(ENTRY) == OBJECT, stale_entry); CHECK(held + taken == 0, object_twice); taken = 1 }
	fi;
	atomic { STORE(ENTRY, 0) };             /* no step of the code: a stale entry shows */
	atomic { STORE(COUNT, 0) };
	atomic { MAY_STORE(CLOSED) ->
#if BUG == OPENED_RELAXED
		STORE(CLOSED, 0);
#else
		RELEASE(CLOSED, 0);
#endif
		goto IDLE }
}
