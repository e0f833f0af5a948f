/* SPDX-License-Identifier: MIT */
/* ownership.pml: refill, and where a slab goes. */
/* ---------------- refill of CPU c ---------------- */
#ifdef NODE_ALLOC
#define ALLOC_CLOSED NODE_OBJECT
#else
#define ALLOC_CLOSED ALLOC                       /* the thread waits */
#endif
REFILL:	atomic { G -> if :: closed[c] -> goto ALLOC_CLOSED
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
		:: else -> if :: BUG == DISOWN_OUTSIDE :: else -> CHECK(owner[s] == c, not_owned); BEGIN(c); OPEN(s, c) fi
		fi };
	atomic { owner[s] = NONE; if :: BUG == DISOWN_OUTSIDE :: else -> SHUT(s); END(c) fi };
/* The slab is isolated: it is full now, or its remote objects make it ready. */
	atomic { G ->
		if
		:: remote[s] == 0 -> owned[s] = 0; if :: BUG == DISOWN_FIRST -> goto RETIRE :: else -> goto GET fi
		:: else -> b = remote[s]; remote[s] = 0
		fi };
	atomic { G -> CHECK(inside[s] == 0, not_isolated); stack[s] = stack[s] | b; b = 0 };
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
	atomic { G -> CHECK(inside[s] == 0 && owner[s] == NONE && owned[s], not_isolated); stack[s] = stack[s] | b; b = 0 };
	atomic { G -> owner[s] = c };

#ifdef NODE_ALLOC
	goto INSTALL;
/* ---------------- node_alloc(): one object, while the slot is closed ---------------- */
NODE_OBJECT: atomic { G -> b = 0;
		if
		:: node & 2 -> s = 1; node = node - 2
		:: node & 4 -> s = 2; node = node - 4
		:: fresh & 2 -> s = 1; fresh = fresh - 2; stack[1] = ALL(1)
#if NS > 1
		:: !(fresh & 2) && (fresh & 4) -> s = 2; fresh = fresh - 4; stack[2] = ALL(2)
#endif
		:: node == 0 && fresh == 0 -> goto DONE          /* no memory */
		fi };
NODE_COLLECT: atomic { G -> b = remote[s]; remote[s] = 0 };
	atomic { G -> CHECK(inside[s] == 0 && owner[s] == NONE && owned[s], not_isolated); stack[s] = stack[s] | b; b = 0 };
	atomic { G ->
		if
		:: stack[s] == 0 && remote[s] == 0 -> owned[s] = 0; goto NODE_OBJECT
		:: stack[s] == 0 && remote[s] != 0 -> goto NODE_COLLECT
		:: else -> b = LOW(stack[s]); stack[s] = stack[s] - b; HAND_OUT(s, b); b = 0; REACHED(12)
		fi };
NODE_LAST: atomic { G ->
		if
		:: stack[s] != 0 -> node = node | 1 << s; goto DONE
		:: stack[s] == 0 && (remote[s] == 0 || BUG == NODE_FULL_UNCHECKED) -> owned[s] = 0; goto DONE
		:: else -> b = remote[s]; remote[s] = 0
		fi };
	atomic { G -> stack[s] = stack[s] | b; b = 0; goto NODE_LAST };
#endif

/* c owns the slab: current, or listed. */
INSTALL: atomic { G ->
		CHECK(owner[s] == c, not_owned);
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
		if
		:: BUG == LIST_BEFORE_OWNER && owner[s] == NONE -> goto SET_OWNER
#ifdef TRIM
		:: ret != 4 -> goto TRIM_LIST
#endif
		:: !(BUG == LIST_BEFORE_OWNER && owner[s] == NONE) -> goto NEXT
		fi };
HAND_OFF: atomic { G -> CHECK(owner[s] == c || BUG == LIST_HERE || BUG == LIST_BEFORE_OWNER, not_owned);
		next_of[s] = handed_off[c]; handed_off[c] = s;
		if :: BUG == LIST_BEFORE_OWNER && owner[s] == NONE -> goto SET_OWNER :: else fi };
#ifdef TRIM
	goto NEXT;
/* ---------------- trim_partial(): slabs without objects in use leave CPU c ---------------- */
TRIM_LIST: atomic { G -> s = 0; v = 0;
		if
		:: cpu[t] != c || closed[c] || partial[c] == 0 -> goto NEXT
		:: else -> v = partial[c]; BEGIN(c)
		fi };
	atomic { partial[c] = 0; END(c); trimmed = 1 << v; REACHED(13);
		if :: next_of[v] != 0 -> trimmed = trimmed | 1 << next_of[v]; next_of[v] = 0 :: else fi;
		v = 0 };
TRIM_NEXT: atomic { G -> s = 0;
		if
		:: trimmed == 0 -> goto NEXT
		:: trimmed & 2 -> s = 1
		:: !(trimmed & 2) && (trimmed & 4) -> s = 2
		fi;
		trimmed = trimmed - (1 << s);
		if :: stack[s] + remote[s] == ALL(s) || BUG == TRIM_UNCHECKED :: else -> goto KEEP fi };
	atomic { G ->                                    /* disown, whether or not the slab is exhausted */
		if
		:: BUG == TRIM_DISOWN_OUTSIDE
		:: BUG != TRIM_DISOWN_OUTSIDE && (cpu[t] != c || closed[c]) -> goto KEEP
		:: else -> CHECK(owner[s] == c, not_owned); BEGIN(c); OPEN(s, c)
		fi };
	atomic { owner[s] = NONE; if :: BUG == TRIM_DISOWN_OUTSIDE :: else -> SHUT(s); END(c) fi };
	atomic { G -> b = remote[s]; remote[s] = 0 };    /* node_put() */
	atomic { G -> stack[s] = stack[s] | b; b = 0;
		if
		:: stack[s] == ALL(s) || BUG == TRIM_UNCHECKED ->
			CHECK(remote[s] == 0 && in_use[s] == 0, released_in_use); stack[s] = 0; fresh = fresh | 1 << s
		:: stack[s] != 0 -> node = node | 1 << s
		fi;
		goto TRIM_NEXT };
KEEP:	atomic { G ->
		if
		:: cpu[t] != c || closed[c] -> next_of[s] = handed_off[c]; handed_off[c] = s; goto TRIM_NEXT
		:: else -> v = partial[c]; BEGIN(c)
		fi };
	atomic { next_of[s] = v; partial[c] = s; v = 0; END(c); goto TRIM_NEXT };
#endif

NEXT:	atomic { G -> s = 0; b = 0; v = 0; w = 0; if :: ret == 4 -> skip :: else -> c = 0 fi;
		if
		:: ret == 0 || ret == 6 -> goto DONE
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
