/* SPDX-License-Identifier: MIT */
/*
 * The arrays of one cache: pop, push, take, put, what is behind them, magazines, a thread that closes.
 *
 * Two threads allocate and free on two CPUs, and migrate at any time. A section is a step that reads all
 * and a step that commits, if no other section has begun on its CPU and no fence has ended it. What a thread
 * does under a shard's or a depot's lock is one step. Sets of objects are masks; an array has room for MOST.
 *
 * With FIRST_TO_SLABS the drain gives objects to their slabs before the array is empty, and nobody looks
 * whether an object is in two places: then only the comparison within a section prevents false reports.
 */
#define NO_FENCE 1                      /* mutants: -DBUG=NAME */
#define SLABS_BEFORE_COUNT 2
#define COMPARE_OUTSIDE 3               /* a mistake with FIRST_TO_SLABS only */
#define POP_POINTER_OUTSIDE 4
#define PUSH_POINTER_OUTSIDE 5
#define POP_READS_OUTSIDE 6
#define PUT_NOT_COUNTED 7
#define OPENED_BEFORE_DRAINED 8
#define MAGAZINE_SEEN_WITHOUT_LOCK 9
#define MAGAZINE_WITHOUT_LOCK 10
#define TAKE_READS_OUTSIDE 11
#define OPENED_FOR_OTHERS 12            /* a mistake with CLOSERS=2 */
#define MAGAZINES_WITHOUT_BUFFER 13     /* a mistake with CLOSERS=2 */
#ifndef BUG
#define BUG 0
#endif
#ifndef CLOSERS
#define CLOSERS 1
#endif
#ifndef PIN
#define PIN 0
#endif
#ifndef MOST
#define MOST 1
#endif
#ifndef OBJECTS
#define OBJECTS (MOST + 1)
#endif
#define ALL ((1 << OBJECTS) - 1)
#define LOW(m) ((m) & -(m))
#define CHECK(condition, name) assert((condition) || name)

bit object_lost, object_twice, false_double, held_while_closed, held_by_closer;

bit opened = 1;                           /* cache->arrays leads to the arrays, or to none */
byte closers;                           /* cache->closers */
bit buffer;                             /* flush_lock, while a closer has objects in the buffer */
bit locked;                             /* the depot's lock, while a thread puts objects there */
byte count[2], entry[2 * MOST], section[2];
byte in_slabs = ALL, magazine;          /* bits that are set; objects in the magazine */
byte in_use, busy = 2 + CLOSERS;        /* ghosts: objects of threads; threads inside an operation */

#define MAY_RUN(cpu) ((PIN >> t & 1) == 0 || cpu == t)
#define AT(i) entry[c * MOST + (i)]
#define NEWEST AT(count[c] - 1)
#define DROP if :: has_lock -> locked = 0; has_lock = 0 :: else fi
#define BEGIN section[c] = t + 1
#define IN (section[c] == t + 1)
#define END section[c] = 0
#if MOST == 1
#define ENTRIES(cpu) (count[cpu] > 0 -> entry[cpu] : 0)
#else
#define ENTRIES(cpu) ((count[cpu] > 0 -> entry[(cpu) * MOST] : 0) + (count[cpu] > 1 -> entry[(cpu) * MOST + 1] : 0))
#endif
/* Entries without an object matter only to a thread that reads them outside of a section. */
#if BUG == COMPARE_OUTSIDE
#define CLEAR(place)
#else
#define CLEAR(place) place = 0;
#endif
#ifdef FIRST_TO_SLABS
#define IN_ARRAYS 0
#else
#define IN_ARRAYS (ENTRIES(0) | ENTRIES(1))
#endif

inline check() {
	if
	:: busy == 0 ->
		CHECK((in_use | in_slabs | magazine | ENTRIES(0) | ENTRIES(1)) == ALL, object_lost);
		CHECK(in_use + in_slabs + magazine + ENTRIES(0) + ENTRIES(1) == ALL, object_twice)
	:: else
	fi
}

