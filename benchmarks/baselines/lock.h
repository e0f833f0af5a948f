/* SPDX-License-Identifier: MIT */
/* A spinlock, as the kernel's allocators have. A thread that waits for long gives way, because the
 * one that holds the lock may be preempted: in user space threads cannot prevent that. */
#ifndef BASELINES_LOCK_H
#define BASELINES_LOCK_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_SPINS 256u

struct lock {
	uint32_t taken;
};

static inline bool lock_try(struct lock *lock)
{
	return !__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE);
}

static inline void lock_wait(struct lock *lock)
{
	for (unsigned spins = 1; __atomic_load_n(&lock->taken, __ATOMIC_RELAXED); spins++) {
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
		if (spins % LOCK_SPINS == 0)
			sched_yield();
	}
}

static inline void lock_take(struct lock *lock)
{
	while (!lock_try(lock))
		lock_wait(lock);
}

static inline void lock_drop(struct lock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

#endif /* BASELINES_LOCK_H */
