/* SPDX-License-Identifier: MIT */
/*
 * The data of a profile: lives of pblocks, and kinds of ended lives.
 *
 * A life is the use of one pblock from its beginning (new, clone or init) to its end: its
 * parameters, and how often each was read and set. When a life ends, it is added to its kind. A
 * kind is the sum of all lives that read and set the same parameters, however often. So memory
 * grows with the number of ways in which a program uses pblocks, not with time. Lives whose
 * beginning was not recorded have kinds of their own.
 *
 * Lives are in a table by the pblock's address, kinds in a table by a hash of the parameters.
 * Each table is divided into shards with a lock each. Threads use different pblocks, so they
 * rarely contend.
 *
 * Lock order: a shard of the living, then a shard of the ended. A thread holds both while it calls
 * libslab, whose reclaim callbacks may call the recorder again. A thread-local variable detects
 * that, and such a call is not recorded. A pblock that ends in such a callback counts as ended
 * when another one begins at its address, or when recording ends.
 */
#ifndef PBLOCK_LIVES_H
#define PBLOCK_LIVES_H

#include <slab/dirsrv/profile.h>
#include <stdbool.h>
#include <stdint.h>

#define USES 10  /* so that struct uses has 256 bytes */

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
	uint64_t pblocks; /* of a kind: the number of lives; of a life: 1 */
	struct uses *uses;
	bool whole; /* its beginning was recorded */
};

struct lives_counts {
	uint64_t alive; /* when recording ended */
	uint64_t dropped_pblocks, dropped_accesses;
};

/* lives_prepare: initialize the locks. Called once, before all other functions. */
void lives_prepare(void);

/* lives_open, lives_close: create and destroy the caches. false: no memory. */
bool lives_open(void);
void lives_close(void);

/* Record the beginning of a life, an access, and the end. Nothing begins and no access is recorded
 * unless pblock_recording has RECORD_LIVES, which is read under the lock. */
void lives_begin(const void *pblock);
void lives_access(const void *pblock, uint32_t parameter, bool set);
void lives_finish(const void *pblock);

/* Take and release all locks, for fork and for the end of recording. The caller of the functions
 * below holds them. */
void lives_lock(void);
void lives_unlock(void);

/* lives_finish_all: end all lives. Returns the totals. */
struct lives_counts lives_finish_all(void);

/* lives_each: visit every kind of ended lives, in no order. */
void lives_each(void (*visit)(const struct life *life, void *arg), void *arg);

/* lives_forget: drop all lives and kinds. */
void lives_forget(void);

#endif /* PBLOCK_LIVES_H */
