/* SPDX-License-Identifier: MIT */
/*
 * A depot stores each stack once and gives it an id.
 *
 * It is a hash table that only grows. Records lie in chunks and never change once they are in
 * the table. So readers need no protection, and the table is consistent at any moment for a fork
 * or a signal handler. libslab has one depot, behind depot_save() of track.h; tests create
 * others.
 */
#pragma once

#include <stdint.h>

#define DEPOT_BUCKET_BITS 16
#define DEPOT_CHUNK_SHIFT 20 /* bytes of a chunk: 1 MiB */
#define DEPOT_CHUNKS_MAX 1024u

/* All zero: an empty depot. */
struct stack_depot {
	void *buckets; /* uint32_t: ids of the newest records, 0: none; NULL: not mapped yet */
	void *chunk[DEPOT_CHUNKS_MAX]; /* NULL: not mapped yet */
	uint32_t next;       /* id of the next record */
	uint32_t count;
	uint32_t chunks_max; /* 0: DEPOT_CHUNKS_MAX */
};

/* An id is the position of a record in units of this size. The frames follow the record. */
#define DEPOT_UNIT 8u     /* bytes */
#define DEPOT_COUNT_BITS 6 /* bits of a record's signature */

__extension__ struct stack_record { /* for C++: a flexible array member */
	uint32_t next;      /* id of the next record in the bucket */
	uint32_t signature; /* bits of the hash | number of frames */
	const void *frames[];
};

/* The depot of libslab. */
extern struct stack_depot depot_stacks;

/* Hash a stack. Return addresses differ in few bits; the hashes differ in all. */
uint64_t depot_hash(const void *const *frames, unsigned n);
/*
 * depot_add: the id of a stack of n (1 to SLAB_STACK_MAX) frames with this hash; different
 * stacks may have equal hashes. 0: the depot is full. Equal stacks get the same id, even if
 * several threads add them at once. errno keeps its value.
 */
uint32_t depot_add(struct stack_depot *depot, uint64_t hash, const void *const *frames, unsigned n);
/* depot_frames: the number of frames, and their address, which stays valid. 0: there is no such
 * record. */
unsigned depot_frames(const struct stack_depot *depot, uint32_t id, const void *const **ret_frames);
