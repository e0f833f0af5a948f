/* SPDX-License-Identifier: MIT */
/* The slow halves of the lock. */
#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Looks before a thread sleeps: most holders have a CPU and need a few instructions. */
#define LOOKS 200u

static void futex(struct cpu_lock *lock, int op, uint32_t value)
{
	const int saved = errno;

	syscall(SYS_futex, &lock->word, op, value, NULL, NULL, 0);
	errno = saved;
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The holder may be preempted by this thread, which may have a real-time priority. So the looks
 * must end, and sched_yield() could last for ever. */
void cpu_lock_wait(struct cpu_lock *lock)
{
	for (unsigned looks = 0; looks < LOOKS; looks++) {
		pause_cpu();
		if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == CPU_LOCK_FREE &&
		    cpu_lock_try(lock))
			return;
	}
	/* Whoever has slept leaves the mark for those who may still sleep. */
	while (GUARD_AGAINST(lock_waits, __atomic_exchange_n(&lock->word, CPU_LOCK_WAITED_FOR,
							     __ATOMIC_ACQUIRE) != CPU_LOCK_FREE))
		futex(lock, FUTEX_WAIT_PRIVATE, CPU_LOCK_WAITED_FOR);
}

void cpu_lock_wake(struct cpu_lock *lock)
{
	GUARD_STEP(lock_wakes, futex(lock, FUTEX_WAKE_PRIVATE, 1));
}
