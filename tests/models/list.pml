/* SPDX-License-Identifier: MIT */
/*
 * The freelist of one slab under the engine cmpxchg16b: cpu_cache/cmpxchg16b.c, cpu_cache/cpu_slab.c.
 * README.md has the steps, the functions that they stand for, and the mutants.
 *
 * Two threads act for the CPU that owns the slab: they allocate and free objects of user 0. A third
 * isolates the slab, and with USERS=2 gives it to user 1 and back. One exchange compares and changes the word
 * {first, count, owner} and the id. The id grows with each exchange and never comes back, so the model
 * has instead of it a bit per thread: whether the id has grown since the thread read it. Objects
 * are indices + 1.
 */
#define WITHOUT_ID 1                    /* mutants: -DBUG=NAME */
#define CURRENT_UNCHECKED 2
#define NOT_LINKED_AGAIN 3
#define POP_BY_STORE 4
#define LINK_AFTER_EXCHANGE 5
#define ID_KEPT 6                       /* no mistake */
#ifndef BUG
#define BUG 0
#endif
#ifndef USERS
#define USERS 2
#endif
#define THREADS 2
#define OBJECTS 3
#define ALL ((1 << OBJECTS) - 1)
#define BIT(object) (1 << ((object) - 1))
#define CHECK(condition, name) assert((condition) || name)

bit object_lost, object_twice, wrong_user;

byte first, count = OBJECTS;            /* the word */
bit owned;
byte links[OBJECTS + 1];
bit grown[THREADS];                     /* the id, as each thread sees it */
bit current;                            /* of user 0: has the CPU this slab? */
bit user;                               /* ghost: whose slab it is */
byte in_use;                            /* ghost: objects that threads have */

inline grow() {
	grown[0] = 1; grown[1] = 1
}

/* Each object is on the list once, or in use. */
inline check() {
	i = first; n = 0; left = count;
	do
	:: left == 0 || i == 0 -> break
	:: else -> CHECK((n & BIT(i)) == 0 && (in_use & BIT(i)) == 0, object_twice); n = n | BIT(i);
		i = links[i]; left--
	od;
	CHECK(left == 0 && (n | in_use) == ALL, object_lost);
	i = 0; n = 0; left = 0
}

#define IS_EXPECTED (first == seen && count == seen_count && owned && (!grown[_pid] || BUG == WITHOUT_ID))

active [THREADS] proctype Thread() {
	byte has = 0, object = 0;       /* objects of this thread; the one that it frees */
	byte seen = 0, seen_count = 0, link = 0, i = 0, n = 0, left = 0;

IDLE:	atomic { seen = 0; seen_count = 0; link = 0; object = 0; grown[_pid] = 0 };
	if
	:: atomic { current -> skip }; goto POP         /* cas_pop() */
	:: atomic { has & 1 -> object = 1 }; goto PUSH  /* cas_push_bulk() */
	:: atomic { has & 2 -> object = 2 }; goto PUSH
	:: atomic { has & 4 -> object = 3 }; goto PUSH
	fi;

POP:	atomic { grown[_pid] = 0 };                     /* list_read() */
	if
	:: atomic { owned && first != 0 -> seen = first; seen_count = count }
	:: atomic { !owned || first == 0 -> goto IDLE }
	fi;
	if
	:: atomic { current || BUG == CURRENT_UNCHECKED -> skip }
	:: atomic { !current && BUG != CURRENT_UNCHECKED -> goto IDLE }
	fi;
	atomic { link = (seen_count > 1 -> links[seen] : 0) };
	if
	:: atomic { IS_EXPECTED || BUG == POP_BY_STORE ->
		CHECK(user == 0, wrong_user); CHECK((in_use & BIT(seen)) == 0, object_twice);
		first = link; count = seen_count - 1; grow(); has = has | BIT(seen); in_use = in_use | BIT(seen);
		check(); goto IDLE }
	:: atomic { !IS_EXPECTED && BUG != POP_BY_STORE -> goto POP }
	fi;

PUSH:	atomic { grown[_pid] = 0 };
	if
	:: atomic { owned -> seen = first; seen_count = count }
	:: atomic { !owned -> goto IDLE }               /* CPU_MISS */
	fi;
	atomic { if :: BUG != LINK_AFTER_EXCHANGE && (BUG != NOT_LINKED_AGAIN || !link) -> links[object] = seen
		:: else fi; link = 1 };                 /* link_objects() */
	if
	:: atomic { IS_EXPECTED -> first = object; count = seen_count + 1; grow();
		has = has & ~BIT(object); in_use = in_use & ~BIT(object);
		if :: BUG != LINK_AFTER_EXCHANGE -> check() :: else fi };
	   atomic { if :: BUG == LINK_AFTER_EXCHANGE -> links[object] = seen :: else fi; goto IDLE }
	:: atomic { !IS_EXPECTED -> goto PUSH }
	fi
}

/* At the beginning and again later the slab is isolated. Its user may have changed, and the order of its
 * objects, before the CPU owns it again. */
active proctype Mover() {
	byte i = 0, n = 0, left = 0;

	first = 1;
	do
	:: if
	   :: atomic { in_use == 0 && USERS == 2 -> user = !user }   /* cpu_slab_init() of another user */
	   :: skip
	   fi;
	   if                                           /* cpu_slab_put(), cpu_slab_take() */
	   :: atomic { in_use == 0 -> first = 3; links[3] = 2; links[2] = 1; links[1] = 0 }
	   :: atomic { in_use == 0 -> first = 1; links[1] = 2; links[2] = 3; links[3] = 0 }
	   :: atomic { in_use != 0 -> skip }
	   fi;
	   atomic { if :: BUG != ID_KEPT -> grow() :: else fi };
	   atomic { owned = 1 };                        /* cpu_slab_set_owner() */
	   atomic { current = (user == 0 -> 1 : 0); check() };
	   atomic { current = 0 };                      /* cas_retire(), or its slot is taken */
	   atomic { owned = 0; grow() }                 /* cas_disown(), cas_revoke() */
	od
}
