/* SPDX-License-Identifier: MIT */
/* ownership.pml: options, and deliberate mistakes: -DBUG=NAME */
#define RSEQ_POP_WITHOUT_LIMIT 1          /* deliberate mistakes: -DBUG=NAME */
#define RSEQ_PUSH_WITHOUT_LIMIT 2
#define OPEN_WITHOUT_CLOSED 3
#define OPEN_OUTSIDE 4
#define LIFO_POP_WITHOUT_CLOSED 5
#define LIFO_POP_READS_OUTSIDE 6
#define LIFO_TAKEN_EARLY 7
#define LIMIT_KEPT 8
#define LIMIT_BEFORE_FENCE_1 9
#define LIMIT_AFTER_FENCE_2 10
#define LIMIT_RAISED 11                   /* a mistake with WEAK only */
#define OPENED_BEFORE_COUNT 12
#define FILL_WITHOUT_CLOSED 13
#define FILL_NOT_COUNTED 14
#define BULK_WITHOUT_CURRENT 15
#define BULK_READS_OUTSIDE 16
#define WEAK_LIFO_POP 17
#define WEAK_FILL 18                      /* a mistake with LIFO=2 only */
#define NO_FENCE_1 20
#define NO_FENCE_2 21
#define NO_FENCE_3 22
#define DISOWN_FIRST 23
#define DISOWN_UNCHECKED 24
#define DISOWN_OUTSIDE 25
#define HANDED_OFF_POP 26
#define LIST_HERE 27
#define LIST_BEFORE_OWNER 28
#define OWNER_BEFORE_OBJECTS 29
#define CLAIM_IN_TWO_STEPS 30
#define WEAK_PUSH 31
#define MAGAZINE_PUT_WITHOUT_CLOSED 40
#define MAGAZINE_GET_WITHOUT_CLOSED 41
#define MAGAZINE_GET_NOT_EMPTY 42
#define MAGAZINE_PUT_COUNTED_LATE 43
#define MAGAZINE_GET_COUNTED_LATE 44
#define MAGAZINE_PUT_READS_OUTSIDE 45
#define MAGAZINE_GET_READS_OUTSIDE 46
#define MAGAZINE_TAKEN_WITHOUT_LOCK 47
#define WEAK_MAGAZINE_PUT 48
#define TAKE_WITHOUT_CLOSED 50
#define TAKE_READS_OUTSIDE 51
#define NODE_FULL_UNCHECKED 52
#define TRIM_DISOWN_OUTSIDE 53            /* no mistake */
#define TRIM_UNCHECKED 54
#ifndef BUG
#define BUG 0
#endif
#ifndef NT
#define NT 2
#endif
#ifndef NS
#define NS 1
#endif
#ifndef REVOKE
#define REVOKE 0
#endif
#ifndef PIN
#define PIN 0
#endif
#ifndef REACH
#define REACH 0
#endif
#define CHECK(condition, name) assert((condition) || name)
#define REACHED(n) CHECK(REACH != (n), place_reached)
#define NONE 2           /* no CPU */
#ifndef OBJECTS_2
#define OBJECTS_2 3
#endif
#define ALL(i) ((i) == 2 -> OBJECTS_2 : 3)        /* masks of objects */
