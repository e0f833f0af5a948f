/* SPDX-License-Identifier: MIT */
/*
 * The slab ownership protocol over restartable sequences (engine rseq), for spin.
 * README.md: options, how to run, what was searched.
 *
 * NT threads loop for ever on 2 CPUs, with NS slabs of 2 objects each. Spin visits every
 * reachable state, and checks whenever no thread is inside an operation that each object is
 * in exactly one place and each slab in exactly one state.
 *
 *  - Process M moves a thread to the other CPU at any time, except inside a section.
 *  - A section is one step that reads its conditions and one that commits. section[c] is the
 *    thread inside; other threads of the same CPU take no step meanwhile (guard G): the kernel
 *    would restart the section, which equals the other step coming first. Threads of the other
 *    CPU interleave freely. A store that precedes the commit is a step of its own.
 *  - A fence waits until no thread is inside a section of that CPU: the section has committed,
 *    or it was restarted, which equals that it did not begin.
 *  - A loop around a compare-and-exchange is one step: a failed one only repeats.
 *  - Freelists, remote words and batches are masks of objects. Sections write back the value
 *    that they read, so a lost update shows. The LIFO is an array: an entry is slab << 2 | object.
 *    So is the object in the node's one magazine. `magazines` is the number of full ones, 0 or 1.
 *  - A put and a get only try the node's lock. A thread that would not get it does something
 *    else: it can do that at any time, so the model has no step for a try that fails.
 *  - After a step that several operations share, `ret` says which one goes on: 0 none, 1 an
 *    allocation, 2 and 3 a revocation, 4 the walk over handed-off slabs, 5 the free of an object
 *    that found another slab's remote batch.
 *  - Memory is sequentially consistent; BUG=WEAK_x lets the machine exchange two loads, and WEAK
 *    lets rseq_pop and rseq_push load in any order.
 */
#define RSEQ_POP_WITHOUT_LIMIT 1          /* deliberate mistakes: -DBUG=NAME */
#define RSEQ_PUSH_WITHOUT_LIMIT 2
#define OPEN_WITHOUT_CLOSED 3
#define OPEN_OUTSIDE 4
#define LIFO_POP_WITHOUT_CLOSED 5
#define LIFO_POP_READS_OUTSIDE 6
#define LIFO_TAKEN_EARLY 7
#define LIMIT_KEPT 8
#define LIMIT_BEFORE_FENCE_1 9
#define LIMIT_AFTER_FENCE_2 10
#define LIMIT_RAISED 11                   /* a mistake with WEAK only */
#define OPENED_BEFORE_COUNT 12
#define FILL_WITHOUT_CLOSED 13
#define FILL_NOT_EMPTY 14
#define BULK_WITHOUT_CURRENT 15
#define BULK_READS_OUTSIDE 16
#define WEAK_LIFO_POP 17
#define WEAK_FILL 18                      /* no mistake */
#define NO_FENCE_1 20
#define NO_FENCE_2 21
#define NO_FENCE_3 22
#define DISOWN_FIRST 23
#define DISOWN_UNCHECKED 24
#define DISOWN_OUTSIDE 25
#define HANDED_OFF_POP 26
#define LIST_HERE 27
#define LIST_BEFORE_OWNER 28
#define OWNER_BEFORE_OBJECTS 29
#define CLAIM_IN_TWO_STEPS 30
#define WEAK_PUSH 31
#define MAGAZINE_PUT_WITHOUT_CLOSED 40
#define MAGAZINE_GET_WITHOUT_CLOSED 41
#define MAGAZINE_GET_NOT_EMPTY 42
#define MAGAZINE_PUT_COUNTED_LATE 43
#define MAGAZINE_GET_COUNTED_LATE 44
#define MAGAZINE_PUT_READS_OUTSIDE 45
#define MAGAZINE_GET_READS_OUTSIDE 46
#define MAGAZINE_TAKEN_WITHOUT_LOCK 47
#define WEAK_MAGAZINE_PUT 48
#ifndef BUG
#define BUG 0
#endif
#ifndef NT
#define NT 2
#endif
#ifndef NS
#define NS 1
#endif
#ifndef REVOKE
#define REVOKE 0
#endif
#ifndef PIN
#define PIN 0
#endif
#ifndef REACH
#define REACH 0
#endif
#define REACHED(n) assert(REACH != (n))
#define NONE 2           /* no CPU */
#ifndef OBJECTS_2
#define OBJECTS_2 3
#endif
#define ALL(i) ((i) == 2 -> OBJECTS_2 : 3)        /* masks of objects */

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
#define POP_TOP(c) count[c] = v - 1; ENTRY(c, v - 1) = 0; v = 0; assert(s != 0)
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
#define OPEN(s, c) assert(inside[s] == 0); inside[s] = (c) + 1
#define SHUT(s) inside[s] = 0
#define LOW(m) (((m) & 1) -> 1 : 2)
#define LISTED(head, s) ((head) == (s) || ((head) != 0 && next_of[head] == (s)))
#define HAND_OUT(s, b) assert((s) != 0 && (in_use[s] & (b)) == 0); in_use[s] = in_use[s] | (b)
#define IN_WORDS(s, op) ((batch_slab[0] == (s) -> batch_objs[0] : 0) op \
	(batch_slab[1] == (s) -> batch_objs[1] : 0))

