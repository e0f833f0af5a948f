/* SPDX-License-Identifier: MIT */
/*
 * Frees after a grace period: slab/rcu, with several readers. README.md has the steps, the
 * functions that they stand for, and the mistakes.
 *
 * A thread on each of CPUS CPUs allocates objects, publishes them, unlinks them and frees them with
 * slab_free_rcu(). READERS readers enter a section, look at a published object, and leave. One
 * process is the flavour's thread, which runs the callback of call_rcu(). With HELPER another thread
 * drives grace periods; with BARRIER it calls slab_rcu_barrier(). Sets of objects are masks.
 *
 *  - A grace period has a mask of the readers that were in a section when it began. A reader that
 *    leaves clears its bit in all masks. The grace period ends when its mask is 0.
 *  - With LIFO each CPU has a LIFO of 1 or 2 objects; a free that finds it full passes them on. A section
 *    is one step that reads and one that commits, as in ownership.pml; the threads do not migrate.
 *    Without LIFO all frees add their object to the phase, as those do that find no CPU.
 *  - add() gives up after 8 tries and adds its object to the phase directly: here at any time.
 *  - The code compares rcu->armed_phase with rcu->phase. `same` says whether both are equal: queueing
 *    the callback sets it, a flip clears it. So the model needs no counter that grows.
 *  - Fork, destruction and type-safe slabs are left out. A slab takes the steps of one object that
 *    is added to the phase directly.
 */
#define NO_GRACE_PERIOD 1               /* mutants: -DBUG=NAME */
#define FLIP_AFTER_BEGIN 2
#define PHASE_BEFORE_UNLINK 3
#define CALLBACK_WITHOUT_DRIVING 4
#define ARMED_PHASE_IGNORED 5           /* no mistake */
#define RECYCLE_COLLECTING 6
#define RECYCLE_IN_TWO_STEPS 7
#define DISARM_UNCHECKED 8
#define ARM_BEFORE_PUSH 9
#define CALLBACK_NOT_REPEATED 10
#define COLLECT_WITHOUT_FENCE_1 11      /* no mistake */
#define COLLECT_WITHOUT_FENCE_2 12
#define COLLECT_LIMIT_KEPT 13
#define OPEN_WITHOUT_CLOSED 14
#define TAKE_WITHOUT_CLOSED 15
#define FLIP_WITHOUT_COLLECT 16
#define DRAIN_WITHOUT_FIRST_PERIOD 17
#define DRAIN_WITHOUT_TAKING 18
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

bit handed_out_early, object_lost, object_twice, never_recycled, barrier_too_early;

/* Where an object is: free, allocated by a thread (local), published, in a LIFO, in a phase. */
byte free_objects = ALL, published, lifo[2], waiting[2];
byte limit[2], closed[2], section[2];
byte phase, armed, same, driving, taking;
byte busy = CPUS;        /* threads inside an operation */
byte due;                /* ghost: objects that slab_rcu_barrier() must wait for */
byte freed;              /* ghost: objects whose slab_free_rcu() has returned, and not recycled */
byte holds[READERS], reading;
byte queued, callback_waits, driver_waits;     /* the grace periods' masks of readers */

#define BEGIN section[c] = t + 1
#define END section[c] = 0
#define OTHER(p) (1 - (p))
#define NOTHING_WAITS (waiting[0] == 0 && waiting[1] == 0 && lifo[0] == 0 && lifo[1] == 0)

/* No thread is inside an operation and no driver works: something will recycle what waits. */
inline check() {
	if
	:: busy == 0 && driving == 0 && queued != 2 ->
		CHECK(NOTHING_WAITS || queued == 1, never_recycled);
		CHECK((free_objects | published | lifo[0] | lifo[1] | waiting[0] | waiting[1]) == ALL, object_lost);
		CHECK((free_objects + published + lifo[0] + lifo[1] + waiting[0] + waiting[1]) == ALL, object_twice)
	:: else
	fi
}

/* rcu_wait_for(): the objects join the phase that collects. */
inline wait_for(objects) {
#if BUG == PHASE_BEFORE_UNLINK
	skip;
#else
	atomic { p = phase };
#endif
	atomic { CHECK((waiting[p] & objects) == 0, object_twice); waiting[p] = waiting[p] | objects; p = 0 }
}

