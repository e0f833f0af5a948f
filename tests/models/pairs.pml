/* SPDX-License-Identifier: MIT */
/*
 * One array of the engine cmpxchg16b: cpu_cache/cmpxchg16b.c.
 *
 * Two threads act for one CPU: they push and take objects. A third closes the array and opens it again.
 * The head is {newest object, number of objects} {id, closed, settled}; entry i has object i and a tag. One
 * exchange compares and changes a head, or an entry. Ids are numbers, and no step begins when the id is
 * IDS. A new array has the id 0; `closed` with the id 0 means that a thread is about to open it.
 */
#define WITHOUT_ID 1                    /* mutants: -DBUG=NAME */
#define WITHOUT_TAG 2
#define HEAD_NOT_READ_AGAIN 3
#define ENTRY_BY_STORE 4
#define SETTLED_BY_PUSH 5
#define NOT_SETTLED_BY_POP 6            /* no mistake */
#define TAKE_BY_STORE 7
#define CLOSE_BY_STORE 8
#define CLOSED_UNCHECKED 9
#define NEW_UNCHECKED 10
#define ID_STARTS_AGAIN 11
#ifndef BUG
#define BUG 0
#endif
#ifndef IDS
#define IDS 8
#endif
#define OBJECTS 4
#define MOST 3
#define ALL ((1 << OBJECTS) - 1)
#define BIT(o) (1 << ((o) - 1))
#define CHECK(condition, name) assert((condition) || name)

bit object_lost, object_twice, held_while_closed;

bit opened = 1;                           /* the user's pointer leads to the array, or to none */
byte newest, count, id;                 /* the head */
bit closed, settled;
byte entry[MOST], tag[MOST];
byte free_objects;                      /* what the closing thread took: anybody may have it */
byte in_use = ALL;                      /* ghost: objects that threads have */
byte drained;                           /* ghost: the array must be empty */

/* After each exchange of the head: each object is in one place. */
inline check() {
	m = (count > 0 -> BIT(newest) : 0);
	if :: count > 1 -> CHECK((m & BIT(entry[0])) == 0, object_twice); m = m | BIT(entry[0]) :: else fi;
	if :: count > 2 -> CHECK((m & BIT(entry[1])) == 0, object_twice); m = m | BIT(entry[1]) :: else fi;
	CHECK(m + in_use + free_objects <= ALL && (m & in_use) == 0, object_twice);
	CHECK((m | in_use | free_objects) == ALL, object_lost);
	CHECK(count == 0 || !drained, held_while_closed);
	m = 0
}

inline read_head() {
	atomic { k = count; w = newest; i = id; f = closed; s = settled }
}

#define AS_READ (count == k && newest == w && closed == f && settled == s && (id == i || BUG == WITHOUT_ID))

inline forget() {
	k = 0; w = 0; i = 0; f = 0; s = 0; v = 0; g = 0; o = 0; p = 0
}

