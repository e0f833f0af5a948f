/* SPDX-License-Identifier: MIT */
/*
 * Tracks: the records of the debug flag U (SLAB_STORE_USER).
 *
 * A track has 16 bytes per object. Its stack is in the depot, once for all objects that share
 * it. No function here takes a lock or calls malloc.
 */
#pragma once

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
	uint64_t when : TRACK_WHEN_BITS; /* track_now() at that time */
	uint64_t cpu : TRACK_CPU_BITS;   /* 4095: unknown, or a larger number */
	uint64_t name : TRACK_NAME_BITS; /* index of the thread's name; 0: none */
};

static_assert(sizeof(struct track) == 16, "two tracks for each object");

/* Milliseconds of the monotonic clock. */
uint64_t track_now(void);

/*
 * track_fill: record the calling thread, its stack and the time. `caller` is the return address
 * of the public function; the frames inside libslab are left out. Two calls of a thread at the
 * same place get the same stack id.
 */
void track_fill(struct track *track, const void *caller);

/* The names of threads, in two words each. TRACK_NAME_COMPLETE is set in the last byte of the
 * second, where a name has its zero. Tools read the table. NULL: there is no name yet. */
#define TRACK_NAMES 4096u
#define TRACK_NAME_COMPLETE (UINT64_C(1) << 63)
extern void *track_names __attribute__((visibility("hidden")));

/* track_describe: convert a track for a report. An unknown CPU is -1. */
void track_describe(const struct track *track, struct slab_track *to);

/*
 * depot_save: the id of a stack, the same for equal stacks. 0: the depot is full, or there are
 * no frames. Lock-free. depot_load: the frames of an id, which stay valid; returns 0 for an
 * invalid id.
 */
uint32_t depot_save(const void *const *frames, unsigned n);
unsigned depot_load(uint32_t id, const void *const **ret_frames);
/* Bytes in use for stacks, and the number of stacks. */
size_t depot_bytes(void);
unsigned depot_count(void);

/* In the child of a fork: forget the thread id, which has changed. */
void track_after_fork_child(void);
