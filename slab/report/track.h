/* SPDX-License-Identifier: MIT */
/*
 * Tracks: what the flag U records.
 *
 * A track is 16 bytes beside the object; the stack it names is stored once for
 * all objects in the depot, a hash table that only grows. Nothing here takes a
 * lock or calls malloc.
 */
#ifndef SLAB_REPORT_TRACK_H
#define SLAB_REPORT_TRACK_H

#include <assert.h>
#include <slab/debug.h>
#include <stddef.h>
#include <stdint.h>

#define TRACK_WHEN_BITS 40
#define TRACK_CPU_BITS 12
#define TRACK_NAME_BITS 12

struct track {
	uint32_t stack; /* depot id, 0: none */
	uint32_t tid;   /* 0: an empty track */
	uint64_t when : TRACK_WHEN_BITS; /* track_now() */
	uint64_t cpu : TRACK_CPU_BITS;   /* 4095: unknown, or a larger number */
	uint64_t name : TRACK_NAME_BITS; /* of the thread: interned, 0: none */
};

static_assert(sizeof(struct track) == 16, "two tracks for each object");

/* Milliseconds of the monotonic clock. */
uint64_t track_now(void);

/*
 * track_fill: the calling thread, here and now. `caller` is the return address
 * of the public function: frames inside of it are left out. Two calls of one
 * thread in the same place give the same stack id.
 */
void track_fill(struct track *track, const void *caller);

/* track_describe: for a report at this moment. An unknown CPU is -1. */
void track_describe(const struct track *track, struct slab_track *to);

/*
 * depot_save: the id of a stack, the same for equal ones; 0: the depot is full
 * or there are no frames. Lock-free. depot_load: its frames, valid for ever; 0
 * for an id that is none.
 */
uint32_t depot_save(const void *const *frames, unsigned n);
unsigned depot_load(uint32_t id, const void *const **ret_frames);
/* Bytes in use for stacks, and how many there are. */
size_t depot_bytes(void);
unsigned depot_count(void);

/* In the child of a fork: threads have other ids. */
void track_after_fork_child(void);

#endif /* SLAB_REPORT_TRACK_H */
