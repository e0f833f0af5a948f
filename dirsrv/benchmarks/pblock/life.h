/* SPDX-License-Identifier: MIT */
/* The parts of pblock_life: life.c measures lives, blocks.c measures blocks of memory, main.c prints the results. */
#ifndef PBLOCK_LIFE_H
#define PBLOCK_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "model.h"

#define CONTESTANTS 5
#define LAYOUTS 3 /* memory layouts: those of the first contestants; libslab's is the first */
#define WORKLOADS 4
#define MAX_ROUNDS 1000
#define CACHE_LINE 64

static inline double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

extern const struct contestant *const contestants[CONTESTANTS];

/* The memory of pblocks at the end of their lives. */
struct weight {
	unsigned pieces, bytes;
	unsigned lines; /* cache lines of the pieces: calloc() writes to all of them */
	unsigned filled; /* those of them with a byte that is not zero */
};

/* weigh: add the memory of pb. */
void weigh(const struct contestant *contestant, Slapi_PBlock *pb, struct weight *weight);

/* The results of one contestant with one workload. */
struct result {
	const char *contestant, *workload;
	double weight; /* share of all pblocks of ns-slapd */
	struct weight weight_at_end;
	double ns[MAX_ROUNDS]; /* of one life … */
	double access_ns[MAX_ROUNDS]; /* … and of its gets and sets alone */
};

void measure_lives(unsigned rounds, struct result results[CONTESTANTS][WORKLOADS]);

/* --- blocks --------------------------------------------------------------------- */

#define BLOCK_ALLOCATORS 3
#define BLOCK_RESULTS (BLOCK_ALLOCATORS * 4)
#define MAX_BLOCK_ROUNDS 50

/* A million blocks from one allocator. */
struct block_result {
	const char *allocator; /* "calloc", "slab_zalloc", "constructed" */
	const char *order; /* "pairs": each is freed before the next; "all": after all */
	unsigned size;
	double ms[MAX_BLOCK_ROUNDS]; /* of process CPU time */
	uint64_t faults[MAX_BLOCK_ROUNDS]; /* minor page faults */
};

/* Each allocator and order runs in a process of its own, so that none reuses memory that
 * another one freed. Returns 0; -1: no memory. */
int measure_blocks(unsigned rounds, struct block_result results[BLOCK_RESULTS]);

#endif /* PBLOCK_LIFE_H */