/* objects_put() */
inline flush(objects) {
	CHECK((in_slabs & (objects)) == 0, false_double);
	CHECK(((in_use | IN_ARRAYS | magazine) & (objects)) == 0, object_twice);
	in_slabs = in_slabs | (objects)
}

inline got(object) {
	CHECK((in_use & (object)) == 0 && (in_slabs & (object)) == 0, object_twice);
	has = has | (object); in_use = in_use | (object)
}

proctype Thread(byte t) {
	byte c = 0, n = 0, o = 0, m = 0, has = 0;
	bit has_lock = 0;

IDLE:	atomic { o = 0; m = 0; n = 0; busy--; check() };
	if
	:: atomic { MAY_RUN(0) -> busy++; c = 0; goto POP }
	:: atomic { MAY_RUN(1) -> busy++; c = 1; goto POP }
	:: atomic { has != 0 && MAY_RUN(0) -> c = 0; o = LOW(has) }
	:: atomic { has != 0 && MAY_RUN(1) -> c = 1; o = LOW(has) }
	:: atomic { has != LOW(has) && MAY_RUN(1) -> c = 1; o = has - LOW(has); o = LOW(o) }
	fi;
	atomic { busy++; has = has - o; in_use = in_use - o };

PUSH:
#if BUG == PUSH_POINTER_OUTSIDE
	if
	:: atomic { opened -> skip }
	:: atomic { !opened -> goto MISSED }
	fi;
#define PUSHES true
#else
#define PUSHES opened
#endif
	if
	:: atomic { PUSHES && count[c] > 0 && NEWEST == o -> CHECK(false, false_double) }
	:: atomic { PUSHES && count[c] < MOST && (count[c] == 0 || NEWEST != o) -> BEGIN; n = count[c] };
	   if
	   :: atomic { IN -> AT(n) = o; count[c] = n + 1; END; goto IDLE }
	   :: atomic { !IN -> goto PUSH }
	   fi
	:: atomic { !PUSHES || count[c] == MOST -> skip }
	fi;
MISSED:
#if BUG == COMPARE_OUTSIDE                      /* cache_free() looks itself */
	atomic { n = count[c] };
	atomic { CHECK(n == 0 || AT(n - 1) != o, false_double); n = 0 };
#endif
	if                                              /* magazine_put(), or else the slabs */
	:: atomic { magazine == 0 && !locked -> locked = 1; has_lock = 1 }
	:: atomic { magazine != 0 || locked -> skip }
	fi;
	if
	:: atomic { opened && count[c] == MOST -> n = count[c]; m = NEWEST;
#if BUG == TAKE_READS_OUTSIDE
	   };
	   atomic { if :: opened && count[c] == MOST -> skip :: else -> m = 0; DROP; goto PUSH fi;
#endif
		BEGIN };
	   if
	   :: atomic { IN -> count[c] = n - 1; CLEAR(AT(n - 1)) END }
	   :: atomic { !IN -> m = 0; DROP; goto PUSH }
	   fi;
	   atomic {
		if
		:: has_lock -> magazine = m
		:: else -> flush(m)
		fi;
		m = 0; DROP; goto PUSH }
	:: atomic { opened && count[c] < MOST -> DROP; goto PUSH }
	:: atomic { DROP; flush(o); goto IDLE }
	fi;

POP:
#if BUG == POP_POINTER_OUTSIDE
	if
	:: atomic { opened -> skip }
	:: atomic { !opened -> goto REFILL }
	fi;
#define POPS true
#else
#define POPS opened
#endif
	if
	:: atomic { POPS && count[c] > 0 -> n = count[c]; o = NEWEST;
#if BUG == POP_READS_OUTSIDE
	   };
	   atomic { if :: POPS && count[c] == n -> skip :: else -> goto IDLE fi;
#endif
		BEGIN };
	   if
	   :: atomic { IN -> count[c] = n - 1; CLEAR(AT(n - 1)) END; got(o); goto IDLE }
	   :: atomic { !IN -> goto IDLE }
	   fi
	:: atomic { !POPS || count[c] == 0 -> skip }
	fi;
#if BUG == PUT_NOT_COUNTED
#define PUT_FITS true
#define PUT_AT 0
#else
#define PUT_FITS count[c] < MOST
#define PUT_AT count[c]
#endif
REFILL:	/* cache_refill() */
	if
	:: atomic { magazine != 0 && !locked -> m = magazine;
#if BUG == MAGAZINE_WITHOUT_LOCK
	   };
	   atomic {
#endif
		magazine = 0 }
	:: atomic { (magazine == 0 || locked) && in_slabs != 0 -> m = LOW(in_slabs); in_slabs = in_slabs - m;
		if :: in_slabs != 0 -> o = LOW(in_slabs); in_slabs = in_slabs - o; m = m + o; o = 0 :: else fi }
	:: atomic { (magazine == 0 || locked) && in_slabs == 0 -> goto IDLE }
	fi;
	atomic { o = LOW(m); m = m - o; got(o); if :: m == 0 -> goto IDLE :: else fi };
	if
	:: atomic { opened && PUT_FITS -> n = PUT_AT; BEGIN };
	   if
	   :: atomic { IN -> AT(n) = m; count[c] = n + 1; END; goto IDLE }
	   :: atomic { !IN -> skip }
	   fi
	:: atomic { !opened || !(PUT_FITS) -> skip }
	fi;
	atomic { flush(m); goto IDLE }
}

