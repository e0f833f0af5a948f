/* SPDX-License-Identifier: MIT */
/*
 * A remote free on a machine that delays stores: which release and which acquire it depends on.
 * README.md has the mistakes; parts/machine.pml has the machine.
 *
 * CPU 1 owns a slab of two objects. One is free, the other in use. A thread on CPU 1 takes the free one,
 * which exhausts the slab; it disowns the slab, and declares it full unless an object has arrived. Then it
 * frees its object again. Meanwhile a thread on CPU 0 frees the other object: to the remote freelist while the slab has
 * an owner; else it isolates the slab and makes CPU 1 the owner, where it ran when it asked for its
 * CPU. At the end each object is in exactly one place.
 *
 * The exchanges of the remote word take place in memory. One that is a release waits until no store of
 * its CPU is delayed. (A compare-and-exchange whose store is itself delayed behaves like one that comes
 * later: nothing here loads another word after it that it does not depend on, except CLAIM_RELAXED.)
 */
#define FULL_RELAXED 1                  /* mutants: -DBUG=NAME */
#define CLAIM_RELAXED 2
#define DELIVER_RELAXED 3
#define OWNER_RELAXED 4
#define HEIGHT_RELAXED 5                /* no mistake */
#define PUSH_UNORDERED 6
#define DISOWN_RELAXED 7                /* no mistake */
#ifndef BUG
#define BUG 0
#endif
#define CPUS 2
#include "parts/machine.pml"
#define CHECK(condition, name) assert((condition) || name)

bit object_lost, stale_link;

#define REMOTE 0         /* words; REMOTE is 0: full, OWNED, or LISTED: OWNED with one object */
#define HEIGHT 1
#define STACK 2          /* and the next: two entries */
#define OWNER 4
#define LINK 5
#define OWNED 1
#define LISTED 2
#define NONE 2
#define END_OF_CHAIN 1
byte finished;

#define ENTRY_AT(h) (STACK + (h))
#define ON_STACK(object) ((memory[HEIGHT] > 0 && memory[STACK] == (object)) + \
	(memory[HEIGHT] > 1 && memory[STACK + 1] == (object)))

/* cpu_slab_put() and cpu_slab_set_owner(1): the slab is isolated; h is its height. */
inline put_and_own(object) {
	atomic { MAY_STORE(ENTRY_AT(h)) -> STORE(ENTRY_AT(h), object) };
	atomic { MAY_STORE(HEIGHT) ->
#if BUG == HEIGHT_RELAXED
		STORE(HEIGHT, h + 1)
#else
		RELEASE(HEIGHT, h + 1)
#endif
	};
	atomic { MAY_STORE(OWNER) ->
#if BUG == OWNER_RELAXED
		STORE(OWNER, 1)
#else
		RELEASE(OWNER, 1)
#endif
	}
}

#define RELEASED(mutant) (BUG == mutant || DRAINED(c))

/* deliver() of one object. A second object on the list makes its word LISTED + 1. */
inline deliver(object) {
#if BUG == CLAIM_RELAXED                        /* the height is loaded before the remote word */
	atomic { h = LOAD(HEIGHT) };
#endif
	do
	:: atomic { memory[REMOTE] == 0 -> skip };
	   if
	   :: atomic { memory[REMOTE] == 0 && DRAINED(c) -> memory[REMOTE] = OWNED };
#if BUG != CLAIM_RELAXED
	      atomic { h = LOAD(HEIGHT) };
#endif
	      put_and_own(object);
	      break
	   :: atomic { memory[REMOTE] != 0 -> skip }
	   fi
	:: atomic { memory[REMOTE] != 0 && MAY_STORE(LINK) -> r = memory[REMOTE]; STORE(LINK, END_OF_CHAIN) };
	   if
	   :: atomic { memory[REMOTE] == r && RELEASED(DELIVER_RELAXED) -> memory[REMOTE] = r + 1 };
	      break
	   :: atomic { memory[REMOTE] != r -> skip }
	   fi
	od
}

proctype Owner() {
	byte c = 1, h = 0, r = 0;

	atomic { STORE(HEIGHT, 0) };                    /* rseq_pop_current(): object 1 */
	atomic { MAY_STORE(OWNER) ->                    /* disown */
#if BUG == DISOWN_RELAXED
		STORE(OWNER, NONE)
#else
		RELEASE(OWNER, NONE)
#endif
	};
	if                                              /* slab_refill() */
	:: atomic { memory[REMOTE] == OWNED && RELEASED(FULL_RELAXED) -> memory[REMOTE] = 0 }
	:: atomic { memory[REMOTE] == LISTED && DRAINED(c) -> memory[REMOTE] = OWNED };
	   atomic { CHECK(LOAD(LINK) == END_OF_CHAIN, stale_link); h = LOAD(HEIGHT) };
	   put_and_own(2)
	fi;
	/* The free of object 1: push, else to the remote freelist. */
#if BUG == PUSH_UNORDERED
	atomic { h = LOAD(HEIGHT) };
#endif
	if
	:: atomic { ORDERED && LOAD(OWNER) == 1 -> skip };
#if BUG != PUSH_UNORDERED
	   atomic { h = LOAD(HEIGHT) };
#endif
	   atomic { MAY_STORE(ENTRY_AT(h)) -> STORE(ENTRY_AT(h), 1) };
	   atomic { MAY_STORE(HEIGHT) -> RELEASE(HEIGHT, h + 1) }
	:: atomic { ORDERED && LOAD(OWNER) != 1 -> skip };
	   deliver(1)
	fi;
	atomic { finished++ }
}

proctype Other() {
	byte c = 0, h = 0, r = 0;

	deliver(2);
	atomic { finished++ }
}

init {
	atomic {
	memory[REMOTE] = OWNED;
	memory[HEIGHT] = 1;
	memory[STACK] = 1;
	memory[OWNER] = 1;
	run Owner();
	run Other()
	};
	atomic { finished == 2 && DRAINED(0) && DRAINED(1) ->
		CHECK(memory[HEIGHT] + (memory[REMOTE] -> memory[REMOTE] - OWNED : 0) == 2, object_lost);
		CHECK(ON_STACK(1) <= 1 && ON_STACK(2) <= 1, object_lost) }
}
