/* SPDX-License-Identifier: MIT */
/*
 * The recorded data: lives of pblocks, and kinds of ended lives.
 *
 * A life is the use of one pblock from its beginning (new, clone or init) to its end: the
 * parameters, and how often each was read and set. An ended life is added to its kind: the
 * lives that read and set the same parameters, however often. So memory grows with the ways
 * in which a program uses pblocks, not with time. A life whose beginning was not recorded is
 * kept in a separate kind.
 *
 * Lives are in a table by the pblock's address, kinds in a table by a hash of the parameters.
 * Each table is divided into shards with a lock each: threads use different pblocks, so they
 * rarely contend.
 *
 * Lock order: a shard of the living, a shard of the ended. Both are held over calls of
 * libslab, whose reclaim callbacks may call the recorder again: a thread-local variable
 * detects that, and such a call is not recorded. A pblock that ends there counts as ended when
 * another one begins at its address, or with the recording.
 */
#ifndef PBLOCK_LIVES_H
#define PBLOCK_LIVES_H

#include <slab/dirsrv/profile.h>
#include <stdbool.h>
#include <stdint.h>

#define USES 10  /* in a piece of memory of 256 bytes */

/* One parameter of a life, or of all lives of a kind. */
struct use {
	uint64_t gets, sets;
	uint32_t parameter;
};

struct uses {
	struct uses *next;
	uint32_t count;
	struct use of[USES];
};

struct life {
	struct life *next; /* of its bucket */
	uint64_t key;
	uint64_t pblocks; /* how many lives these are */
	struct uses *uses;
	bool whole; /* it was seen from the beginning */
};

struct lives_counts {
	uint64_t alive; /* when recording ended */
	uint64_t dropped_pblocks, dropped_accesses;
};

/* lives_prepare: the locks; once, before anything else. */
void lives_prepare(void);

/* lives_open, lives_close: the caches. False without memory. */
bool lives_open(void);
void lives_close(void);

/* The three events. They do nothing unless pblock_recording is set, read under the lock. */
void lives_begin(const void *pblock);
void lives_access(const void *pblock, uint32_t parameter, bool set);
void lives_finish(const void *pblock);

/* All locks, for fork and for the end of recording; the functions below need them. */
void lives_lock(void);
void lives_unlock(void);

/* lives_finish_all: end all lives. Returns the totals. */
struct lives_counts lives_finish_all(void);

/* lives_each: every kind of life that ended, in no order. */
void lives_each(void (*visit)(const struct life *life, void *arg), void *arg);

/* lives_forget: all of it. */
void lives_forget(void);

#endif /* PBLOCK_LIVES_H */