/* close_drain_cpu() */
inline drain(cpu) {
	if
	:: atomic { count[cpu] == 0 -> skip }
	:: atomic { count[cpu] != 0 && !buffer -> buffer = 1; m = ENTRIES(cpu) };
#if BUG == SLABS_BEFORE_COUNT || defined(FIRST_TO_SLABS)
	   atomic { flush(m); m = 0 };
	   atomic { count[cpu] = 0; CLEAR(entry[cpu * MOST]) CLEAR(entry[cpu * MOST + MOST - 1]) buffer = 0 }
#else
	   atomic { count[cpu] = 0; CLEAR(entry[cpu * MOST]) CLEAR(entry[cpu * MOST + MOST - 1]) };
	   atomic { flush(m); m = 0; buffer = 0 }
#endif
	fi
}

#if BUG == MAGAZINES_WITHOUT_BUFFER
#define BUFFER_FREE true
#else
#define BUFFER_FREE !buffer
#endif

/* caches_drain() */
proctype Closer() {
	byte m = 0;

IDLE:	atomic { busy--; check() };
	atomic { busy++; closers++; opened = 0 };
#if BUG != NO_FENCE
	atomic { section[0] = 0 };
	atomic { section[1] = 0 };
#endif
	drain(0);
#if BUG == OPENED_BEFORE_DRAINED
	atomic { opened = 1 };
#endif
	drain(1);
	if
#if BUG == MAGAZINE_SEEN_WITHOUT_LOCK
	:: atomic { magazine == 0 -> skip }
#endif
	:: atomic { !locked && BUFFER_FREE -> m = magazine; magazine = 0; flush(m); m = 0 }
	fi;
#if BUG != OPENED_BEFORE_DRAINED
	atomic { CHECK(magazine == 0 && ENTRIES(0) == 0 && ENTRIES(1) == 0, held_while_closed) };
#endif
#if CLOSERS > 1
	atomic { CHECK(!buffer, held_by_closer) };
#endif
	atomic { closers--; opened = closers == 0 || BUG == OPENED_FOR_OTHERS; goto IDLE }
}

init {
	atomic { run Thread(0); run Thread(1); run Closer();
#if CLOSERS == 2
		run Closer()
#endif
	}
}
