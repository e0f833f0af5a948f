/* SPDX-License-Identifier: MIT */
/* ownership.pml: allocation, up to the refill. */

DONE:	atomic { c = 0; s = 0; v = 0; w = 0; b = 0; chain = 0; ret = 0; r = 0; busy--;
		if :: busy == 0 -> check() :: else fi };
	if
	:: atomic { G -> busy++ }; goto ALLOC
	:: atomic { G && in_use[1] != 0 -> busy++; s = 1; b = LOW(in_use[1]); in_use[1] = in_use[1] - b }; goto FREE
#if NS > 1
	:: atomic { G && in_use[2] != 0 -> busy++; s = 2; b = LOW(in_use[2]); in_use[2] = in_use[2] - b }; goto FREE
#endif
#ifdef BULK
	/* hold_some() of slab_free_bulk(); take_held() of slab_alloc_bulk(); free_run() */
	:: atomic { G && in_use[1] != 0 -> busy++; s = 1; b = LOW(in_use[1]); in_use[1] = in_use[1] - b }; goto FILL
	:: atomic { G && COUNT(cpu[t]) != 0 -> busy++; c = cpu[t]; v = COUNT(c) }; goto TAKE_HELD
	:: atomic { G && in_use[1] == 3 -> busy++; s = 1; b = 3; in_use[1] = 0 }; goto FREE_RUN
#endif
#if REVOKE
	:: atomic { t < REVOKE && G && !closed[0] -> busy++; r = 0; closed[0] = 1 }; goto REVOKE_1
	:: atomic { t < REVOKE && G && !closed[1] -> busy++; r = 1; closed[1] = 1 }; goto REVOKE_1
#ifdef MAGAZINE          /* the revocation's other part: the thread holds the node's lock */
	:: atomic { t < REVOKE && G && magazines != 0 && (node_lock == 0 || BUG == MAGAZINE_TAKEN_WITHOUT_LOCK) ->
			busy++; s = magazine >> 2; b = magazine & 3; magazine = 0; magazines = 0; REACHED(7);
			ret = 6; goto FREE_REMOTE }
#endif
#endif
	fi;

#ifdef BULK
/* ---------------- lifo_take of all v objects of the LIFO ---------------- */
TAKE_HELD:
#if BUG == TAKE_READS_OUTSIDE                    /* the section compares the count only */
	atomic { G -> w = ENTRY(c, 0); r = ENTRY(c, 1) };
#endif
	atomic { G ->
		if
		:: cpu[t] != c || (closed[c] && BUG != TAKE_WITHOUT_CLOSED) || COUNT(c) != v -> goto DONE
		:: else -> BEGIN(c); if :: BUG == TAKE_READS_OUTSIDE :: else -> w = ENTRY(c, 0); r = ENTRY(c, 1) fi
		fi };
	atomic { count[c] = 0; ENTRY(c, 0) = 0; ENTRY(c, 1) = 0; END(c); REACHED(11);
		HAND_OUT(w >> 2, w & 3);
		if :: v == 2 -> HAND_OUT(r >> 2, r & 3) :: else fi;
		goto DONE };

/* ---------------- push_bulk of both objects, else one exchange ---------------- */
FREE_RUN: atomic { G -> c = cpu[t];
		if :: owner[s] == c -> BEGIN(c); OPEN(s, c); v = stack[s] :: else -> goto FREE_REMOTE fi };
	atomic { CHECK((v & b) == 0, object_twice); stack[s] = v | b; v = 0; SHUT(s); END(c); goto NEXT };
#endif

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
	atomic { G -> if :: cpu[t] != c || COUNT(c) >= LIFO -> goto FREE :: else -> BEGIN(c); v = COUNT(c) fi };
	atomic { if :: closed[c] -> v = 0; END(c); goto FREE :: else fi };
#else
	atomic { G ->
		if
		:: cpu[t] != c || (closed[c] && BUG != FILL_WITHOUT_CLOSED) ||
		   (COUNT(c) >= LIFO && BUG != FILL_NOT_COUNTED) -> goto FREE
		:: else -> BEGIN(c); v = (BUG == FILL_NOT_COUNTED -> 0 : COUNT(c))
		fi };
#endif
	atomic { ENTRY(c, v) = s << 2 | b };
	atomic { count[c] = v + 1; v = 0; END(c); REACHED(8); goto DONE };
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
	atomic { G -> CHECK(node_lock && magazines != 0, lock_kept); magazine = 0; magazines = 0; node_lock = 0;
		REACHED(6); goto ALLOC };
#endif
#endif
