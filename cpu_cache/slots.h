/* SPDX-License-Identifier: MIT */
/* The CPUs that threads may run on, and the memory of slots: one for each CPU and each user
 * (area.c). */
#ifndef CPU_CACHE_SLOTS_H
#define CPU_CACHE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_slot;
struct cpu_lifo;

/* Lies in .data: large tables surround small variables in .bss, and each would have a page. */
#define CPU_EARLY __attribute__((section(".data.slab_early")))

/* Slots are laid out [cpu][user], with the LIFOs of a CPU behind its slots. The slots of a CPU
 * share pages, and so do its LIFOs; an unused CPU has no memory for either. */
#define CPU_AREA_SHIFT 17
#define CPU_AREA_SLOTS                                                                             \
	((UINT32_C(1) << CPU_AREA_SHIFT) / (sizeof(struct cpu_slot) + sizeof(struct cpu_lifo)))

static inline struct cpu_slot *cpu_slot(char *slots, long cpu)
{
	return (struct cpu_slot *)(slots + cpu * (1L << CPU_AREA_SHIFT));
}

static inline struct cpu_lifo *cpu_lifo(char *lifos, long cpu)
{
	return (struct cpu_lifo *)(lifos + cpu * (1L << CPU_AREA_SHIFT));
}

/* Words of the largest CPU mask that is supported: 8192 CPUs. */
#define CPU_MASK_WORDS (8192 / (8 * sizeof(unsigned long)))

/*
 * cpu_learn_rows: find the number of rows, before other threads run. It needs no file.
 *
 * cpu_possible: threads may run on CPUs 0 to cpu_possible() - 1. Walks over slots visit these.
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
/* Assume n possible CPUs, although threads may run on more. Called before there are slots. */
void cpu_set_possible(unsigned n);
#endif

/*
 * cpu_slots_create: make slots for one more user, all empty. NULL and ENOMEM: there is no
 * memory.
 *
 * cpu_slots_destroy: free the slots, which must be empty.
 *
 * cpu_slots_destroy_row: the same, if only the row of this CPU was used; it need not be empty.
 *
 * The caller serializes these functions.
 */
char *cpu_slots_create(void);
void cpu_slots_destroy(char *slots);
void cpu_slots_destroy_row(char *slots, int cpu);
/* Read all rows, so that cpu_slots_destroy() takes no page faults under the caller's lock. */
void cpu_slots_touch(const char *slots);
/* The LIFOs of a user with these slots. */
char *cpu_slots_lifos(char *slots);
/* Call fn for the slot of each user and each possible CPU. */
void cpu_slots_each(void (*fn)(struct cpu_slot *slot));
/* Slots that are always empty, and read-only unless cpu_space_is_short(): for users whose
 * allocations all take the slow path. */
char *cpu_slots_none(void);
/* The number of areas. Their address space is areas times rows; two rows precede those of the
 * CPUs, or one where space is short. */
extern unsigned cpu_area_count;
#define CPU_AREA_ROWS_BEFORE 2u
/* The event word of the row of CPU -1 that has the address of the area's row 0, for tools. The next
 * one has the number of rows before that. */
#define CPU_ROW_START 2u

static inline uint64_t cpu_area_bytes(unsigned areas, unsigned cpus)
{
	return (uint64_t)areas * (cpus + CPU_AREA_ROWS_BEFORE) << CPU_AREA_SHIFT;
}

#endif /* CPU_CACHE_SLOTS_H */
