/* SPDX-License-Identifier: MIT */
/* A spinlock, as the kernel's allocators have. A thread that waits for long gives way, because the
 * one that holds the lock may be preempted: in user space threads cannot prevent that. */
#pragma once

#include <sched.h>
#include <stdint.h>

#define LOCK_SPINS 256u

struct lock {
	uint32_t taken;
};

static inline void lock_take(struct lock *lock)
{
	for (unsigned spins = 1; __atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE);)
		while (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED))
			if (spins++ % LOCK_SPINS == 0)
				sched_yield();
}

static inline void lock_drop(struct lock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}
