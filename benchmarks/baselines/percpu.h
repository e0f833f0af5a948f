/* SPDX-License-Identifier: MIT */
/*
 * Arrays of pointers, one for each CPU and cache: those of libslab's per-CPU layer (cpu_cache/),
 * with the restartable sequences that libslab's own fast paths inline. The arrays of two designs
 * therefore cost the same. percpu_pop() and percpu_push() miss if the array is empty or full, and
 * without restartable sequences; cpu_engine works everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rseq.h"

#define PERCPU_MAX CPU_ARRAY_MAX
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
/* Functions with a fast path begin a cache line, as libslab's. */
#define FASTPATH __attribute__((aligned(CPU_CACHELINE)))

struct percpu {
	char *arrays; /* what sections read */
};

/* Make page layer and per-CPU layer ready. Every creation of a cache calls it. false: no memory. */
bool percpu_start(void);
/* A cache of so many bytes, which are zero. NULL: no memory. */
void *percpu_alloc(size_t bytes);
/* Make and free the arrays of a cache, at most PERCPU_MAX objects each. They are empty when they
 * are freed. false: there is no memory. */
bool percpu_init(struct percpu *array, size_t limit);
void percpu_destroy(struct percpu *array);

static inline __attribute__((always_inline)) bool percpu_pop(const struct percpu *array,
							     void **ret_obj)
{
	return rseq_pop(&array->arrays, cpu_rseq_offset, ret_obj);
}

static inline __attribute__((always_inline)) bool percpu_push(const struct percpu *array, void *obj)
{
	return rseq_push(&array->arrays, obj, cpu_rseq_offset);
}

/* After a miss: the same once more on every engine, as cpu_engine->pop(). false: it is full. */
bool percpu_push_again(const struct percpu *array, void *obj);
/* Call fn on each CPU: the thread visits those on which it may run, and returns to its affinity. */
void percpu_each(void (*fn)(void *arg, int cpu), void *arg);

/* End the process because of a misuse or a broken invariant. */
_Noreturn void baseline_abort(const char *what, const void *obj);