proctype Thread(byte has) {
	byte k = 0, w = 0, i = 0, v = 0, g = 0, o = 0, p = 0, m = 0;
	bit f = 0, s = 0;

IDLE:	atomic { forget() };
end:	if
	:: atomic { id < IDS && opened && has != 0 -> o = (has & 1 -> 1 : (has & 2 -> 2 : (has & 4 -> 3 : 4))); goto PUSH }
	:: atomic { id < IDS && opened -> skip }; goto TAKE
	:: atomic { free_objects != 0 -> has = has | free_objects; in_use = in_use | free_objects; free_objects = 0; goto IDLE }
	fi;

PUSH:	/* cas_push() */
	atomic { k = count; w = newest; i = id; f = closed; s = settled;
		if :: k == MOST || i >= IDS -> goto IDLE :: else fi };
	if
	:: atomic { i != 0 && (!f || BUG == CLOSED_UNCHECKED) -> skip }
	:: atomic { i != 0 && f && BUG != CLOSED_UNCHECKED -> goto IDLE }
	:: atomic { i == 0 -> if :: id == 0 -> closed = 1 :: else fi };         /* open_new() */
	   if
	   :: atomic { opened || BUG == NEW_UNCHECKED -> skip }
	   :: atomic { !opened && BUG != NEW_UNCHECKED -> goto IDLE }
	   fi;
	   atomic { if :: id == 0 && closed -> closed = 0; id = 1 :: else fi; goto PUSH }
	fi;
	if
	:: atomic { k == 0 || s -> skip }
	:: atomic { k > 0 && !s -> v = entry[k - 1]; g = tag[k - 1] };          /* settle() */
	   if
	   :: atomic { v == w && g == i -> skip }
	   :: atomic { v != w || g != i -> if :: id == i || BUG == HEAD_NOT_READ_AGAIN -> skip :: else -> goto PUSH fi };
	      atomic {
		if
		:: (entry[k - 1] == v && (tag[k - 1] == g || BUG == WITHOUT_TAG)) || BUG == ENTRY_BY_STORE ->
			entry[k - 1] = w; tag[k - 1] = i
		:: else -> goto PUSH
		fi }
	   fi
	fi;
	atomic {
		if
		:: AS_READ -> newest = o; count = k + 1; id++; settled = (BUG == SETTLED_BY_PUSH);
			has = has - BIT(o); in_use = in_use - BIT(o); check(); goto IDLE
		:: else -> v = 0; g = 0; goto PUSH
		fi };

TAKE:	/* cas_take(): one object or two */
	read_head();
	if
	:: atomic { k == 0 || i >= IDS -> goto IDLE }
	:: atomic { k > 0 && i < IDS -> o = BIT(w); p = 1 }
	:: atomic { k > 1 && i < IDS -> o = BIT(w); p = 2 };
	   atomic { if :: o == BIT(entry[k - 2]) || entry[k - 2] == 0 -> o = 0 :: else -> o = o | BIT(entry[k - 2]) fi }
	fi;
	if
	:: atomic { p < k -> v = entry[k - p - 1] }
	:: atomic { p == k -> v = 0 }
	fi;
	atomic {
		if
		:: AS_READ || BUG == TAKE_BY_STORE -> CHECK(o != 0 && (o & in_use) == 0, object_twice);
			newest = v; count = k - p; id++; settled = (p < k && BUG != NOT_SETTLED_BY_POP);
			has = has | o; in_use = in_use | o; check(); goto IDLE
		:: else -> forget(); goto TAKE
		fi }
}

active proctype Closer() {
	byte k = 0, w = 0, i = 0, v = 0, g = 0, o = 0, p = 0, m = 0;
	bit f = 0, s = 0;

IDLE:	atomic { forget() };
end:	atomic { id < IDS -> opened = 0 };
CLOSE:	read_head();                            /* cas_close() */
	if
	:: atomic { i == 0 && !f -> goto CLOSED }
	:: atomic { i != 0 || f -> o = (k > 0 -> BIT(w) : 0) }
	fi;
	if
	:: atomic { k > 1 -> o = o | BIT(entry[0]) }
	:: atomic { k <= 1 -> skip }
	fi;
	if
	:: atomic { k > 2 -> o = o | BIT(entry[1]) }
	:: atomic { k <= 2 -> skip }
	fi;
	atomic {
		if
		:: AS_READ || BUG == CLOSE_BY_STORE -> newest = 0; count = 0; settled = 0; closed = 1;
			id = (BUG == ID_STARTS_AGAIN -> 1 : id + 1);
			CHECK((o & in_use) == 0, object_twice); free_objects = free_objects | o; check()
		:: else -> forget(); goto CLOSE
		fi };
CLOSED:	atomic { drained = 1; check() };
	read_head();                            /* cas_open() */
	atomic { drained = 0;
		if :: f && AS_READ -> closed = 0; id++ :: else fi };
	atomic { opened = 1; goto IDLE }
}

init {
	atomic { run Thread(3); run Thread(12) }
}
