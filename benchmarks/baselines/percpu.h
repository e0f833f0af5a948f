/* SPDX-License-Identifier: MIT */
/*
 * Arrays of pointers, one for each CPU and cache: LIFOs of libslab's per-CPU layer (cpu_cache/), with
 * the restartable sequences that libslab's own fast paths inline. The arrays of two designs therefore
 * cost the same. percpu_pop() and percpu_push() miss if the array is empty or full, and without
 * restartable sequences; the other functions work everywhere.
 */
#ifndef BASELINES_PERCPU_H
#define BASELINES_PERCPU_H

#include <stdbool.h>
#include <stddef.h>

#include "rseq.h"

#define PERCPU_MAX CPU_LIFO_MAX
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
/* Functions with a fast path begin a cache line, as libslab's. */
#define FASTPATH __attribute__((aligned(CPU_CACHELINE)))

struct percpu {
	char *lifos;  /* of CPU 0 */
	char *slots;
	size_t limit; /* objects of an array at most */
};

/* Make page layer and per-CPU layer ready. Every creation of a cache calls it. false: no memory. */
bool percpu_start(void);
/* A cache of so many bytes, which are zero. NULL: no memory. */
void *percpu_alloc(size_t bytes);
/* Make and free the arrays of a cache, at most PERCPU_MAX objects each. They are empty when they are
 * freed. false: there is no memory. */
bool percpu_init(struct percpu *array, size_t limit);
void percpu_destroy(struct percpu *array);

/* The number of CPUs on which threads may run; the CPU of this thread, or -1: on none, see
 * cpu_cache/rseq.c. */
unsigned percpu_cpus(void);
int percpu_cpu(void);

static inline __attribute__((always_inline)) bool percpu_pop(const struct percpu *array,
							     void **ret_obj)
{
	return rseq_pop(&array->lifos, cpu_rseq_offset, ret_obj);
}

static inline __attribute__((always_inline)) bool percpu_push(const struct percpu *array, void *obj)
{
	return rseq_push(&array->lifos, obj, cpu_rseq_offset);
}

/* After a miss: the same once more, on every engine. false: the array is full. */
void *percpu_pop_again(const struct percpu *array);
bool percpu_push_again(const struct percpu *array, void *obj);
/* Take the n newest objects of a CPU, the newest last, or all if there are fewer. Returns their
 * number; 0 also if the thread is not on that CPU. */
size_t percpu_take(const struct percpu *array, int cpu, size_t n, void **objs);
/* Put n objects into the array of a CPU. false: there is no room, or the thread is not on that CPU. */
bool percpu_fill(const struct percpu *array, int cpu, size_t n, void *const *objs);
/* Call fn on each CPU: the thread visits those on which it may run, and returns to its affinity. */
void percpu_each(void (*fn)(void *arg, int cpu), void *arg);

/* End the process because of a misuse or a broken invariant. */
_Noreturn void baseline_abort(const char *what, const void *obj);

#endif /* BASELINES_PERCPU_H */
