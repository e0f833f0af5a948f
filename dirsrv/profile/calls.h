/* SPDX-License-Identifier: MIT */
/*
 * A trace of single calls, which pblock-replay(1) repeats.
 *
 * There are slots for a fixed number of calls. One counter assigns them, so that calls are
 * ordered across threads: a call that happens before another one has the lower number.
 * Calls that find no slot are only counted. A call is written to its slot under one of 64
 * locks, chosen by the pblock: a thread that holds all of them finds no call half written.
 *
 * Every trace can be replayed: it omits pblocks from before its beginning, and destroys those
 * that are alive at its end, or when it has no more slots.
 */
#ifndef PBLOCK_CALLS_H
#define PBLOCK_CALLS_H

#include <stdint.h>

#define CALLS_MAX 1000000 /* of 24 bytes */

enum call_verb { CALL_NEW, CALL_INIT, CALL_SET, CALL_GET, CALL_CLONE, CALL_DESTROY };

/* calls_prepare: the locks; once, before anything else. */
void calls_prepare(void);

/* calls_open, calls_close: the room. Returns 0 or -ENOMEM. */
int calls_open(void);
void calls_close(void);

/* calls_add: nothing happens unless pblock_recording has RECORD_CALLS, looked at under
 * the lock. `detail` is the parameter's number, or the clone. */
void calls_add(enum call_verb verb, const void *pblock, uintptr_t detail);

/* All locks; the functions below need them. */
void calls_lock(void);
void calls_unlock(void);

/* calls_write: the trace, under this name. Returns 0 or -errno. */
int calls_write(const char *file);

/* calls_forget: all of it. */
void calls_forget(void);

#endif /* PBLOCK_CALLS_H */
