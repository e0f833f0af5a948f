/* SPDX-License-Identifier: MIT */
/* The CPUs that threads may run on, and the memory of arrays: one for each CPU and each user
 * (area.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"

/* Lies in .data: large tables surround small variables in .bss, and each would have a page. */
#define CPU_EARLY __attribute__((section(".data.slab_early")))

/*
 * One CPU's array of one user. Only sections of that CPU write `count` and obj[], until the array
 * is closed.
 *
 * Engines rseq and mutex: `count` objects lie in obj[]; a push misses if count >= limit. The words
 * of a new array are 0, so it takes no object until set_limit.
 *
 * Engine cmpxchg16b (cpu_engine->pairs): `count` is the newest object with the number of objects in
 * its upper 16 bits, `limit` the transaction number, whose two lowest bits are flags
 * (cmpxchg16b.c). An entry takes two words: the object below the newest one lies in obj[2 * (n -
 * 2)], and so on.
 */
__extension__ struct cpu_array { /* for C++: a flexible array member */
	struct cpu_lock lock; /* engine mutex */
	uint32_t bound;       /* engine cmpxchg16b: the limit */
	uint64_t stamp, streak; /* of the user: times of misses; lost updates do no harm */
	uint64_t spare;
	uint64_t count; /* what a user's pointer leads to, of CPU 0; aligned to 16 bytes */
	uint64_t limit;
	__extension__ void *obj[]; /* C++ has none */
};

#define CPU_ARRAY_HEAD offsetof(struct cpu_array, obj)
#define CPU_ARRAY_COUNT offsetof(struct cpu_array, count)

/* A user begins with short arrays and may get long ones. */
#define CPU_SHORT_BYTES ((size_t)256)
#define CPU_LONG_BYTES ((size_t)8128) /* 127 cache lines: those of several arrays share no set */
#define CPU_ARRAY_MAX ((unsigned)((CPU_LONG_BYTES - CPU_ARRAY_HEAD) / sizeof(void *)))

/* Arrays are laid out [cpu][user]. The arrays of a CPU share pages; an unused CPU has none. */
#define CPU_ROW_SHIFT 17

/* The array of a CPU; `arrays` has the user's row 0. */
static inline struct cpu_array *cpu_array(const char *arrays, long cpu)
{
	return (struct cpu_array *)(arrays + cpu * (1L << CPU_ROW_SHIFT) - CPU_ARRAY_COUNT);
}

/* The most objects that an array of a user has room for. */
unsigned cpu_array_room(bool is_long);
/* The number of objects in an array. It may change at any moment. */
unsigned cpu_array_count(const struct cpu_array *array);
/* The object at place i, 0 being the oldest. The array is closed, or the answer is a guess. */
void *cpu_array_object(const struct cpu_array *array, unsigned i);
/* The limit of an array, at most its room. Any thread may set it at any time; an array with more
 * objects keeps them. */
unsigned cpu_array_limit(const struct cpu_array *array);
void cpu_array_set_limit(struct cpu_array *array, unsigned limit);

/* Words of the largest CPU mask that is supported: 8192 CPUs. */
#define CPU_MASK_WORDS (8192 / (8 * sizeof(unsigned long)))

/*
 * cpu_learn_rows: find the number of rows, before other threads run. It needs no file.
 *
 * cpu_possible: threads may run on CPUs 0 to cpu_possible() - 1. Walks over arrays visit these.
 * The first call reads a file. After it the number grows at most once, when cpu_seen() proves it
 * wrong.
 *
 * cpu_seen: record that a thread runs on this CPU. Async-signal-safe.
 *
 * cpu_possible_is_wrong: let cpu_possible() count every row from now on.
 *
 * cpu_rows_cover: is there a row for this CPU, and for every other one on which the kernel may
 * run a thread?
 */
void cpu_learn_rows(void);
/* Did the process start with a low limit of its address space or its writable memory? false before
 * cpu_learn_rows(). */
bool cpu_space_is_short(void);
unsigned cpu_possible(void);
void cpu_possible_is_wrong(void);
bool cpu_rows_cover(int cpu);
/* The result of cpu_possible(). Before its first call: the number of CPUs of the first thread's
 * affinity mask, so that a slow path on another CPU calls it. 0 before cpu_learn_rows(). */
extern unsigned cpu_possible_count __attribute__((visibility("hidden")));

static inline void cpu_seen(int cpu)
{
	if (__builtin_expect(cpu >= (int)__atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED),
			     0) &&
	    cpu >= (int)cpu_possible())
		cpu_possible_is_wrong();
}

#ifdef SLAB_TESTING
/* Assume n possible CPUs, although threads may run on more. Called before there are arrays. */
void cpu_set_possible(unsigned n);
#endif

/*
 * cpu_arrays_create: make arrays for one more user, all empty and without a limit. NULL and
 * ENOMEM: there is no memory.
 *
 * cpu_arrays_destroy: free arrays, which must be empty and closed to all threads.
 *
 * cpu_arrays_destroy_row: the same, if only the row of this CPU was used; it need not be empty.
 */
char *cpu_arrays_create(bool is_long);
void cpu_arrays_destroy(char *arrays);
void cpu_arrays_destroy_row(char *arrays, int cpu);
/* Are these long ones? */
bool cpu_arrays_are_long(const char *arrays);
/* Return the whole pages of a closed, empty long array to the system. Its limit is 0 afterwards. */
void cpu_array_discard(char *arrays, int cpu);
/* Call fn for the array of each user and each possible CPU. */
void cpu_arrays_each(void (*fn)(struct cpu_array *array));
/* Arrays that are always empty and take nothing, read-only unless cpu_space_is_short(). */
char *cpu_arrays_none(void);
/* The number of areas, and the bytes of address space that they take. */
extern unsigned cpu_area_count;
#define CPU_AREA_ROWS_BEFORE 2u

/* Do these bytes lie in an area? */
bool cpu_areas_have(const char *start, size_t bytes);

static inline uint64_t cpu_area_bytes(unsigned areas, unsigned cpus)
{
	return (uint64_t)areas * (cpus + CPU_AREA_ROWS_BEFORE) << CPU_ROW_SHIFT;
}

/* For tools: the array of CPU -1 of a user has in stamp the address of its area's row 0, in streak
 * the number of rows before that. */