/* rcu_arm(), rcu_call() */
inline arm() {
	if
	:: atomic { armed != 0 -> skip }
	:: atomic { armed == 0 -> armed = 1; same = 1 };
	   atomic { queued = 1; callback_waits = reading }
	fi
}

/* ---------------- slab_free_rcu() ---------------- */
proctype Thread(byte t) {
	byte b = 0, m = 0, p = 0;
	byte c = t;

IDLE:	atomic { b = 0; m = 0; p = 0; busy--; check() };
	if
	:: atomic { free_objects != 0 -> busy++; b = LOW(free_objects); free_objects = free_objects - b;
		published = published | b; goto IDLE }
	:: atomic { published != 0 -> busy++; b = LOW(published);
#if BUG == PHASE_BEFORE_UNLINK
		p = phase };
	   atomic {
#endif
		published = published - b }
	fi;
#if BUG == ARM_BEFORE_PUSH
	arm();
#endif
PUSH:
#ifdef LIFO
	if                                              /* rseq_push(): reads the limit, not closed */
	:: atomic { limit[c] != 0 && COUNT(lifo[c]) < LIFO -> BEGIN; m = lifo[c] };
	   atomic { lifo[c] = m | b; m = 0; END; goto PUSHED }
	:: atomic { limit[c] == 0 || COUNT(lifo[c]) == LIFO -> skip }
	:: wait_for(b); goto PUSHED
	fi;
	if
	:: atomic { limit[c] == 0 && (closed[c] == 0 || BUG == OPEN_WITHOUT_CLOSED) -> BEGIN };    /* open_lifo() */
	   atomic { limit[c] = 1; END; goto PUSH }
	:: atomic { limit[c] == 0 && closed[c] != 0 -> skip }
	:: atomic { limit[c] != 0 -> skip }
	fi;
	/* pass_on() */
	atomic { taking++ };
	if
	:: atomic { COUNT(lifo[c]) == LIFO && (closed[c] == 0 || BUG == TAKE_WITHOUT_CLOSED) -> BEGIN; m = lifo[c] };
	   atomic { lifo[c] = 0; END };
	   wait_for(m)
	:: atomic { COUNT(lifo[c]) < LIFO || closed[c] != 0 -> skip }
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
	atomic { freed = freed | (b & (lifo[0] | lifo[1] | waiting[0] | waiting[1])) };
#endif
	goto IDLE
}

/* ---------------- the driver ---------------- */
inline fence() {
	atomic { section[0] == 0 -> skip }
#if CPUS > 1
	; atomic { section[1] == 0 -> skip }
#endif
}

/* rcu_collect() */
inline collect() {
#if defined(LIFO) && BUG != FLIP_WITHOUT_COLLECT
	atomic { taking++ };
	if
	:: atomic { lifo[0] != 0 -> closed[0] = 1 }
	:: atomic { lifo[0] == 0 -> skip }
	fi;
#if CPUS > 1
	if
	:: atomic { lifo[1] != 0 -> closed[1] = 1 }
	:: atomic { lifo[1] == 0 -> skip }
	fi;
#endif
#if BUG != COLLECT_WITHOUT_FENCE_1
	fence();
#endif
#if BUG != COLLECT_LIMIT_KEPT
	atomic { if :: closed[0] -> limit[0] = 0 :: else fi };
#if CPUS > 1
	atomic { if :: closed[1] -> limit[1] = 0 :: else fi };
#endif
#endif
#if BUG != COLLECT_WITHOUT_FENCE_2
	fence();
#endif
	atomic { c = 0 };
	do
	:: atomic { c < CPUS && (closed[c] == 0 || lifo[c] == 0) -> c++ }
	:: atomic { c < CPUS && closed[c] != 0 && lifo[c] != 0 -> m = lifo[c] };
	   atomic { lifo[c] = 0 };
	   wait_for(m);
	   atomic { m = 0; c++ }
	:: atomic { c == CPUS -> c = 0; break }
	od;
#if CPUS > 1
	atomic { closed[1] = 0 };
#endif
	atomic { closed[0] = 0; taking-- };
#else
	skip;
#endif
}

