/* SPDX-License-Identifier: MIT */
/*
 * Programs of mixed lifetimes: allocations and frees in an order that is decided
 * before the clock starts.
 *
 * A step is a slot's number and whether to free the object there or allocate one into
 * it. The generator keeps only slot numbers and never sees an object, so every
 * contestant gets the same steps, and its memory is none of the allocator's.
 */
#pragma once

#include "posix.h"

/* Live objects stay within 1 % of BENCH_LIVE_OBJECTS where a coin decides; ages of
 * a Zipf distribution let their number wander a little further. */
#define PROGRAM_SLOTS (BENCH_LIVE_OBJECTS + BENCH_LIVE_OBJECTS / 20)
#define PROGRAM_BURST 1000u
#define PROGRAM_STEPS 100000u /* of a lap */
/* Run before the clock starts: generating steps has used the caches. */
#define PROGRAM_LEAD 4000u
#define PROGRAM_ALLOC 1u      /* step = slot << 1 | PROGRAM_ALLOC */

struct program;

/* A way to choose the next steps; adds at least one. */
typedef void (*program_mix)(struct program *program);

/*
 * program_open: no slot is used yet. Does not allocate from the allocator under
 * test, and its memory is resident when it returns.
 */
struct program *program_open(uint64_t seed);
void program_close(struct program *program);

/* A coin decides between freeing a random live object and allocating one. */
void program_random(struct program *program);
/* Free 1 to 1000 random objects, then allocate as many. */
void program_burst(struct program *program);
/* One allocation, then the frees that are due. An object lives for 2^e allocations, e
 * uniform (Zipf, exponent 1): half of all die within the next 1300. */
void program_zipf(struct program *program);

/* program_fill: allocate until BENCH_LIVE_OBJECTS are live. */
const uint32_t *program_fill(struct program *program, unsigned *n);
/* program_next: PROGRAM_LEAD + PROGRAM_STEPS steps, or a few more. */
const uint32_t *program_next(struct program *program, program_mix mix, unsigned *n);
