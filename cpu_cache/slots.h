/* SPDX-License-Identifier: MIT */
/* The CPUs that threads may run on, and slots for each of them and each user. */
#ifndef CPU_CACHE_SLOTS_H
#define CPU_CACHE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_slot;
struct cpu_lifo;

/* Slots lie [cpu][user], and behind a CPU's slots its LIFOs: a CPU's slots share pages, so do
 * its LIFOs, and an unused CPU has neither. */
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

/* Words of the largest mask of CPUs that is understood: 8192 CPUs. */
#define CPU_MASK_WORDS (8192 / (8 * sizeof(unsigned long)))

/*
 * cpu_possible: CPUs that threads may run on are 0 … cpu_possible()-1: what walks over
 * slots go by. Grows at most once, when cpu_seen() proves it wrong.
 * cpu_seen: a thread runs on this CPU. Async-signal-safe.
 * cpu_rows_cover: is there a row of slots for this CPU, and for each other that the kernel
 * may run a thread on?
 */
unsigned cpu_possible(void);
void cpu_possible_is_wrong(void);
bool cpu_rows_cover(int cpu);
/* What cpu_possible() returns, once it was called. */
extern unsigned cpu_possible_count __attribute__((visibility("hidden")));

static inline void cpu_seen(int cpu)
{
	if (__builtin_expect(cpu >= (int)__atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED),
			     0) &&
	    cpu >= (int)cpu_possible())
		cpu_possible_is_wrong();
}

#ifdef SLAB_TESTING
/* Believe in n possible CPUs, on more of which threads may run: before there are slots. */
void cpu_set_possible(unsigned n);
#endif

/*
 * cpu_slots_create: slots for one more user, all empty; NULL and errno ENOMEM.
 * cpu_slots_destroy: the slots must be empty. Callers serialise both.
 */
char *cpu_slots_create(void);
void cpu_slots_destroy(char *slots);
/* Read all rows, so that cpu_slots_destroy(), under a lock, takes no page faults. */
void cpu_slots_touch(const char *slots);
/* The LIFOs that belong to them. */
char *cpu_slots_lifos(char *slots);
/* Calls fn for the slot of each user and each CPU that threads may run on. */
void cpu_slots_each(void (*fn)(struct cpu_slot *slot));
/* Slots of a user whose allocations all take the slow path: always empty, read-only. */
char *cpu_slots_none(void);
/* Address space in use for slots: areas times rows, two of which stand
 * before those of the CPUs. */
extern unsigned cpu_area_count;
#define CPU_AREA_ROWS_BEFORE 2u

static inline uint64_t cpu_area_bytes(unsigned areas, unsigned cpus)
{
	return (uint64_t)areas * (cpus + CPU_AREA_ROWS_BEFORE) << CPU_AREA_SHIFT;
}

#endif /* CPU_CACHE_SLOTS_H */
