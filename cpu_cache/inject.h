/* SPDX-License-Identifier: MIT */
/*
 * Injection points: places inside sections and between the steps of slow paths where a test can
 * interfere (delay, raise a signal, yield). Only test builds have them.
 *
 * In assembly, INJECT_ASM(n) spins cpu_inject_loops[n] times; a long spin makes preemption and
 * signals arrive exactly there. In C, cpu_inject(n) calls cpu_inject_hook if one is set.
 */
#ifndef CPU_CACHE_INJECT_H
#define CPU_CACHE_INJECT_H

/* Points 0 to 9 are inside sections, of the layer cpu_cache. */
#define CPU_INJECT_SECTIONS 10

/* Steps of slow paths, of the layer above: what the thread has just done. Between two steps other
 * threads find every slab and every object in a state of its own. */
#define CPU_INJECT_STEPS(STEP)                                                                     \
	STEP(OWNER_SET)          /* slab_adopt: the slab has an owner and is on no list */                  \
	STEP(PARTIAL_MISSED)     /* push_partial: not pushed, not handed off yet */                    \
	STEP(PARTIAL_TAKEN)      /* trim_partial: the CPU's list is this thread's */                    \
	STEP(REMOTE_LINKED)      /* deliver: objects are linked, not delivered */                       \
	STEP(FULL_ISOLATED)      /* deliver: the slab was full and is isolated */                       \
	STEP(CHAIN_LINKED)       /* slab_free_chain: the chain is linked, not delivered */               \
	STEP(RETIRED)            /* retire_current: not current any more, still owned */                      \
	STEP(DISOWNED)           /* retire_current: without an owner, not full yet */                        \
	STEP(HANDED_OFF_TAKEN)   /* take_handed_off: the stack is this thread's */                   \
	STEP(PARTIAL_POPPED)     /* from_partial: owned, on no list */                                 \
	STEP(NODE_TAKEN)         /* from_node: slabs are isolated */                                       \
	STEP(PAGES_TAKEN)        /* from_pages: a fresh slab is isolated */                               \
	STEP(BATCH_TAKEN)        /* flush_remote_batch: the batch is this thread's */                     \
	STEP(SLOTS_CLOSED)       /* flush_slots: closed, not fenced */                                   \
	STEP(SLOTS_FENCED)       /* flush_slots: fenced, nothing taken */                                \
	STEP(SLOTS_TAKEN)        /* flush_slots: slabs taken, owners set */                               \
	STEP(OWNERS_CLEARED)     /* revoke_some: without owners, not fenced */                         \
	STEP(REVOKED_FENCED)     /* flush_slots: fenced, LIFOs full, slots closed */                   \
	STEP(LIFO_EMPTIED)       /* open_slots: LIFO empty, slot closed */                               \
	STEP(MAGAZINE_TAKEN)     /* deliver_magazines: the magazine is this thread's */                \
	STEP(MAGAZINE_LOCKED)    /* magazine_put, magazine_get: the node is locked */                 \
	STEP(REMOTE_COLLECTED)   /* slab_collect: the remote freelist is this thread's */            \
	STEP(INITIALIZED)        /* initialize_objects: counted, not on the freelist */                   \
	STEP(FULL_NEXT)          /* slab_refill: nothing free, not full yet */                              \
	STEP(OBJECTS_TAKEN)      /* take_objects: objects taken off an isolated slab */                 \
	STEP(LIFO_REFILLED)      /* refill_lifo: objects are between slab and LIFO */                   \
	STEP(SLAB_DESTROYED)     /* release: destructors ran, pages not returned */                    \
	STEP(RUN_LINKED)         /* add_run: objects are linked, not waiting */                            \
	STEP(RCU_CLOSED)         /* rcu_collect: slots closed, not fenced */                               \
	STEP(RCU_LIMITED)        /* rcu_collect: LIFOs closed, not fenced */                              \
	STEP(PHASE_FLIPPED)      /* a phase waits, its grace period has not begun */                    \
	STEP(DEBUG_SET)          /* set_debug_flags: flags set, gate open */                                \
	STEP(FULL_SWEPT)         /* sweep_full: a full slab is isolated */                                 \
	STEP(ROOM_TAKEN)         /* move: an object to move to is taken */                                 \
	STEP(OBJECT_MOVED)       /* move: moved, the old object not freed */

enum cpu_inject_step {
	CPU_INJECT_LAST_SECTION = CPU_INJECT_SECTIONS - 1,
#define CPU_INJECT_STEP_(name) CPU_INJECT_##name,
	CPU_INJECT_STEPS(CPU_INJECT_STEP_)
#undef CPU_INJECT_STEP_
		CPU_INJECT_POINTS
};

#ifdef SLAB_TESTING
extern unsigned cpu_inject_loops[CPU_INJECT_POINTS];
extern void (*cpu_inject_hook)(int point);

static inline void cpu_inject(int point)
{
	void (*hook)(int) = __atomic_load_n(&cpu_inject_hook, __ATOMIC_RELAXED);

	if (hook)
		hook(point);
}
#else
#define cpu_inject(point) ((void)0)
#endif

#endif /* CPU_CACHE_INJECT_H */
