/* SPDX-License-Identifier: MIT */
/*
 * A depot: each stack is stored once, and has a number.
 *
 * A hash table that only grows. Records lie one behind the other in chunks and
 * never change once they are in the table, so readers need no protection, and a
 * fork or a signal handler finds it whole at any moment. The library has one,
 * behind depot_save() of track.h; tests make others.
 */
#ifndef SLAB_REPORT_DEPOT_H
#define SLAB_REPORT_DEPOT_H

#include <stdint.h>

#define DEPOT_BUCKET_BITS 16
#define DEPOT_CHUNK_SHIFT 20 /* bytes of a chunk: 1 MiB */
#define DEPOT_CHUNKS_MAX 1024u

/* Zeroed, it is empty. */
struct depot {
	uint32_t bucket[1u << DEPOT_BUCKET_BITS]; /* id of the newest record, 0: none */
	char *chunk[DEPOT_CHUNKS_MAX];            /* NULL: not needed yet */
	uint32_t next;       /* id of the next record */
	uint32_t count;
	uint32_t chunks_max; /* 0: DEPOT_CHUNKS_MAX */
};

/* An id is the place of a record in units; a record has its frames behind it. */
#define DEPOT_UNIT 8u     /* bytes */
#define DEPOT_COUNT_BITS 5 /* of a record's signature */

__extension__ struct stack_record { /* for C++: an array without size at its end */
	uint32_t next;      /* id of the next one in the bucket */
	uint32_t signature; /* bits of the hash | number of frames */
	const void *frames[];
};

/* The library's. */
extern struct depot depot_stacks;

/* Return addresses differ in few bits; hashes of stacks differ in all. */
uint64_t depot_hash(const void *const *frames, unsigned n);
/*
 * depot_add: the id of a stack of n (1 to SLAB_STACK_MAX) frames whose hash this
 * is; equal hashes of different stacks do no harm. 0: the depot is full. The same
 * id for the same stack, also for threads that add it at once. errno is untouched.
 */
uint32_t depot_add(struct depot *depot, uint64_t hash, const void *const *frames, unsigned n);
/* depot_frames: how many (0: no such record), and where they are for ever. */
unsigned depot_frames(const struct depot *depot, uint32_t id, const void *const **ret_frames);

#endif /* SLAB_REPORT_DEPOT_H */
