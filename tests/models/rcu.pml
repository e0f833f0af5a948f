/* SPDX-License-Identifier: MIT */
/*
 * Frees after a grace period: slab/rcu, with several readers.
 *
 * A thread on each of CPUS CPUs allocates objects, publishes them, unlinks them and frees them with
 * slab_free_rcu(). READERS readers enter a section, look at a published object, and leave. One process is
 * the flavour's thread, which runs the callback of call_rcu(). With HELPER another thread drives grace
 * periods; with BARRIER it calls slab_rcu_barrier(). Sets of objects are masks; all objects are of one
 * slab.
 *
 *  - A grace period has a mask of the readers that were in a section when it began. A reader that
 *    leaves clears its bit in all masks. The grace period ends when its mask is 0.
 *  - With ARRAY each CPU has an array of 1 or 2 objects, which a free that finds it full passes on. A section
 *    is one step that reads and one that commits, as in arrays.pml; the threads do not migrate. Without
 *    ARRAY all frees add their object to the phase, as those do that find no CPU.
 */
#define NO_GRACE_PERIOD 1               /* mutants: -DBUG=NAME */
#define FLIP_AFTER_BEGIN 2
#define PHASE_BEFORE_UNLINK 3
#define CALLBACK_WITHOUT_DRIVING 4
#define PHASE_NOT_READ_AGAIN 5
#define USERS_NOT_AWAITED 6
#define RECYCLE_COLLECTING 7
#define DISARM_UNCHECKED 8
#define ARM_BEFORE_PUSH 9
#define CALLBACK_NOT_REPEATED 10
#define COLLECT_WITHOUT_FENCE 11
#define COLLECT_WITHOUT_CLOSING 12
#define FLIP_WITHOUT_COLLECT 13
#define DRAIN_WITHOUT_FIRST_PERIOD 14
#define DRAIN_WITHOUT_TAKING 15
#define USERS_OVERLOOKED 16
#ifndef BUG
#define BUG 0
#endif
#ifndef READERS
#define READERS 2
#endif
#ifndef CPUS
#define CPUS 2
#endif
#ifndef OBJECTS
#define OBJECTS 2
#endif
#define ALL ((1 << OBJECTS) - 1)
#define LOW(m) ((m) & -(m))
#define COUNT(m) (((m) & 1) + ((m) >> 1 & 1) + ((m) >> 2))
#define CHECK(condition, name) assert((condition) || name)

bit handed_out_early, object_lost, object_twice, never_recycled, barrier_too_early, slab_gone;

/* Where an object is: free, allocated by a thread (local), published, in an array, in a phase. */
byte free_objects = ALL, published, array[2], waiting[2];
bit opened = 1, linked[2], stacked[2];    /* the slab's link of each phase; it is on the stack */
byte section[2], users[2], pending;
byte phase, armed, driving, taking;
byte busy = CPUS;        /* ghost: threads inside an operation */
byte due;                /* ghost: objects that slab_rcu_barrier() must wait for */
byte freed;              /* ghost: objects whose slab_free_rcu() has returned, and not recycled */
byte holds[READERS], reading;
byte queued, callback_waits, driver_waits;     /* the grace periods' masks of readers */

#define OTHER(p) (1 - (p))
#define NOTHING_WAITS (pending == 0 && array[0] == 0 && array[1] == 0)
/* something_waits(): a thread has linked the slab, and is about to stack it. */
#define WAITS(p) (stacked[p] || (users[p] != 0 && BUG != USERS_OVERLOOKED))
#define IN_PHASES (waiting[0] | waiting[1])

/* No thread is inside an operation and no driver works: something will recycle what waits. */
inline check() {
	if
	:: busy == 0 && driving == 0 && queued != 2 ->
		CHECK((IN_PHASES | array[0] | array[1]) == 0 || queued == 1, never_recycled);
		CHECK((free_objects | published | array[0] | array[1] | IN_PHASES) == ALL, object_lost);
		CHECK(free_objects + published + array[0] + array[1] + waiting[0] + waiting[1] == ALL, object_twice);
		CHECK((waiting[0] == 0 || stacked[0]) && (waiting[1] == 0 || stacked[1]), never_recycled)
	:: else
	fi
}

inline enter_phase() {
	do
	:: atomic { p = phase };
	   atomic { users[p]++ };
	   if
	   :: atomic { phase == p || BUG == PHASE_NOT_READ_AGAIN -> break }
	   :: atomic { phase != p && BUG != PHASE_NOT_READ_AGAIN -> users[p]-- }
	   fi
	od
}

