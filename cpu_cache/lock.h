/* SPDX-License-Identifier: MIT */
/* A lock of four bytes: a futex(2). Arrays, shards and depots have one each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inject.h"

enum { CPU_LOCK_FREE, CPU_LOCK_TAKEN, CPU_LOCK_WAITED_FOR };

struct cpu_lock {
	uint32_t word;
};

/* The slow halves of cpu_lock_take() and cpu_lock_drop(). No cancellation point; errno stays. */
void cpu_lock_wait(struct cpu_lock *lock);
void cpu_lock_wake(struct cpu_lock *lock);

static inline bool cpu_lock_try(struct cpu_lock *lock)
{
	uint32_t expect = CPU_LOCK_FREE;

	return GUARD(lock_is_free,
		     __atomic_compare_exchange_n(&lock->word, &expect, CPU_LOCK_TAKEN, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

static inline void cpu_lock_take(struct cpu_lock *lock)
{
	cpu_inject(CPU_INJECT_LOCKING);
	if (__builtin_expect(!cpu_lock_try(lock), 0))
		cpu_lock_wait(lock);
}

static inline void cpu_lock_drop(struct cpu_lock *lock)
{
	if (__builtin_expect(__atomic_exchange_n(&lock->word, CPU_LOCK_FREE, __ATOMIC_RELEASE) ==
				     CPU_LOCK_WAITED_FOR,
			     0))
		cpu_lock_wake(lock);
	cpu_inject(CPU_INJECT_UNLOCKED);
}
