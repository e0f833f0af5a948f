/* SPDX-License-Identifier: MIT */
/*
 * Sections under a slot's lock: what the mutex engine does everywhere and the
 * cmpxchg16b engine on its slow paths. A section on CPU c may run on any CPU
 * here; c is only the slot that a thread chose by looking where it runs.
 *
 * The lock is a word in the slot, held for a handful of instructions; a thread
 * that was preempted inside is waited for with sched_yield().
 */
#ifndef CPU_CACHE_LOCKED_H
#define CPU_CACHE_LOCKED_H

#include "cpu_cache.h"

void cpu_slot_lock(struct cpu_slot *slot);
void cpu_slot_unlock(struct cpu_slot *slot);

/* The CPU we run on, or 0 when the kernel does not say. */
int cpu_locked_cpu(void);

/* Only the rseq engine has a last-freed object and a LIFO: there is none. */
void *cpu_locked_pop_held(char *slots);
enum cpu_result cpu_locked_lifo_push(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8,
				     uint64_t max);
enum cpu_result cpu_locked_install(char *slots, int cpu, struct cpu_slab *slab);
enum cpu_result cpu_locked_partial_push(char *slots, int cpu, struct cpu_slab *first,
					struct cpu_slab *last, unsigned n);
enum cpu_result cpu_locked_partial_pop(char *slots, int cpu, struct cpu_slab **ret_slab);
enum cpu_result cpu_locked_partial_take(char *slots, int cpu, uint64_t *ret_word);
enum cpu_result cpu_locked_batch_add(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8);
enum cpu_result cpu_locked_batch_take(char *slots, int cpu, struct cpu_batch *batch);
/* Locks and unlocks every slot once. */
void cpu_locked_fence(char *slots);

#endif /* CPU_CACHE_LOCKED_H */
