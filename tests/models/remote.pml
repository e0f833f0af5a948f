/* SPDX-License-Identifier: MIT */
/*
 * The remote freelist of one slab, link by link: slab/percpu/owner.c, slab/core/slab_state.c.
 * README.md has the steps, the functions that they stand for, and the mistakes.
 *
 * One thread is the owner: it allocates all objects of its freelist one by one, then isolates the slab, and
 * collects the remote freelist or declares the slab full. FREERS threads free objects, one or two at
 * a time, as batches (deliver()) or as linked chains (slab_free_chain()). A thread whose free finds
 * the slab full isolates it and gives it to the owner. The remote word {first, count, OWNED} changes
 * in one step; an exchange compares its value, as the code does. Objects are indices + 1; the
 * freelist and the objects in use are masks.
 */
#define LINK_AFTER_EXCHANGE 1           /* mutants: -DBUG=NAME */
#define NOT_LINKED_AGAIN 2
#define DELIVERED_BY_STORE 3
#define COLLECTED_BY_STORE 4
#define FULL_BY_STORE 5
#define CLAIMED_BY_STORE 6
#define CHAIN_NOT_JOINED 7
#define OWNED_NOT_SET 8
#ifndef BUG
#define BUG 0
#endif
#ifndef FREERS
#define FREERS 2
#endif
#define OBJECTS 3
#define ALL ((1 << OBJECTS) - 1)
#define BIT(object) (1 << ((object) - 1))
#define LOWEST(m) (((m) & 1) -> 1 : (((m) & 2) -> 2 : 3))
#define CHECK(condition, name) assert((condition) || name)

bit object_lost, object_twice, slab_twice;

byte first, count;       /* the remote word */
bit owned = 1;
byte links[OBJECTS + 1];
byte stack = ALL, in_use;
bit has_owner = 1;
byte isolated;           /* ghost: threads that have the slab */
byte busy = FREERS;

inline check() {
	if
	:: busy == 0 ->
		CHECK((count == 0) == (first == 0) && (owned || count == 0), object_lost);
		i = first;
		n = stack;
		do
		:: i == 0 -> break
		:: else -> CHECK((n & BIT(i)) == 0, object_twice); n = n | BIT(i); i = links[i]
		od;
		CHECK((n & in_use) == 0, object_twice);
		CHECK((n | in_use) == ALL, object_lost);
		CHECK(has_owner || (!owned && stack == 0), object_lost);
		i = 0; n = 0
	:: else
	fi
}

inline isolate() {
	isolated++; CHECK(isolated == 1 && !has_owner, slab_twice)
}

active proctype Owner() {
	byte i = 0, n = 0, left = 0;

	do
	:: atomic { has_owner && stack != 0 -> i = LOWEST(stack); stack = stack & ~BIT(i);
		CHECK((in_use & BIT(i)) == 0, object_twice); in_use = in_use | BIT(i); i = 0; check() }
	:: atomic { has_owner && stack == 0 -> busy++; has_owner = 0; isolate() };     /* disown */
		/* slab_refill(), slab_collect(), slab_put_chain() */
	   do
	   :: atomic { first != 0 -> skip };
#if BUG == COLLECTED_BY_STORE
	      atomic { i = first; left = count };
	      atomic { first = 0; count = 0 };
#else
	      atomic { i = first; left = count; first = 0; count = 0 };
#endif
	      do
	      :: atomic { i != 0 && left != 0 -> CHECK((stack & BIT(i)) == 0, object_twice);
			stack = stack | BIT(i); i = links[i]; left-- }
	      :: atomic { i == 0 || left == 0 -> CHECK(left == 0, object_lost); i = 0; break }
	      od;
	      atomic { has_owner = 1; isolated--; busy--; check(); break }
	   :: atomic { first == 0 ->
#if BUG == FULL_BY_STORE
		skip };
	      atomic { owned = 0; first = 0; count = 0;
#else
		owned = 0;
#endif
		isolated--; busy--; check(); break }
	   od
	od
}

#define EXPECTED (first == seen && count == seen_count && owned == seen_owned)

/* deliver() and slab_free_chain() */
proctype Freer() {
	byte i = 0, n = 0, seen = 0, seen_count = 0, b = 0, last = 0, m = 0;
	bit seen_owned = 0, chain = 0;

IDLE:	atomic { busy--; b = 0; m = 0; n = 0; last = 0; i = 0; seen = 0; seen_count = 0; seen_owned = 0; chain = 0;
		check() };
	if
	:: atomic { in_use != 0 -> busy++; b = BIT(LOWEST(in_use)); in_use = in_use & ~b; n = 1 }
	:: atomic { in_use == 3 || in_use == 5 || in_use == 6 -> busy++; b = in_use; in_use = 0; n = 2 }
	fi;
	if                                              /* is the chain linked before? */
	:: atomic { chain = 1; last = LOWEST(b); i = last; m = b & ~BIT(i) };
	   atomic { if :: m != 0 -> links[LOWEST(m)] = i; i = LOWEST(m); m = 0 :: else fi }
	:: skip
	fi;

READ:	atomic { seen = first; seen_count = count; seen_owned = owned };
LINK:	if
	:: atomic { chain -> if :: BUG == CHAIN_NOT_JOINED :: else -> links[last] = seen fi }
	:: atomic { !chain && BUG != LINK_AFTER_EXCHANGE -> i = LOWEST(b); links[i] = seen; m = b & ~BIT(i) };
	   if
	   :: atomic { m != 0 -> links[LOWEST(m)] = i; i = LOWEST(m); m = 0 }
	   :: atomic { m == 0 -> skip }
	   fi
	:: atomic { !chain && BUG == LINK_AFTER_EXCHANGE -> i = LOWEST(b) }
	fi;
	if
	:: atomic { !EXPECTED && BUG != DELIVERED_BY_STORE && !(BUG == CLAIMED_BY_STORE && !seen_owned) ->
		if :: BUG == NOT_LINKED_AGAIN && seen_owned && owned -> seen_count = count; first = i; count = count + n; goto IDLE
		:: else -> goto READ fi }
	:: atomic { (EXPECTED || BUG == DELIVERED_BY_STORE) && seen_owned ->
		first = i; count = seen_count + n; owned = (BUG == OWNED_NOT_SET -> seen_owned & (n == 1) : 1) };
#if BUG == LINK_AFTER_EXCHANGE
	   atomic { if :: !chain -> links[LOWEST(b)] = seen :: else fi };
#endif
	   goto IDLE
	:: atomic { (EXPECTED || BUG == DELIVERED_BY_STORE || BUG == CLAIMED_BY_STORE) && !seen_owned ->
		owned = 1; isolate() };
	   atomic { stack = stack | b };                /* cpu_slab_put() */
	   atomic { has_owner = 1; isolated-- };        /* slab_adopt() */
	   goto IDLE
	fi
}

init {
	byte k = 0;
	atomic {
	for (k : 1 .. FREERS) { run Freer() };
	k = 0
	}
}
