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
 *    that found another slab's remote batch, 6 the object of a magazine, whose slab goes to the node.
 *  - Memory is sequentially consistent; BUG=WEAK_x lets the machine exchange two loads, and WEAK
 *    lets rseq_pop and rseq_push load in any order.
 */
#include "parts/ownership_options.pml"
#include "parts/ownership_state.pml"

proctype T(byte t) {
	byte c = 0, s = 0, v = 0, w = 0, b = 0, chain = 0, ret = 0, r = 0;
	byte own_slab = 0, own_obj = 0;  /* while the batch of another slab is handed over */
	byte taken = 0;                  /* objects of the LIFO that the revocation has delivered */
#ifdef TRIM
	byte trimmed = 0;                /* mask of slabs taken off the CPU partial list */
#endif
#include "parts/ownership_allocate.pml"
#include "parts/ownership_refill.pml"
#include "parts/ownership_free.pml"
#include "parts/ownership_revoke.pml"
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