/* rcu_wait_for(): the objects join the phase that collects. Until then they keep their slab. */
inline wait_for(objects) {
	atomic { pending = pending + COUNT(objects) };
#if BUG != PHASE_BEFORE_UNLINK
	enter_phase();
#endif
	atomic { CHECK((IN_PHASES & objects) == 0, object_twice); waiting[p] = waiting[p] | objects };
	if
	:: atomic { linked[p] -> skip }
	:: atomic { !linked[p] -> linked[p] = 1; CHECK((waiting[p] & objects) == objects, slab_gone) };
	   atomic { stacked[p] = 1 }
	fi;
	atomic { users[p]--; p = 0 }
}

/* rcu_arm(), rcu_call() */
inline arm() {
	if
	:: atomic { armed != 0 -> skip }
	:: atomic { armed == 0 -> armed = 1 };
	   atomic { queued = 1; callback_waits = reading }
	fi
}

/* ---------------- slab_free_rcu() ---------------- */
proctype Thread(byte t) {
	byte b = 0, m = 0, p = 0;

IDLE:	atomic { b = 0; m = 0; p = 0; busy--; check() };
	if
	:: atomic { free_objects != 0 -> busy++; b = LOW(free_objects); free_objects = free_objects - b;
		published = published | b; goto IDLE }
	:: atomic { published != 0 -> busy++; b = LOW(published)
#if BUG == PHASE_BEFORE_UNLINK
	   };
	   enter_phase();
	   atomic {
#else
		;
#endif
		published = published & ~b }
	fi;
#if BUG == ARM_BEFORE_PUSH
	arm();
#endif
PUSH:
#ifdef ARRAY
	if                                              /* rseq_push() */
	:: atomic { opened && COUNT(array[t]) < ARRAY -> section[t] = 1; m = array[t] };
	   if
	   :: atomic { section[t] == 1 -> array[t] = m | b; m = 0; section[t] = 0; goto PUSHED }
	   :: atomic { section[t] == 0 -> m = 0; goto PUSH }
	   fi
	:: atomic { opened && COUNT(array[t]) == ARRAY -> taking++ }
	:: wait_for(b); goto PUSHED
	fi;
	if                                              /* pass_on() */
	:: atomic { opened && array[t] != 0 -> section[t] = 1; m = array[t] };
	   if
	   :: atomic { section[t] == 1 -> array[t] = 0; section[t] = 0 };
	      wait_for(m)
	   :: atomic { section[t] == 0 -> skip }
	   fi
	:: atomic { !opened || array[t] == 0 -> skip }
	fi;
	atomic { m = 0; taking--; goto PUSH };
PUSHED:
#else
	wait_for(b);
#endif
#if BUG != ARM_BEFORE_PUSH
	arm();
#endif
#ifdef BARRIER                                  /* recycled already? */
	atomic { freed = freed | (b & (array[0] | array[1] | IN_PHASES)) };
#endif
	goto IDLE
}

/* ---------------- the driver ---------------- */

/* rcu_collect(): the fence ends sections. */
inline collect() {
#if defined(ARRAY) && BUG != FLIP_WITHOUT_COLLECT
	atomic { taking++ };
#if BUG != COLLECT_WITHOUT_CLOSING
	atomic { opened = 0 };
#endif
#if BUG != COLLECT_WITHOUT_FENCE
	atomic { section[0] = 0 };
	atomic { section[1] = 0 };
#endif
	atomic { c = 0 };
	do
	:: atomic { c < CPUS && array[c] == 0 -> c++ }
	:: atomic { c < CPUS && array[c] != 0 -> m = array[c] };
	   atomic { array[c] = 0 };
	   wait_for(m);
	   atomic { m = 0; c++ }
	:: atomic { c == CPUS -> c = 0; break }
	od;
	atomic { opened = 1; taking-- };
#else
	skip;
#endif
}

/* flip_phase(): `flipped` says whether something waits now. */
inline flip() {
	collect();
	if
	:: atomic { !WAITS(phase) -> flipped = 0 }
	:: atomic { WAITS(phase) -> phase = OTHER(phase); flipped = 1 }
	fi
}

/* recycle(): not while a thread still adds to this phase */
inline recycle(which) {
	if
	:: atomic { users[which] != 0 && BUG != USERS_NOT_AWAITED -> left = 1 }
	:: atomic { users[which] == 0 || BUG == USERS_NOT_AWAITED -> left = 0 };
	   if
	   :: atomic { !stacked[which] -> skip }
	   :: atomic { stacked[which] -> stacked[which] = 0 };
	      atomic { linked[which] = 0 };
	      atomic { m = waiting[which]; waiting[which] = 0;
		CHECK((holds[0] & m) == 0 && (holds[READERS - 1] & m) == 0, handed_out_early);
		CHECK((free_objects & m) == 0, object_twice);
		free_objects = free_objects | m; freed = freed & ~m; due = due & ~m };
	      atomic { pending = pending - COUNT(m); m = 0 }
	   fi
	fi
}

