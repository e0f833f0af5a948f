/* SPDX-License-Identifier: MIT */
/*
 * The interface between cases and harness of the object benchmark.
 *
 * cases.c is compiled once per contestant against a header that maps
 * OBJ_ALLOC() and its kin to direct calls; the harness (harness.c, team.c) is the
 * same for all. A case is a body that every thread of a *team* runs. It measures
 * in *phases*, a phase repeats *laps* until its time is over, and each lap gives
 * one sample per *row*: what a user sees in the table ("in_order.alloc").
 */
#pragma once

#include <limits.h>

#include "process.h"
#include "trace.h"

#define BENCH_MAX_THREADS 256
#define BENCH_MAX_ROWS 2      /* rows of one phase */
#define BENCH_ALL_CPUS 0u     /* as many threads as CPUs */
#define BENCH_OF_TRACE UINT_MAX /* threads and slots of the trace; no sizes */
#define BENCH_LIVE_OBJECTS 100000u

struct team;

struct bench_case {
	const char *const *rows; /* every row it can print, NULL at the end */
	void (*body)(struct team *team, unsigned self);
	unsigned threads;        /* or BENCH_ALL_CPUS, BENCH_OF_TRACE */
	unsigned slots;          /* per thread: object pointers, and objects alive at most */
	unsigned slices;         /* a phase takes this part of a case's time; 0 is 1 */
	bool cold;               /* one lap in a fresh process, without warming up */
};

struct bench_contestant {
	const char *name;
	bool has_memory; /* its resident memory grows with its use */
	bool only_trace; /* runs no other case */
	/* Before each case: objects of `size`. NULL, or one sentence saying why it cannot. */
	const char *(*open)(size_t size);
	/* The same before a case of the trace: of all its types. NULL: it cannot run them. */
	const char *(*open_trace)(const struct trace *trace);
	/* What serves the objects, for the record: a path or a version. */
	const char *(*allocator)(void);
};

/* Set by the contestant's cases.c. */
extern const struct bench_contestant bench_contestant;
extern const struct bench_case bench_cases[]; /* body NULL at the end */

struct bench_lap {
	_Alignas(64) double cycles[BENCH_MAX_ROWS]; /* per operation; 0: not measured */
};

struct team {
	const struct bench_case *c;
	const struct bench_contestant *contestant;
	size_t size;      /* bytes of an object */
	unsigned threads;
	void **slots;     /* threads * c->slots pointers */
	long rss_base;    /* resident bytes that are not the allocator's */

	bool spin;        /* every thread has a CPU: barriers spin */
	/* The phase; written by thread 0 between two barriers. */
	bool again;
	unsigned first_row, rows, laps;
	uint64_t deadline, lap_start;
	double wall_ops;  /* lap measured as a whole: operations in it */

	pthread_barrier_t barrier;
	atomic_uint arrived;
	atomic_uint generation;
	struct bench_lap lap[BENCH_MAX_THREADS];
};

/* Options of the run. */
struct bench_options {
	unsigned ms;   /* time for a phase */
	unsigned laps; /* the exact number of laps, without warm-up; 0: by time */
	const char *cases; /* rows that are wanted, separated by commas; NULL: all */
};

extern struct bench_options bench_options;
extern const struct trace *bench_trace; /* NULL: none */
extern double bench_cycles_per_ns; /* after bench_calibrate() */
void bench_calibrate(void);

bool bench_row_selected(const char *row);
long bench_resident(void);

/* team_run: run a case on a team of its threads; the caller is thread 0. */
void team_run(struct team *team);

/* The following are for bodies. */
void team_barrier(struct team *team);
/* team_measure: begin a phase that gives rows [first, first + rows). */
void team_measure(struct team *team, unsigned self, unsigned first, unsigned rows);
/* team_lap: wait for all; true: run one more lap. Prints the rows at the end. */
bool team_lap(struct team *team, unsigned self);
/* team_memory: print the allocator's resident bytes as a row. */
void team_memory(struct team *team, unsigned row);

/* team_record: this thread's lap took `cycles` for `ops` operations. */
static inline void team_record(struct team *team, unsigned self, unsigned row, uint64_t cycles,
			       size_t ops)
{
	team->lap[self].cycles[row] = (double)cycles / (double)ops;
}

/* bench_cycles: the time stamp counter. */
static inline uint64_t bench_cycles(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t count;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count) : : "memory");
	return count;
#else
#error "no time stamp counter known for this machine"
#endif
}

static inline void bench_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield" : : : "memory");
#endif
}