/* flip_phase(): `flipped` says whether something waits now. */
inline flip() {
	collect();
	if
	:: atomic { waiting[phase] == 0 -> flipped = 0 }
	:: atomic { waiting[phase] != 0 -> phase = OTHER(phase); same = 0; flipped = 1 }
	fi
}

inline recycle(which) {
#if BUG == RECYCLE_IN_TWO_STEPS
	atomic { m = waiting[which] };
	atomic { waiting[which] = 0;
#else
	atomic { m = waiting[which]; waiting[which] = 0;
#endif
		CHECK((holds[0] & m) == 0 && (holds[READERS - 1] & m) == 0, handed_out_early);
		CHECK((free_objects & m) == 0, object_twice);
		free_objects = free_objects | m; freed = freed & ~m; due = due & ~m; m = 0 }
}

/* synchronize() */
inline synchronize() {
#if BUG != NO_GRACE_PERIOD
	atomic { driver_waits = reading };
	atomic { driver_waits == 0 -> skip };
#endif
#if BUG == RECYCLE_COLLECTING
	recycle(phase);
#else
	recycle(OTHER(phase));
#endif
}

/* grace_period(): waits for one grace period, after a flip if necessary. */
inline grace_period() {
#if BUG == FLIP_AFTER_BEGIN
	atomic { driver_waits = reading };
#endif
	if
	:: atomic { waiting[OTHER(phase)] != 0 -> flipped = 1 }
	:: atomic { waiting[OTHER(phase)] == 0 -> skip };
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
	byte c = 0, m = 0, p = 0, flipped = 0;
	byte t = 2;

	do
#ifdef HELPER
	:: atomic { driving == 0 -> driving = 1 };
	   grace_period();
	   atomic { driving = 0; flipped = 0; check() }
#endif
#ifdef BARRIER
	:: atomic { driving == 0 -> driving = 1; due = freed };
#if BUG != DRAIN_WITHOUT_FIRST_PERIOD
	   synchronize();
#endif
	   collect();
#if BUG != DRAIN_WITHOUT_TAKING
	   atomic { taking == 0 -> skip };
#endif
	   flip();
	   if
	   :: atomic { flipped == 0 -> skip }
	   :: atomic { flipped != 0 -> skip };
	      synchronize()
	   fi;
	   atomic { CHECK(due == 0, barrier_too_early); driving = 0; flipped = 0; check() }
#endif
	od
}
#endif

/* callback(): `queued` is 1 until its grace period has ended, and 2 while it runs. */
active proctype Flavour() {
	byte c = 0, m = 0, p = 0, flipped = 0;
	byte t = 3;

CALLED:	atomic { queued == 1 && callback_waits == 0 -> queued = 2 };
#if BUG != CALLBACK_WITHOUT_DRIVING
	if
	:: atomic { driving == 0 -> driving = 1 }
#if BUG == CALLBACK_NOT_REPEATED
	:: atomic { driving != 0 -> queued = 0; armed = 0; check(); goto CALLED }
#else
	:: atomic { driving != 0 -> same = 1; queued = 1; callback_waits = reading; goto CALLED }
#endif
	fi;
#endif
	if
	:: atomic { same != 0 || BUG == ARMED_PHASE_IGNORED -> skip };
	   recycle(OTHER(phase))
	:: atomic { same == 0 && BUG != ARMED_PHASE_IGNORED -> skip }
	fi;
	if
	:: atomic { waiting[OTHER(phase)] != 0 -> flipped = 1 }
	:: atomic { waiting[OTHER(phase)] == 0 -> skip };
	   flip()
	fi;
	if
	:: atomic { flipped != 0 -> flipped = 0; same = 1; queued = 1; callback_waits = reading }
	:: atomic { flipped == 0 -> armed = 0; queued = 0 };
#if BUG != DISARM_UNCHECKED
	   fence();
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
		check(); goto CALLED }
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
	run Thread(0);
#if CPUS > 1
	run Thread(1);
#endif
	k = 0
	}
}