inline synchronize() {
#if BUG != NO_GRACE_PERIOD
	atomic { driver_waits = reading };
	atomic { driver_waits == 0 -> skip };
#endif
#if BUG == RECYCLE_COLLECTING
	recycle(phase)
#else
	recycle(OTHER(phase))
#endif
}

/* grace_period(): waits for one grace period, after a flip if necessary. */
inline grace_period() {
#if BUG == FLIP_AFTER_BEGIN
	atomic { driver_waits = reading };
#endif
	if
	:: atomic { WAITS(OTHER(phase)) -> flipped = 1 }
	:: atomic { !WAITS(OTHER(phase)) -> skip };
	   flip()
	fi;
	if
	:: atomic { flipped == 0 -> skip }
	:: atomic { flipped != 0 -> flipped = 0 };
#if BUG == FLIP_AFTER_BEGIN
	   atomic { driver_waits == 0 -> skip };
	   recycle(OTHER(phase))
#else
	   synchronize()
#endif
	fi
}

#if defined(HELPER) || defined(BARRIER)
/* drive() of rcu_help(), and rcu_drain() of slab_rcu_barrier() */
active proctype Helper() {
	byte c = 0, m = 0, p = 0, flipped = 0, left = 0;

	do
#ifdef HELPER
	:: atomic { driving == 0 -> driving = 1 };
	   grace_period();
	   atomic { driving = 0; flipped = 0; left = 0; check() }
#endif
#ifdef BARRIER
	:: atomic { driving == 0 -> driving = 1; due = freed };
#if BUG != DRAIN_WITHOUT_FIRST_PERIOD
	   do
	   :: synchronize(); atomic { if :: left -> skip :: else -> break fi }
	   od;
#endif
	   collect();
#if BUG != DRAIN_WITHOUT_TAKING
	   atomic { taking == 0 -> skip };
#endif
	   flip();
	   do
	   :: atomic { flipped == 0 -> break }
	   :: atomic { flipped != 0 -> skip };
	      synchronize();
	      atomic { flipped = left }
	   od;
	   atomic { CHECK(due == 0, barrier_too_early); driving = 0; flipped = 0; left = 0; check() }
#endif
	od
}
#endif

/* callback(): `queued` is 1 until its grace period has ended, and 2 while it runs. */
active proctype Flavour() {
	byte c = 0, m = 0, p = 0, flipped = 0, left = 0;

CALLED:	atomic { queued == 1 && callback_waits == 0 -> queued = 2 };
#if BUG != CALLBACK_WITHOUT_DRIVING
	if
	:: atomic { driving == 0 -> driving = 1 }
#if BUG == CALLBACK_NOT_REPEATED
	:: atomic { driving != 0 -> queued = 0; armed = 0; check(); goto CALLED }
#else
	:: atomic { driving != 0 -> queued = 1; callback_waits = reading; goto CALLED }
#endif
	fi;
#endif
	recycle(OTHER(phase));
	if
	:: atomic { WAITS(OTHER(phase)) -> flipped = 1 }
	:: atomic { !WAITS(OTHER(phase)) -> skip };
	   flip()
	fi;
	if
	:: atomic { flipped != 0 -> flipped = 0; queued = 1; callback_waits = reading }
	:: atomic { flipped == 0 -> armed = 0; queued = 0 };    /* disarm() */
#if BUG != DISARM_UNCHECKED
	   atomic { section[0] = 0; section[1] = 0 };
	   if
	   :: atomic { NOTHING_WAITS -> skip }
	   :: atomic { !NOTHING_WAITS -> skip };
	      arm()
	   fi
#endif
	fi;
	atomic {
#if BUG != CALLBACK_WITHOUT_DRIVING
		driving = 0;
#endif
		left = 0; check(); goto CALLED }
}

/* ---------------- readers ---------------- */
proctype Reader(byte r) {
	do
	:: atomic { reading = reading | 1 << r };
	   if
	   :: atomic { published != 0 -> holds[r] = LOW(published) }
	   :: atomic { published & 2 -> holds[r] = 2 }
	   :: skip
	   fi;
	   atomic { holds[r] = 0; reading = reading & ~(1 << r);
		callback_waits = callback_waits & ~(1 << r); driver_waits = driver_waits & ~(1 << r) }
	od
}

init {
	atomic {
	byte k = 0;
	for (k : 0 .. READERS - 1) { run Reader(k) };
	for (k : 0 .. CPUS - 1) { run Thread(k) };
	k = 0
	}
}
