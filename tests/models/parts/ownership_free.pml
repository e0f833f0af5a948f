/* SPDX-License-Identifier: MIT */
/* ownership.pml: frees. */
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
	atomic { CHECK((stack[s] & b) == 0 && (v & b) == 0, object_twice); stack[s] = v | b; v = 0; SHUT(s); END(c); goto NEXT };
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
	atomic { G -> CHECK(node_lock && magazine != 0, lock_kept); magazines = 1; node_lock = 0;
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
		:: owned[s] -> CHECK((remote[s] & b) == 0, object_twice); remote[s] = remote[s] | b; goto NEXT
		:: else -> CHECK(remote[s] == 0, object_lost); owned[s] = 1; c = cpu[t]  /* it was full: isolated now */
		fi };
#endif
#if BUG == OWNER_BEFORE_OBJECTS
	atomic { G -> v = stack[s] };
SET_OWNER: atomic { G -> owner[s] = c };
	atomic { G -> stack[s] = v | b; v = 0; goto LIST };
#else
	atomic { G -> CHECK(inside[s] == 0 && stack[s] == 0 && owner[s] == NONE, not_isolated); stack[s] = b;
		if
		:: BUG == LIST_BEFORE_OWNER -> goto LIST
		:: ret == 6 -> node = node | 1 << s; goto NEXT   /* deliver_to_node() */
		:: else
		fi };
SET_OWNER: atomic { G -> owner[s] = c;                   /* the thread may run on another CPU by now */
		if :: BUG == LIST_BEFORE_OWNER -> goto NEXT :: else -> goto LIST fi };
#endif