/* No thread is inside an operation. */
inline check() {
	d_step {
	byte i = 1, n = 0;
	i = 1;
	assert(NODE_UNLOCKED);
	do
	:: i > NS -> break
	:: else ->
		n = (current[0] == i) + (current[1] == i) + LISTED(partial[0], i) + LISTED(partial[1], i) +
		    LISTED(handed_off[0], i) + LISTED(handed_off[1], i) + ((node >> i) & 1) + ((fresh >> i) & 1);
		if
		:: owned[i] -> assert(n == 1)                    /* neither lost nor listed twice */
		:: else -> assert(n == 0 && stack[i] == 0 && remote[i] == 0 && owner[i] == NONE)   /* full */
		fi;
		assert(!(current[0] == i || LISTED(partial[0], i) || LISTED(handed_off[0], i)) || owner[i] == 0);
		assert(!(current[1] == i || LISTED(partial[1], i) || LISTED(handed_off[1], i)) || owner[i] == 1);
		assert(!(((node | fresh) >> i) & 1) || owner[i] == NONE);
		n = stack[i] | remote[i] | in_use[i] | IN_WORDS(i, |) | LIFO_OF(i, |) | IN_MAGAZINE(i);
		assert(((fresh >> i) & 1) || n == ALL(i));       /* no object lost */
		n = stack[i] + remote[i] + in_use[i] + IN_WORDS(i, +) + LIFO_OF(i, +) + IN_MAGAZINE(i);
		assert(((fresh >> i) & 1) || n == ALL(i));       /* none twice */
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

proctype T(byte t) {
	byte c = 0, s = 0, v = 0, w = 0, b = 0, chain = 0, ret = 0, r = 0;
	byte own_slab = 0, own_obj = 0;  /* while the batch of another slab is handed over */
	byte taken = 0;                  /* objects of the LIFO that the revocation has delivered */

DONE:	atomic { c = 0; s = 0; v = 0; w = 0; b = 0; chain = 0; ret = 0; r = 0; busy--;
		if :: busy == 0 -> check() :: else fi };
	if
	:: atomic { G -> busy++ }; goto ALLOC
	:: atomic { G && in_use[1] != 0 -> busy++; s = 1; b = LOW(in_use[1]); in_use[1] = in_use[1] - b }; goto FREE
#if NS > 1
	:: atomic { G && in_use[2] != 0 -> busy++; s = 2; b = LOW(in_use[2]); in_use[2] = in_use[2] - b }; goto FREE
#endif
#if REVOKE
	:: atomic { t < REVOKE && G && !closed[0] -> busy++; r = 0; closed[0] = 1 }; goto REVOKE_1
	:: atomic { t < REVOKE && G && !closed[1] -> busy++; r = 1; closed[1] = 1 }; goto REVOKE_1
#ifdef MAGAZINE          /* the revocation's other part: the thread holds the node's lock */
	:: atomic { t < REVOKE && G && magazines != 0 && (node_lock == 0 || BUG == MAGAZINE_TAKEN_WITHOUT_LOCK) ->
			busy++; s = magazine >> 2; b = magazine & 3; magazine = 0; magazines = 0; REACHED(7);
			goto FREE_REMOTE }
#endif
#endif
	fi;

/* ---------------- allocation: rseq_pop, else pop or pop_bulk ---------------- */
ALLOC:	atomic { G -> c = cpu[t]; s = current[c]; ret = 1; b = 0; v = 0;
		if
#if LIFO && defined(WEAK)
		:: COUNT(c) != 0 -> BEGIN(c); v = COUNT(c); goto POP_COUNTED
		:: LIMIT(c) != 0 -> BEGIN(c); w = LIMIT(c); goto POP_LIMITED
#elif LIFO
		:: CAN_POP(c) -> BEGIN(c); READ_TOP(c); goto LIFO_COMMIT
#endif
#if BUG == BULK_WITHOUT_CURRENT || BUG == BULK_READS_OUTSIDE
		:: s != 0 && stack[s] == 3 -> v = stack[s]; goto BULK
#endif
		:: s != 0 && stack[s] != 0 -> BEGIN(c); OPEN(s, c); v = stack[s]
		:: !CAN_POP(c) && (s == 0 || stack[s] == 0) -> goto MISSED
		fi };
#if LIFO                                         /* pop_bulk takes both objects of the slab */
POP:	if
	:: atomic { v == 3 -> b = 1; stack[s] = 0; SHUT(s); END(c); HAND_OUT(s, 1); b = 2; v = 0; ret = 0; goto FILL }
	:: skip
	fi;
#endif
	atomic { b = LOW(v); stack[s] = v - b; SHUT(s); END(c); HAND_OUT(s, b); goto DONE };
#if BUG == BULK_WITHOUT_CURRENT || BUG == BULK_READS_OUTSIDE
BULK:	atomic { G ->
		if
		:: cpu[t] != c || (current[c] != s && BUG != BULK_WITHOUT_CURRENT) ||
		   (stack[s] != v && BUG != BULK_READS_OUTSIDE) -> goto ALLOC
		:: else -> BEGIN(c); OPEN(s, c); goto POP
		fi };
#endif
#if LIFO && defined(WEAK)
POP_COUNTED:
	if
	:: atomic { READ_ENTRY(c, v - 1) };
	   atomic { if :: v > LIMIT(c) -> v = 0; END(c); goto ALLOC :: else -> goto LIFO_COMMIT fi }
	:: atomic { if :: v > LIMIT(c) -> v = 0; END(c); goto ALLOC :: else -> goto POP_ENTRY fi }
	fi;
POP_LIMITED: atomic { v = COUNT(c); if :: v == 0 || v > w -> v = 0; w = 0; END(c); goto ALLOC :: else -> w = 0 fi };
POP_ENTRY: atomic { READ_ENTRY(c, v - 1); goto LIFO_COMMIT };
#endif

/* All missed: lifo_pop, a magazine (both at any time), or refill. c and s are what pop saw. */
MISSED:	if
	:: goto REFILL
#ifdef MAGAZINE
#if BUG == MAGAZINE_GET_READS_OUTSIDE            /* the number is not read again with the lock */
	:: atomic { G && magazines != 0 -> goto MAGAZINE_GET }
#else
	:: atomic { G && magazines != 0 && node_lock == 0 -> node_lock = 1; goto MAGAZINE_GET }
#endif
#endif
#if LIFO
#if BUG == WEAK_LIFO_POP                         /* count loaded before closed */
	:: atomic { G && COUNT(cpu[t]) != 0 -> c = cpu[t]; BEGIN(c); READ_TOP(c) };
	   atomic { if :: closed[c] -> v = 0; END(c); goto ALLOC :: else -> goto LIFO_COMMIT fi }
#elif BUG == LIFO_POP_READS_OUTSIDE              /* the section compares the count only */
	:: atomic { G && COUNT(cpu[t]) != 0 -> c = cpu[t]; READ_TOP(c) };
	   atomic { G -> if :: cpu[t] != c || closed[c] || COUNT(c) != v -> goto ALLOC
			:: else -> BEGIN(c); goto LIFO_COMMIT fi }
#else
	:: atomic { G && (!closed[cpu[t]] || BUG == LIFO_POP_WITHOUT_CLOSED) && COUNT(cpu[t]) != 0 ->
			c = cpu[t]; BEGIN(c); READ_TOP(c);
			if :: v > LIMIT(c) -> REACHED(2) :: else fi;
			goto LIFO_COMMIT }
#endif
#endif
	fi;
#if LIFO
LIFO_COMMIT: atomic { POP_TOP(c); END(c); HAND_OUT(s, b); REACHED(3); goto DONE };

/* ---------------- lifo_push_bulk: the LIFO gets the other object of pop_bulk ---------------- */
FILL:	atomic { G -> c = cpu[t] };
	open_lifo(FREE);
#if BUG == WEAK_FILL                             /* count loaded before closed */
	atomic { G -> if :: cpu[t] != c || COUNT(c) != 0 -> goto FREE :: else -> BEGIN(c) fi };
	atomic { if :: closed[c] -> END(c); goto FREE :: else fi };
#else
	atomic { G ->
		if
		:: cpu[t] != c || (closed[c] && BUG != FILL_WITHOUT_CLOSED) || (COUNT(c) != 0 && BUG != FILL_NOT_EMPTY) ->
			goto FREE
		:: else -> BEGIN(c)
		fi };
#endif
	atomic { ENTRY(c, 0) = s << 2 | b };
	atomic { count[c] = 1; END(c); REACHED(8); goto DONE };
#endif

#ifdef MAGAZINE
/* ---------------- lifo_push_bulk on CPU c: the LIFO gets the magazine's object ---------------- */
NOT_GOT: atomic { G -> node_lock = 0; goto REFILL };
MAGAZINE_GET:
#if BUG == MAGAZINE_GET_READS_OUTSIDE
	atomic { G && node_lock == 0 -> node_lock = 1 };
#endif
	open_lifo(NOT_GOT);
	atomic { G ->
		if
		:: cpu[t] != c || (closed[c] && BUG != MAGAZINE_GET_WITHOUT_CLOSED) ||
		   (COUNT(c) != 0 && BUG != MAGAZINE_GET_NOT_EMPTY) -> goto NOT_GOT
		:: else -> BEGIN(c)
		fi };
	atomic { ENTRY(c, 0) = magazine };
	atomic { count[c] = 1; END(c) };
#if BUG == MAGAZINE_GET_COUNTED_LATE
	atomic { G -> node_lock = 0 };
	atomic { G -> magazine = 0; magazines = 0; goto ALLOC };
#else
	atomic { G -> assert(node_lock && magazines != 0); magazine = 0; magazines = 0; node_lock = 0;
		REACHED(6); goto ALLOC };
#endif
#endif

/* ---------------- refill of CPU c ---------------- */
REFILL:	atomic { G -> if :: closed[c] -> goto ALLOC      /* the code: allocates from the node */
		:: !closed[c] && s == 0 -> goto GET
		:: else -> if :: BUG == DISOWN_FIRST -> goto DISOWN :: else fi fi };
RETIRE:	atomic { G ->
		if
		:: cpu[t] != c || closed[c] || current[c] != s || stack[s] != 0 -> goto ALLOC
		:: else -> BEGIN(c); OPEN(s, c)
		fi };
	atomic { current[c] = 0; SHUT(s); END(c); if :: BUG == DISOWN_FIRST -> goto GET :: else fi };
/* This thread has the slab, and c still owns it. */
DISOWN:	atomic { G ->
		if
		:: BUG != DISOWN_FIRST && BUG != DISOWN_OUTSIDE && (cpu[t] != c || closed[c]) -> goto LIST
		:: BUG != DISOWN_FIRST && BUG != DISOWN_UNCHECKED && stack[s] != 0 -> goto LIST
		:: BUG == DISOWN_FIRST &&
		   (cpu[t] != c || closed[c] || owner[s] != c || current[c] != s || stack[s] != 0) -> goto ALLOC
		:: else -> if :: BUG == DISOWN_OUTSIDE :: else -> assert(owner[s] == c); BEGIN(c); OPEN(s, c) fi
		fi };
	atomic { owner[s] = NONE; if :: BUG == DISOWN_OUTSIDE :: else -> SHUT(s); END(c) fi };
/* The slab is isolated: it is full now, or its remote objects make it ready. */
	atomic { G ->
		if
		:: remote[s] == 0 -> owned[s] = 0; if :: BUG == DISOWN_FIRST -> goto RETIRE :: else -> goto GET fi
		:: else -> b = remote[s]; remote[s] = 0
		fi };
	atomic { G -> assert(inside[s] == 0); stack[s] = stack[s] | b; b = 0 };
	atomic { G -> owner[s] = c; goto INSTALL };

GET:	atomic { G -> s = 0;
		if
		:: partial[c] == 0 -> goto TAKE
		:: partial[c] != 0 && (cpu[t] != c || closed[c]) -> goto ALLOC
		:: else -> s = partial[c]; v = next_of[s]; BEGIN(c)
		fi };
	atomic { partial[c] = v; next_of[s] = 0; v = 0; END(c); goto INSTALL };
#if BUG == HANDED_OFF_POP                        /* one slab by compare-and-exchange: ABA */
TAKE:	atomic { G -> if :: handed_off[c] == 0 -> goto FLUSH :: else -> s = handed_off[c]; v = next_of[s] fi };
	atomic { G -> if :: handed_off[c] == s -> handed_off[c] = v; next_of[s] = 0; v = 0; goto INSTALL
			:: else -> v = 0; s = 0; goto ALLOC fi };
#else
TAKE:	atomic { G -> if :: handed_off[c] == 0 -> goto FLUSH
			:: else -> chain = handed_off[c]; handed_off[c] = 0; ret = 4 fi };
#endif
WALK:	atomic { G -> if :: chain == 0 -> goto ALLOC
			:: else -> s = chain; chain = next_of[s]; next_of[s] = 0; goto LIST fi };
FLUSH:
#ifdef BATCH
	atomic { G ->
		if
		:: cpu[t] != c || closed[c] || batch_slab[c] == 0 -> goto NODE
		:: else -> s = batch_slab[c]; b = batch_objs[c]; BEGIN(c)
		fi };
	atomic { batch_slab[c] = 0; batch_objs[c] = 0; END(c); goto FREE_REMOTE };
#endif
NODE:	atomic { G ->
		if
		:: node & 2 -> s = 1; node = node - 2
		:: node & 4 -> s = 2; node = node - 4
		:: fresh & 2 -> s = 1; fresh = fresh - 2; stack[1] = ALL(1)
#if NS > 1
		:: !(fresh & 2) && (fresh & 4) -> s = 2; fresh = fresh - 4; stack[2] = ALL(2)
#endif
		:: node == 0 && fresh == 0 -> goto DONE          /* no memory */
		fi };
	atomic { G -> b = remote[s]; remote[s] = 0 };
	atomic { G -> assert(inside[s] == 0 && owner[s] == NONE && owned[s]); stack[s] = stack[s] | b; b = 0 };
	atomic { G -> owner[s] = c };

/* c owns the slab: current, or listed. */
INSTALL: atomic { G ->
		assert(owner[s] == c);
		if
		:: cpu[t] != c || closed[c] || current[c] != 0 -> goto LIST
		:: else -> BEGIN(c)
		fi };
	atomic { current[c] = s; END(c); goto NEXT };
LIST:	atomic { G -> if :: BUG == LIST_HERE -> c = cpu[t] :: else fi;   /* not on the owner's list */
		if
		:: cpu[t] != c || closed[c] -> goto HAND_OFF
		:: else -> v = partial[c]; BEGIN(c)
		fi };
	atomic { next_of[s] = v; partial[c] = s; v = 0; END(c);
		if :: BUG == LIST_BEFORE_OWNER && owner[s] == NONE -> goto SET_OWNER :: else -> goto NEXT fi };
HAND_OFF: atomic { G -> assert(owner[s] == c || BUG == LIST_HERE || BUG == LIST_BEFORE_OWNER);
		next_of[s] = handed_off[c]; handed_off[c] = s;
		if :: BUG == LIST_BEFORE_OWNER && owner[s] == NONE -> goto SET_OWNER :: else fi };
NEXT:	atomic { G -> s = 0; b = 0; v = 0; w = 0; if :: ret == 4 -> skip :: else -> c = 0 fi;
		if
		:: ret == 0 -> goto DONE
		:: ret == 1 -> goto ALLOC
		:: ret == 4 -> goto WALK
#ifdef BATCH
		:: ret == 5 -> ret = 0; s = own_slab; b = own_obj; own_slab = 0; own_obj = 0; goto BATCH_ADD
#endif
#if REVOKE
		:: ret == 2 -> goto CLEAR_OWNERS
#if LIFO
		:: ret == 3 -> goto TAKE_LIFO
#endif
#endif
		fi };

/* ---------------- free of object b of slab s: rseq_push, else push ---------------- */
FREE:
#if BUG == WEAK_PUSH                                 /* height loaded before owner */
	atomic { G -> c = cpu[t]; BEGIN(c); v = stack[s] };
	atomic { if :: owner[s] != c -> v = 0; END(c); goto MISSED_PUSH :: else -> OPEN(s, c) fi };
#else
	atomic { G -> c = cpu[t]; v = 0; w = 0;
		if
#if LIFO && defined(WEAK)
		:: COUNT(c) < LIFO -> BEGIN(c); v = COUNT(c); goto PUSH_COUNTED
		:: LIMIT(c) != 0 -> BEGIN(c); w = LIMIT(c); goto PUSH_LIMITED
#elif LIFO
		:: CAN_PUSH(c) -> BEGIN(c); v = COUNT(c); goto LIFO_PUSH
#endif
		:: owner[s] == c -> BEGIN(c); OPEN(s, c); v = stack[s]
		:: !CAN_PUSH(c) && (owner[s] != c || MAY_OPEN(c)) -> goto MISSED_PUSH
		fi };
#endif
	atomic { assert((stack[s] & b) == 0 && (v & b) == 0); stack[s] = v | b; v = 0; SHUT(s); END(c); goto NEXT };
#if LIFO
#ifdef WEAK
PUSH_COUNTED: atomic { if :: v >= LIMIT(c) -> v = 0; END(c); goto FREE :: else -> goto LIFO_PUSH fi };
PUSH_LIMITED: atomic { v = COUNT(c); if :: v >= w -> v = 0; w = 0; END(c); goto FREE :: else -> w = 0 fi };
#endif
LIFO_PUSH: atomic { ENTRY(c, v) = s << 2 | b };
	atomic { count[c] = v + 1; END(c); REACHED(9); goto NEXT };
#endif
MISSED_PUSH:                     /* the first half of lifo_push, a magazine, or the slow path, at any time */
#if LIFO
	if
	:: goto REMOTE
	:: atomic { G && MAY_OPEN(cpu[t]) -> c = cpu[t] }
#ifdef MAGAZINE
#if BUG == MAGAZINE_PUT_READS_OUTSIDE            /* the number is not read again with the lock */
	:: atomic { G && magazines == 0 && COUNT(cpu[t]) != 0 -> c = cpu[t]; goto MAGAZINE_PUT }
#else
	:: atomic { G && magazines == 0 && COUNT(cpu[t]) != 0 && node_lock == 0 ->
			c = cpu[t]; node_lock = 1; goto MAGAZINE_PUT }
#endif
#endif
	fi;
	open_lifo(FREE);
	goto FREE;
#endif
#ifdef MAGAZINE
/* lifo_take on CPU c: the newest object of the LIFO goes to the magazine; then push again. The code
 * does so only when the LIFO is full. */
MAGAZINE_PUT:
#if BUG == MAGAZINE_PUT_READS_OUTSIDE
	atomic { G && node_lock == 0 -> node_lock = 1 };
#endif
#if BUG == WEAK_MAGAZINE_PUT                     /* count loaded before closed */
	atomic { G -> if :: cpu[t] != c || COUNT(c) == 0 -> node_lock = 0; goto MISSED_PUSH
			:: else -> BEGIN(c); v = COUNT(c) fi };
	atomic { if :: closed[c] -> v = 0; END(c); node_lock = 0; goto MISSED_PUSH :: else fi };
#else
	atomic { G ->
		if
		:: cpu[t] != c || (closed[c] && BUG != MAGAZINE_PUT_WITHOUT_CLOSED) || COUNT(c) == 0 ->
			node_lock = 0; goto MISSED_PUSH
		:: else -> BEGIN(c); v = COUNT(c)
		fi };
#endif
	atomic { magazine = ENTRY(c, v - 1) };
	atomic { count[c] = v - 1; ENTRY(c, v - 1) = 0; v = 0; END(c) };
#if BUG == MAGAZINE_PUT_COUNTED_LATE
	atomic { G -> node_lock = 0 };
	atomic { G -> magazines = 1; goto MISSED_PUSH };
#else
	atomic { G -> assert(node_lock && magazine != 0); magazines = 1; node_lock = 0;
		REACHED(5); goto MISSED_PUSH };
#endif
#endif

REMOTE:
#ifdef BATCH
#ifdef CLAIM                                     /* no batch for a full slab */
	atomic { G -> if :: !owned[s] -> goto FREE_REMOTE :: else fi };
#else                                            /* nor after 8 tries that other threads disturbed */
	if :: goto FREE_REMOTE :: skip fi;
#endif
BATCH_ADD: atomic { G -> c = cpu[t];
		if :: closed[c] -> goto FREE_REMOTE :: else -> v = batch_slab[c]; w = batch_objs[c]; BEGIN(c) fi };
	atomic {
		if
		:: v == 0 || v == s -> batch_slab[c] = s; batch_objs[c] = w | b; v = 0; w = 0; END(c); goto NEXT
		:: else -> v = 0; w = 0; END(c)                  /* another slab's: take it, on the same CPU */
		fi };
	atomic { G ->
		if
		:: cpu[t] != c || closed[c] || batch_slab[c] == 0 -> goto BATCH_ADD
		:: else -> v = batch_slab[c]; w = batch_objs[c]; BEGIN(c)
		fi };
	atomic { REACHED(10); batch_slab[c] = 0; batch_objs[c] = 0; END(c);
		own_slab = s; own_obj = b; s = v; b = w; v = 0; w = 0; ret = 5 };
#endif
FREE_REMOTE:
#if BUG == CLAIM_IN_TWO_STEPS
	atomic { G -> v = owned[s] };
	atomic { G -> if :: v == 1 -> v = 0; remote[s] = remote[s] | b; goto NEXT
			:: v == 0 && owned[s] -> goto FREE_REMOTE
			:: v == 0 && !owned[s] -> owned[s] = 1; c = cpu[t] fi };
#else
	atomic { G ->
		if
		:: owned[s] -> assert((remote[s] & b) == 0); remote[s] = remote[s] | b; goto NEXT
		:: else -> assert(remote[s] == 0); owned[s] = 1; c = cpu[t]  /* it was full: isolated now */
		fi };
#endif
#if BUG == OWNER_BEFORE_OBJECTS
	atomic { G -> v = stack[s] };
SET_OWNER: atomic { G -> owner[s] = c };
	atomic { G -> stack[s] = v | b; v = 0; goto LIST };
#else
	atomic { G -> assert(inside[s] == 0 && stack[s] == 0 && owner[s] == NONE); stack[s] = b;
		if :: BUG == LIST_BEFORE_OWNER -> goto LIST :: else fi };
SET_OWNER: atomic { G -> owner[s] = c;                   /* the thread may run on another CPU by now */
		if :: BUG == LIST_BEFORE_OWNER -> goto NEXT :: else -> goto LIST fi };
#endif

#if REVOKE
/* ---------------- revocation of CPU r, which this thread has closed ---------------- */
REVOKE_1:
#if BUG == LIMIT_BEFORE_FENCE_1
	clear_limit();
#endif
	atomic { G && (section[r] == 0 || BUG == NO_FENCE_1) -> skip };
	/* Only pop, push, rseq_pop and rseq_push commit now, and none to these words. */
	atomic { G -> s = current[r]; current[r] = 0; if :: s != 0 -> chain = chain | 1 << s :: else fi };
#if BUG != LIMIT_KEPT && BUG != LIMIT_BEFORE_FENCE_1 && BUG != LIMIT_AFTER_FENCE_2
	clear_limit();
#endif
	atomic { G -> s = partial[r]; partial[r] = 0;
		do :: s == 0 -> break
		:: else -> chain = chain | 1 << s; v = next_of[s]; next_of[s] = 0; s = v; v = 0 od };
	atomic { G -> s = handed_off[r]; handed_off[r] = 0;
		do :: s == 0 -> break
		:: else -> chain = chain | 1 << s; v = next_of[s]; next_of[s] = 0; s = v; v = 0 od };
#ifdef BATCH
	atomic { G -> s = batch_slab[r]; b = batch_objs[r] };
	atomic { G -> batch_slab[r] = 0; batch_objs[r] = 0; if :: s != 0 -> ret = 2; goto FREE_REMOTE :: else fi };
#endif
CLEAR_OWNERS:
#ifndef LATE
	clear_owners();
#endif
	atomic { G && (section[r] == 0 || BUG == NO_FENCE_2 || BUG == LIFO_TAKEN_EARLY) -> skip };
	/* No pop, no rseq_pop and rseq_push, and no push on these slabs. */
#if LIFO
#if BUG == LIMIT_AFTER_FENCE_2
	clear_limit();
#endif
TAKE_LIFO: atomic { G -> c = 0;
		if
		:: taken >= COUNT(r) -> taken = 0
		:: else -> READ_ENTRY(r, taken); taken++; ret = 3; REACHED(4); goto FREE_REMOTE
		fi };
#if BUG == LIFO_TAKEN_EARLY
	atomic { G && section[r] == 0 -> skip };
#elif BUG == OPENED_BEFORE_COUNT
	atomic { G -> closed[r] = 0 };
#endif
	/* Entries stay in memory. Without a section nothing reads them: 0 makes fewer states. */
	atomic { G -> count[r] = 0; if :: section[r] == 0 -> ENTRY(r, 0) = 0; ENTRY(r, 1) = 0 :: else fi };
#if BUG == LIMIT_RAISED
	atomic { G -> limit[r] = LIFO };
#endif
#endif
	atomic { G -> closed[r] = 0; s = 0; b = 0; v = 0; w = 0; ret = 0 };
#ifdef LATE                                      /* as for all but the first 16 slabs */
	clear_owners();
	atomic { G && (section[r] == 0 || BUG == NO_FENCE_3) -> skip };
#endif
/* The slabs go to the node, or are full. */
PUT:	atomic { G ->
		if
		:: chain == 0 -> goto DONE
		:: chain & 2 -> s = 1
		:: !(chain & 2) && (chain & 4) -> s = 2
		fi;
		v = stack[s]; b = remote[s]; remote[s] = 0 };
	atomic { G ->
		assert(inside[s] == 0 || BUG == NO_FENCE_2 || BUG == NO_FENCE_3);
		stack[s] = v | b; v = 0; b = 0;
		if
#ifdef RELEASE                                   /* a slab without objects in use: to the page layer */
		:: stack[s] == ALL(s) -> assert(remote[s] == 0 && in_use[s] == 0);
			stack[s] = 0; fresh = fresh | 1 << s; chain = chain - (1 << s); goto PUT
		:: stack[s] != 0 && stack[s] != ALL(s) -> node = node | 1 << s; chain = chain - (1 << s); goto PUT
#else
		:: stack[s] != 0 -> node = node | 1 << s; chain = chain - (1 << s); goto PUT
#endif
		:: else
		fi };
	atomic { G ->
		if
		:: remote[s] == 0 -> owned[s] = 0; chain = chain - (1 << s); goto PUT
		:: else -> goto PUT
		fi };
#endif
}

proctype M() {
	do
#if !(PIN & 1)
	:: atomic { section[cpu[0]] != 1 -> cpu[0] = 1 - cpu[0] }
#endif
#if NT > 1 && !(PIN & 2)
	:: atomic { section[cpu[1]] != 2 -> cpu[1] = 1 - cpu[1] }
#endif
#if NT > 2 && !(PIN & 4)
	:: atomic { section[cpu[2]] != 3 -> cpu[2] = 1 - cpu[2] }
#endif
	:: false
	od
}

init {
	atomic {
	byte k = 0;
	for (k : 1 .. NS) { owner[k] = NONE; owned[k] = 1; fresh = fresh | 1 << k };
	for (k : 1 .. NT) { cpu[k - 1] = (k - 1) & 1 };
	k = 0;
	busy = NT;               /* each thread begins at DONE */
	run M();
	run T(0);
#if NT > 1
	run T(1);
#endif
#if NT > 2
	run T(2);
#endif
	}
}
