/* SPDX-License-Identifier: MIT */
/*
 * Slabs and shards: objects taken from a slab and put back, a slab that moves to another shard, is taken off
 * the lists, or is released and used by another cache. README.md has the steps, the functions that they
 * stand for, and the mutants.
 *
 * One slab of two objects, two shards with a lock each. Thread t allocates from shard t and frees
 * everywhere. With TWICE it also frees an object a second time, which the library must find if nobody has
 * got the object meanwhile. What is changed under a lock is read in one step and written in another, so
 * that a second thread there shows.
 */
#define SHARD_NOT_READ_AGAIN 1          /* mutants: -DBUG=NAME */
#define MOVED_WITH_OLD_LOCK 2
#define MOVED_WITH_NEW_LOCK 3
#define LOCKS_BY_TURN 4
#define RELEASED_WITH_SHARD 5
#define EMPTY_BEFORE_LOCK 6
#define OFF_IS_LISTED 7
#define MAP_BEFORE_LOCK 8
#define PUT_ON_BY_OLD_MAP 9
#define FULL_NOT_LISTED 10
#ifndef BUG
#define BUG 0
#endif
#define ALL 3
#define LOW(m) ((m) & -(m))
#define CHECK(condition, name) assert((condition) || name)

bit object_lost, object_twice, false_double, double_missed, released_in_use, misplaced, foreign_damaged;

#define NONE 2                          /* slab->shard: no shard; one of another cache */
#define FOREIGN 3
#define EMPTY 0                         /* slab->bucket */
#define PARTIAL 1
#define FULL 2
#define OFF 3
byte shard = NONE, bucket = OFF, map = ALL, lock[2];
bit released = 1;
byte in_use, busy = 3;                  /* ghosts: objects of threads; threads inside an operation */

#define BUCKET_OF(m) ((m) == ALL -> EMPTY : ((m) == 0 -> FULL : PARTIAL))
#define HAS_FREE(s) (shard == (s) && (bucket == PARTIAL || bucket == EMPTY))
#define LOCK(s) atomic { lock[s] == 0 -> lock[s] = t + 1 }
#define UNLOCK(s) lock[s] = 0

inline check() {
	if
	:: busy == 0 ->
		CHECK(shard == NONE || shard == FOREIGN || in_use + map == ALL, object_lost);
		CHECK(shard == NONE || shard == FOREIGN || bucket == BUCKET_OF(map), misplaced)
	:: else
	fi
}

/* shard_lock_of() */
inline lock_of(where) {
	do
	:: atomic { where = shard; if :: where >= NONE -> break :: else fi };
	   LOCK(where);
	   atomic { if :: shard == where || BUG == SHARD_NOT_READ_AGAIN -> break :: else -> UNLOCK(where) fi }
	od
}

inline put_on() {
	atomic { m = map };
	atomic { bucket = BUCKET_OF(m); m = 0 };
	atomic { CHECK(bucket == BUCKET_OF(map), misplaced) }
}

