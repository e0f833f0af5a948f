/* SPDX-License-Identifier: MIT */
/* ownership.pml: revocation. */
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
		CHECK(inside[s] == 0 || BUG == NO_FENCE_2 || BUG == NO_FENCE_3, not_isolated);
		stack[s] = v | b; v = 0; b = 0;
		if
#ifdef RELEASE                                   /* a slab without objects in use: to the page layer */
		:: stack[s] == ALL(s) -> CHECK(remote[s] == 0 && in_use[s] == 0, released_in_use);
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
