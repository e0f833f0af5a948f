/* SPDX-License-Identifier: MIT */
/*
 * The interface between the files of the malloc benchmark.
 *
 * The program calls malloc(), calloc(), realloc() and free(), whose place LD_PRELOAD takes. Its
 * own tables are in shared mappings that are resident before the measurement (bench_map()), so
 * that the faults and the anonymous memory of a case belong to the allocator and to what the
 * case allocates. The work of a case is fixed: contestants differ in time, not in operations.
 */
#pragma once

#include "process.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

struct bench_case {
	const char *name;
	void (*prepare)(void); /* tables; may be NULL */
	void (*run)(void);     /* what is measured; frees all that it allocates */
	bool outside;        /* starts programs, and says itself what they cost */
};

extern const struct bench_case churn_cases[], sharing_cases[], directory_cases[], grow_cases[],
	large_cases[], program_cases[];

/* bench_work: n operations, or --percent of them (bench_percent), at least 1. */
extern unsigned bench_percent;
size_t bench_work(size_t n);
/* bench_malloc: never NULL, its first and its last byte written. bench_check: not NULL. */
void *bench_malloc(size_t size);
void *bench_check(void *ptr, size_t size);
/* bench_team: run work(0) to work(n - 1), each in a thread, and wait for them. */
void bench_team(unsigned n, void (*work)(unsigned self));
/* bench_thread: start a detached thread. */
void bench_thread(void *(*work)(void *), void *arg);

static inline uint64_t bench_seed(unsigned self)
{
	return UINT64_C(0x9e3779b97f4a7c15) * (self + 1);
}

/* bench_touch: what a program does first with its memory. */
static inline void bench_touch(void *ptr, size_t size)
{
	((volatile char *)ptr)[0] = 1;
	((volatile char *)ptr)[size - 1] = 1;
}
