/* SPDX-License-Identifier: MIT */
/* ownership.pml: what threads share, and what holds between operations. */
/* The names of assertions; never set. */
bit object_lost, object_twice, slab_lost, full_with_objects, wrong_owner, not_owned, not_isolated;
bit two_sections, lock_kept, released_in_use, place_reached;

byte cpu[NT];            /* where each thread runs */
byte section[2];         /* thread + 1 */
byte busy;               /* threads inside an operation */
/* Slabs 1..NS; 0 is none. */
byte owner[NS+1], stack[NS+1];
byte remote[NS+1], owned[NS+1];  /* one word: the list of objects, and OWNED */
byte next_of[NS+1];
byte inside[NS+1];       /* ghost: CPU + 1 with a section open on the freelist */
byte in_use[NS+1];       /* ghost: objects that the application has */
/* CPUs */
byte current[2], partial[2], handed_off[2], closed[2];
byte batch_slab[2], batch_objs[2];
#if LIFO
byte count[2], limit[2], lifo[4];
#define COUNT(c) count[c]
#define LIMIT(c) limit[c]
#define ENTRY(c, i) lifo[(c) * 2 + (i)]
#define HELD(c, i, s) ((count[c] > (i) && ENTRY(c, i) >> 2 == (s)) -> (ENTRY(c, i) & 3) : 0)
#define LIFO_OF(s, op) (HELD(0, 0, s) op HELD(0, 1, s) op HELD(1, 0, s) op HELD(1, 1, s))
#define READ_ENTRY(c, i) s = ENTRY(c, i) >> 2; b = ENTRY(c, i) & 3
#define READ_TOP(c) v = count[c]; READ_ENTRY(c, v - 1)
#define POP_TOP(c) count[c] = v - 1; ENTRY(c, v - 1) = 0; v = 0; CHECK(s != 0, object_lost)
#else
#define COUNT(c) 0
#define LIMIT(c) 0
#define LIFO 0
#define LIFO_OF(s, op) 0
#endif
#ifdef LENGTHS           /* the cache may have changed the length of its LIFOs */
#define MAY_OPEN(c) true
#else
#define MAY_OPEN(c) (LIMIT(c) != LIFO)
#endif
/* The conditions of rseq_pop and rseq_push. */
#define CAN_POP(c) (COUNT(c) != 0 && (COUNT(c) <= LIMIT(c) || BUG == RSEQ_POP_WITHOUT_LIMIT))
#define CAN_PUSH(c) (COUNT(c) < (BUG == RSEQ_PUSH_WITHOUT_LIMIT -> LIFO : LIMIT(c)))
#ifdef MAGAZINE          /* needs LIFO */
byte magazine, magazines, node_lock;
#define IN_MAGAZINE(s) ((magazines != 0 && magazine >> 2 == (s)) -> (magazine & 3) : 0)
#define NODE_UNLOCKED (node_lock == 0)
#else
#define IN_MAGAZINE(s) 0
#define NODE_UNLOCKED true
#endif
byte node, fresh;        /* masks of slabs: the node's list, the page layer */

#define G (section[cpu[t]] == 0)
#define BEGIN(c) section[c] = t + 1
#define END(c) section[c] = 0
#define OPEN(s, c) CHECK(inside[s] == 0, two_sections); inside[s] = (c) + 1
#define SHUT(s) inside[s] = 0
#define LOW(m) (((m) & 1) -> 1 : 2)
#define LISTED(head, s) ((head) == (s) || ((head) != 0 && next_of[head] == (s)))
#define HAND_OUT(s, b) CHECK((s) != 0 && (in_use[s] & (b)) == 0, object_twice); in_use[s] = in_use[s] | (b)
#define IN_WORDS(s, op) ((batch_slab[0] == (s) -> batch_objs[0] : 0) op \
	(batch_slab[1] == (s) -> batch_objs[1] : 0))

/* No thread is inside an operation. */
inline check() {
	d_step {
	byte i = 1, n = 0;
	i = 1;
	CHECK(NODE_UNLOCKED, lock_kept);
	do
	:: i > NS -> break
	:: else ->
		n = (current[0] == i) + (current[1] == i) + LISTED(partial[0], i) + LISTED(partial[1], i) +
		    LISTED(handed_off[0], i) + LISTED(handed_off[1], i) + ((node >> i) & 1) + ((fresh >> i) & 1);
		if
		:: owned[i] -> CHECK(n == 1, slab_lost)                    /* neither lost nor listed twice */
		:: else -> CHECK(n == 0 && stack[i] == 0 && remote[i] == 0 && owner[i] == NONE, full_with_objects)   /* full */
		fi;
		CHECK(!(current[0] == i || LISTED(partial[0], i) || LISTED(handed_off[0], i)) || owner[i] == 0, wrong_owner);
		CHECK(!(current[1] == i || LISTED(partial[1], i) || LISTED(handed_off[1], i)) || owner[i] == 1, wrong_owner);
		CHECK(!(((node | fresh) >> i) & 1) || owner[i] == NONE, wrong_owner);
		n = stack[i] | remote[i] | in_use[i] | IN_WORDS(i, |) | LIFO_OF(i, |) | IN_MAGAZINE(i);
		CHECK(((fresh >> i) & 1) || n == ALL(i), object_lost);
		n = stack[i] + remote[i] + in_use[i] + IN_WORDS(i, +) + LIFO_OF(i, +) + IN_MAGAZINE(i);
		CHECK(((fresh >> i) & 1) || n == ALL(i), object_twice);
		i++
	od;
	i = 0; n = 0
	}
}

inline clear_limit() {
#if LIFO
	atomic { G -> limit[r] = 0 }
#else
	skip
#endif
}

inline clear_owners() {
	atomic { G -> if :: chain & 2 -> owner[1] = NONE :: else fi };
	atomic { G -> if :: chain & 4 -> owner[2 % (NS + 1)] = NONE :: else fi }
}

#if LIFO
/* lifo_push and lifo_push_bulk on CPU c: set the limit, unless it is set. */
inline open_lifo(failed) {
	if
#ifdef LENGTHS
	:: atomic { G && limit[c] != 0 -> skip }
	:: atomic { G && (cpu[t] != c || closed[c]) -> goto failed }
	:: atomic { G && cpu[t] == c && !closed[c] -> BEGIN(c) };
	   atomic { if :: limit[c] = 1 :: limit[c] = LIFO fi; END(c) }
#elif BUG == OPEN_OUTSIDE
	:: atomic { G && limit[c] == LIFO -> skip }
	:: atomic { G && limit[c] != LIFO && (cpu[t] != c || closed[c]) -> goto failed }
	:: atomic { G && limit[c] != LIFO && cpu[t] == c && !closed[c] -> skip };
	   atomic { G -> limit[c] = LIFO }
#else
	:: atomic { G && limit[c] == LIFO -> skip }
	:: atomic { G && limit[c] != LIFO && (cpu[t] != c || (closed[c] && BUG != OPEN_WITHOUT_CLOSED)) -> goto failed }
	:: atomic { G && limit[c] != LIFO && cpu[t] == c && (!closed[c] || BUG == OPEN_WITHOUT_CLOSED) -> BEGIN(c) };
	   atomic { limit[c] = LIFO; END(c); REACHED(1) }
#endif
	fi
}
#endif
