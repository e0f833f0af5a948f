/* SPDX-License-Identifier: MIT */
/*
 * What recording knows: the lives of pblocks, and what ended ones have in common.
 *
 * A life is what was done with one pblock between two of its beginnings: which
 * parameters, and how often each was read and set. When it ends it is added to the lives
 * that read and set the same parameters, however often, so that memory grows with the
 * ways in which a program uses pblocks and not with how long it runs. A pblock whose
 * beginning was not seen is kept apart from those whose whole life is known.
 *
 * Both kinds of records stand in a table, under the pblock's address or a hash of the
 * parameters. A table is cut into shards with a lock each: threads have pblocks of
 * their own, and so they hardly ever meet.
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

/* One parameter of a life, or of all lives that are alike. */
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

/* The three events. Nothing happens unless pblock_recording, looked at under the lock. */
void lives_begin(const void *pblock);
void lives_access(const void *pblock, uint32_t parameter, bool set);
void lives_finish(const void *pblock);

/* All locks, for fork and for the end of recording; the functions below want them held. */
void lives_lock(void);
void lives_unlock(void);

/* lives_finish_all: those that are still alive end. Returns what was counted. */
struct lives_counts lives_finish_all(void);

/* lives_each: every kind of life that ended, in no order. */
void lives_each(void (*visit)(const struct life *life, void *arg), void *arg);

/* lives_forget: all of it. */
void lives_forget(void);

#endif /* PBLOCK_LIVES_H */
