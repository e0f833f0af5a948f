/* SPDX-License-Identifier: MIT */
/*
 * Sections under a slot's lock: all sections of the mutex engine, and the slow ones of
 * cmpxchg16b. The thread may be migrated, so a section on CPU c may run on any CPU; the thread
 * chose c by looking where it ran.
 *
 * The lock is a word in the slot, held for a few instructions. A waiting thread sleeps (futex(2)),
 * because the thread that holds the lock may be preempted.
 */
#ifndef CPU_CACHE_LOCKED_H
#define CPU_CACHE_LOCKED_H

#include "cpu_cache.h"

void cpu_slot_lock(struct cpu_slot *slot);
void cpu_slot_unlock(struct cpu_slot *slot);

/* The CPU on which the thread runs, or 0 if the kernel does not report it. */
int cpu_locked_cpu(void);

/* Only the rseq engine allocates objects of LIFOs, so this always misses. */
void *cpu_locked_lifo_pop(char *slots);
enum cpu_result cpu_locked_lifo_push(char *slots, int cpu, void *obj, uint64_t max);
enum cpu_result cpu_locked_lifo_take(char *slots, int cpu, size_t n, void **objs);
enum cpu_result cpu_locked_lifo_push_bulk(char *slots, int cpu, size_t n, void *const *objs,
					  uint64_t max);
enum cpu_result cpu_locked_install(char *slots, int cpu, struct cpu_slab *slab);
enum cpu_result cpu_locked_partial_push(char *slots, int cpu, struct cpu_slab *first,
					struct cpu_slab *last, unsigned n);
enum cpu_result cpu_locked_partial_pop(char *slots, int cpu, struct cpu_slab **ret_slab);
enum cpu_result cpu_locked_partial_take(char *slots, int cpu, uint64_t *ret_word);
enum cpu_result cpu_locked_batch_add(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8);
enum cpu_result cpu_locked_batch_take(char *slots, int cpu, struct cpu_batch *batch);
/* Waits until it has seen the lock of each slot free. Never fails. */
bool cpu_locked_fence(char *slots);

#endif /* CPU_CACHE_LOCKED_H */