proctype Thread(byte t) {
	byte o = 0, m = 0, s = 0, has = 0, old = 0;

IDLE:	atomic { o = 0; m = 0; s = 0; busy--; check() };
	if
	:: atomic { busy++; goto TAKE }
	:: atomic { has != 0 -> busy++; o = LOW(has); has = has - o; goto PUT }
#ifdef TWICE
	:: atomic { old != 0 && (in_use & old) == 0 -> busy++; o = old; goto AGAIN }
#endif
	fi;

TAKE:	LOCK(t);                                /* objects_take() */
	if
	:: atomic { HAS_FREE(t) -> m = map };
	   atomic { o = LOW(m); CHECK(o != 0, misplaced); CHECK((in_use & o) == 0, object_twice); CHECK(!released, released_in_use);
		map = m - o; in_use = in_use | o; bucket = BUCKET_OF(map); old = 0 };
	   atomic { UNLOCK(t); has = has | o; goto IDLE }
	:: atomic { !HAS_FREE(t) -> UNLOCK(t) }
	fi;
	/* from_other_shards() */
#if BUG == LOCKS_BY_TURN
	LOCK(1 - t);
	LOCK(t);
#elif BUG == MOVED_WITH_OLD_LOCK
	LOCK(1 - t);
#elif BUG == MOVED_WITH_NEW_LOCK
	LOCK(t);
#else
	LOCK(0);
	LOCK(1);
#endif
	if
	:: atomic { HAS_FREE(1 - t) -> bucket = OFF };
	   atomic { shard = t };
	   put_on();
	   atomic { if :: BUG != MOVED_WITH_NEW_LOCK -> UNLOCK(1 - t) :: else fi;
		if :: BUG != MOVED_WITH_OLD_LOCK -> UNLOCK(t) :: else fi; goto TAKE }
	:: atomic { !HAS_FREE(1 - t) -> if :: BUG != MOVED_WITH_NEW_LOCK -> UNLOCK(1 - t) :: else fi;
		if :: BUG != MOVED_WITH_OLD_LOCK -> UNLOCK(t) :: else fi }
	fi;
	if                                      /* from_pages() */
	:: atomic { released && shard != FOREIGN -> released = 0; map = ALL; bucket = OFF };
	   LOCK(t);
	   atomic { shard = t };
	   put_on();
	   atomic { UNLOCK(t); goto TAKE }
	:: atomic { !released || shard == FOREIGN -> goto IDLE }
	fi;

PUT:	/* objects_put() */
#if BUG == MAP_BEFORE_LOCK
	atomic { m = map };
#endif
	lock_of(s);
	atomic { CHECK(s < NONE, false_double);
#if BUG != MAP_BEFORE_LOCK
		m = map;
#endif
		CHECK(BUG == MAP_BEFORE_LOCK || (m & o) == 0, false_double) };
	atomic { map = m | o; in_use = in_use - o; old = o;
		if
		:: bucket == OFF && BUG != OFF_IS_LISTED -> skip
		:: bucket == FULL && BUG == FULL_NOT_LISTED -> skip
		:: else -> bucket = BUCKET_OF(map)
		fi;
		UNLOCK(s); goto IDLE };

#ifdef TWICE
AGAIN:	lock_of(s);
	atomic {
		CHECK(s >= NONE || shard != FOREIGN, foreign_damaged);
		CHECK(s >= NONE || (map & o) || (in_use & o), double_missed);
		if :: s < NONE -> UNLOCK(s) :: else fi;
		old = 0; goto IDLE }
#endif
}

/* shard_release(), and purge_begin() to purge_end() */
active proctype Walker() {
	byte s = 0, m = 0, t = 2;

IDLE:	atomic { s = 0; m = 0; busy--; check() };
	if
	:: atomic { busy++; s = 0; goto RELEASE }
	:: atomic { busy++; s = 1; goto RELEASE }
	:: atomic { shard < NONE -> busy++; goto WORK }
	:: atomic { shard == NONE && released -> busy++; shard = FOREIGN; goto IDLE }
	:: atomic { shard == FOREIGN -> busy++; shard = NONE; goto IDLE }
	fi;

RELEASE:
#if BUG == EMPTY_BEFORE_LOCK
	if
	:: atomic { shard == s && bucket == EMPTY -> skip }
	:: atomic { shard != s || bucket != EMPTY -> goto IDLE }
	fi;
#endif
	LOCK(s);
	if
	:: atomic { shard == s && (bucket == EMPTY || BUG == EMPTY_BEFORE_LOCK) -> bucket = OFF };
#if BUG != RELEASED_WITH_SHARD
	   atomic { shard = NONE };
#endif
	   atomic { UNLOCK(s) };
	   atomic { CHECK(in_use == 0, released_in_use); released = 1;
#if BUG == RELEASED_WITH_SHARD
		shard = FOREIGN;
#endif
		goto IDLE }
	:: atomic { shard != s || bucket != EMPTY -> UNLOCK(s); goto IDLE }
	fi;

WORK:	lock_of(s);
	if
	:: atomic { s < NONE && (bucket == PARTIAL || bucket == EMPTY) -> bucket = OFF; UNLOCK(s) }
	:: atomic { s < NONE && bucket != PARTIAL && bucket != EMPTY -> UNLOCK(s); goto IDLE }
	:: atomic { s >= NONE -> goto IDLE }
	fi;
#if BUG == PUT_ON_BY_OLD_MAP
	atomic { m = map };
#endif
	atomic { CHECK(bucket == OFF && !released, misplaced) };
	lock_of(s);
#if BUG == PUT_ON_BY_OLD_MAP
	atomic { bucket = BUCKET_OF(m) };
#else
	put_on();
#endif
	atomic { UNLOCK(s); goto IDLE }
}

init {
	atomic { run Thread(0); run Thread(1) }
}
